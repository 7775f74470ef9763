package node

import (
	"cmp"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
)

// view is what the agent knows of the machine as of one reading. Nothing in it is changed
// after it was published; the next reading makes a new one.
type view struct {
	reading  gpu.Reading // the last that succeeded
	problem  string      // why the machine could not be watched just now; empty where it could
	readings int64       // that succeeded since the agent began: 0 means that nothing is known yet
	read     time.Time   // when the reading came, by the agent's clock: a recorded one has the time of its recording
	watched  map[lease.ID]watched
	jobs     []client.Job // of all users, by PID
}

// watched is what was seen of one lease that holds memory.
type watched struct {
	grade     string           // how firmly its limit is kept, of the words of client.Lease
	processes []int            // its members that live, by PID
	used      map[string]int64 // bytes by the UUID of a device; a device is missing where the driver does not tell
}

// index is the driver's number of a GPU, or of the one that a MIG instance is a part of; nil where
// the last reading does not show it.
func (v *view) index(d *lease.DeviceStatus) *int {
	seen := v.reading.Device(cmp.Or(d.Parent, d.UUID))
	if seen == nil {
		return nil
	}
	index := seen.Index
	return &index
}

// links are those of a GPU to others, in the order of the reading.
func (v *view) links(uuid string) (all []client.DeviceLink) {
	for _, k := range v.reading.Links {
		switch uuid {
		case k.A:
			all = append(all, client.DeviceLink{Device: k.B, Kind: k.Kind, Lanes: k.Lanes})
		case k.B:
			all = append(all, client.DeviceLink{Device: k.A, Kind: k.Kind, Lanes: k.Lanes})
		}
	}
	return all
}

// now returns the view of this moment. It is never nil.
func (a *Agent) now() *view { return a.view.Load() }

// publish puts a view in the place of the last one.
func (a *Agent) publish(v *view) { a.view.Store(v) }
