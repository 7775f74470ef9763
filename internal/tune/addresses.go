package tune

import (
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
)

// The caching allocator takes the lowest of equal free blocks, and which is the lowest
// is the driver's doing. The simulated driver places segments as CUDA's was seen to, in
// an address space of its own; a real process has other things mapped, and holes
// between them. Where the simulated driver does not bring a recording back to what it
// was under its own settings, and the recorded addresses do, these are used for
// other settings as well.

// recordedDevice hands out the addresses of the recording where it can. A segment gets the first address at which one of its size lay in the recording and where
// nothing lies now; where there is none, the simulated driver chooses an address below
// all of the recording's.
type recordedDevice struct {
	*allocator.SimDevice
	addrs map[int64][]uint64 // by size, in order of time
	live  []placed           // at addresses of the recording, ascending
}

type placed struct{ from, to uint64 }

// maxAddresses is how many segments of one size a recording may have for their addresses
// to be tried one by one. Real runs have hundreds in all.
const maxAddresses = 4096

// addressesOf returns the addresses of native segments in a recording, by size and in
// order of time, each once; of a size of which there are too many, none.
func addressesOf(tl *timeline.Timeline) map[int64][]uint64 {
	type place struct {
		addr uint64
		size int64
	}
	seen := make(map[place]bool)
	bySize := make(map[int64][]uint64)
	for _, g := range tl.Segments {
		if p := (place{g.Addr, g.SizeBytes}); !g.Expandable && g.From >= 0 && !seen[p] {
			seen[p] = true
			bySize[g.SizeBytes] = append(bySize[g.SizeBytes], g.Addr)
		}
	}
	maps.DeleteFunc(bySize, func(_ int64, list []uint64) bool { return len(list) > maxAddresses })
	return bySize
}

func newRecordedDevice(d *allocator.SimDevice, addrs map[int64][]uint64) *recordedDevice {
	for size, list := range addrs {
		for _, addr := range list {
			d.Claim(addr, 0, size)
		}
	}
	return &recordedDevice{SimDevice: d, addrs: addrs}
}

// Malloc takes memory.
func (d *recordedDevice) Malloc(size int64) (uint64, bool) {
	for _, addr := range d.addrs[size] {
		p := placed{addr, addr + uint64(size)}
		k := d.search(p.from)
		if k < len(d.live) && d.live[k].from < p.to {
			continue
		}
		if !d.Map(addr, size) { // counts the bytes, no more
			return 0, false
		}
		d.live = slices.Insert(d.live, k, p)
		return addr, true
	}
	return d.SimDevice.Malloc(size)
}

// search returns the first live range that ends after addr.
func (d *recordedDevice) search(addr uint64) int {
	k, _ := slices.BinarySearchFunc(d.live, addr, func(p placed, addr uint64) int {
		if p.to <= addr {
			return -1
		}
		return 1
	})
	return k
}

// Release gives memory back.
func (d *recordedDevice) Release(addr uint64, size int64) {
	if k := d.search(addr); k < len(d.live) && d.live[k].from == addr {
		d.live = slices.Delete(d.live, k, k+1)
	}
	d.SimDevice.Release(addr, size)
}

// likely returns the addresses to use for a program: nil for the simulated driver's own.
func (t *Tuner) likely(p *Program) map[int64][]uint64 {
	if len(p.start.segments) > 0 || p.TL.Config.Expandable {
		return nil
	}
	addrs := addressesOf(p.TL)
	if t.recalls(p, nil) || !t.recalls(p, addrs) {
		return nil
	}
	return addrs
}

// recalls tells whether a program, under the settings and in the room that its recording
// shows, comes to the recorded peaks and the recorded number of segments.
func (t *Tuner) recalls(p *Program, addrs map[int64][]uint64) bool {
	room := RecordedRoom([]*Program{p})
	s, _ := RecordedSetting(t.Version, p.TL)
	out := t.simulateOn(p, &s, room, FromFirst, deviceOf(room, addrs))
	peak, mallocs := p.TL.Peak, 0
	for _, g := range p.TL.Segments {
		if g.From >= 0 {
			mallocs++
		}
	}
	return out.PeakReserved == peak.Reserved.Bytes && out.PeakAllocated == peak.Allocated.Bytes && out.Calls.Mallocs == mallocs
}

// deviceOf returns a device that hands out the addresses that are likely.
func deviceOf(room Room, addrs map[int64][]uint64) allocator.Device {
	d := room.device(allocator.LikeDriver, 0)
	if addrs == nil {
		return d
	}
	return newRecordedDevice(d, addrs)
}
