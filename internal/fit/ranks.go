package fit

import (
	"encoding/json"
	"fmt"
)

// Ranks is what a trace tells of the job that its process is a part of.
type Ranks struct {
	Joined    bool           // the process made the job's process group
	Backend   string         // of the process group, as "nccl"
	Comms     []Communicator // that NCCL made, in the order of their first use
	HeldBytes int64          // of DDP's first buckets, which NCCL holds for a step after they were dropped
}

// Communicator is a group of ranks that talk by NCCL.
type Communicator struct {
	Ranks int
	Name  string // "default_pg" for that of all ranks; "" where it has none

	// How its ranks have talked: by collectives, and by messages from one to another.
	Rings, Send, Receive bool
}

// Limits of a job.
const (
	maxRanks         = 1 << 20
	maxCommunicators = 1 << 16
)

// ranks reads a line about the job's ranks.
func (rd *reader) ranks(kind string, line []byte) error {
	var r struct {
		Rank, World int
		ID          int
		Ranks       int
		Backend     string
		Name, How   string
		N           int64
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("of kind %q: %w", kind, err)
	}
	t := rd.t
	switch kind {
	case "group":
		if r.World < 1 || r.World > maxRanks || r.Rank < 0 || r.Rank >= r.World {
			return fmt.Errorf("rank %d of %d", r.Rank, r.World)
		}
		t.Ranks.Joined, t.Ranks.Backend = true, r.Backend
		t.Meta.Rank, t.Meta.World = r.Rank, r.World
	case "comm":
		if r.Ranks < 1 || r.Ranks > maxRanks || len(t.Ranks.Comms) >= maxCommunicators {
			return fmt.Errorf("communicator %d with %d ranks", len(t.Ranks.Comms), r.Ranks)
		}
		t.Ranks.Comms = append(t.Ranks.Comms, Communicator{Ranks: r.Ranks, Name: r.Name})
	case "talk":
		if r.ID < 0 || r.ID >= len(t.Ranks.Comms) {
			return fmt.Errorf("communicator %d of %d", r.ID, len(t.Ranks.Comms))
		}
		t.Ranks.Comms[r.ID].talk(r.How)
	case "held":
		if r.N < 0 || r.N > unbounded {
			return fmt.Errorf("%d bytes held", r.N)
		}
		t.Ranks.HeldBytes = max(t.Ranks.HeldBytes, r.N)
	}
	return nil
}

// talk notes a way of talking; ways that this version does not know take nothing.
func (c *Communicator) talk(how string) {
	switch how {
	case "rings":
		c.Rings = true
	case "send":
		c.Send = true
	case "receive":
		c.Receive = true
	}
}

// DeviceUse is the most that a traced process asks of one device.
type DeviceUse struct {
	Device    int
	PeakBytes int64 // of what lives at once, as requested
}

// DeviceUses returns the devices that a process has memory on, that with the most first:
// its own. The others it uses beside it, often without meaning to.
func (t *Trace) DeviceUses() []DeviceUse {
	var uses []DeviceUse // by device
	var live []int64
	at := make(map[int32]Storage)
	for i := range t.Events {
		e := &t.Events[i]
		for _, n := range t.News[e.First : e.First+e.Count] {
			for len(uses) <= int(n.Device) {
				uses, live = append(uses, DeviceUse{Device: len(uses)}), append(live, 0)
			}
			at[n.ID] = n
			live[n.Device] += n.Bytes
			uses[n.Device].PeakBytes = max(uses[n.Device].PeakBytes, live[n.Device])
		}
		if n, ok := at[e.ID]; ok && e.Kind == Free {
			live[n.Device] -= n.Bytes
			delete(at, e.ID)
		}
	}
	return usedMostFirst(uses)
}

func usedMostFirst(uses []DeviceUse) []DeviceUse {
	var out []DeviceUse
	for _, u := range uses {
		if u.PeakBytes == 0 {
			continue
		}
		out = append(out, u)
		if first := &out[0]; u.PeakBytes > first.PeakBytes {
			last := len(out) - 1
			copy(out[1:], out[:last])
			out[0] = u
		}
	}
	return out
}

// MainDevice returns the device that a process has most memory on, 0 where it has none.
func (t *Trace) MainDevice() int {
	if uses := t.DeviceUses(); len(uses) > 0 {
		return uses[0].Device
	}
	return 0
}
