package node

import "github.com/ullage-dev/ullage/internal/client"

// strayMost is the part of what a context is expected to take, in percent, up to which a
// process that has allocated nothing is taken to hold a context and nothing else.
const strayMost = 200

// stray tells whether a process has a context on a device for no good: one that its launcher
// gave a rank, that has memory on another device, and whose allocator has never had any here.
// Ranks that all make a context on the first GPU, by a load without map_location or a call
// before set_device, take half a gigabyte there each. used is nil where the driver does not
// tell it; contextBytes is what a context is expected to take.
func stray(r *teller, device string, used *int64, contextBytes int64) bool {
	here := r.devices[device]
	if r.rank == nil && r.localRank == nil || here != nil && touched(here.now) {
		return false
	}
	if used != nil && *used > contextBytes*strayMost/100 {
		return false
	}
	for uuid, d := range r.devices {
		if uuid != device && d.now.ReservedBytes > 0 {
			return true
		}
	}
	return false
}

// touched tells whether an allocator has or had memory.
func touched(a client.Allocator) bool { return a.ReservedBytes > 0 || a.PeakReservedBytes > 0 }
