package fit

import (
	"errors"

	"github.com/ullage-dev/ullage/allocator"
)

// Room is what a run is given.
type Room struct {
	Config      allocator.Config // settings of the allocator, with the limit of reserved memory
	DeviceBytes int64            // that can be had on the device; 0 is without bound
	High        bool             // what is known within bounds only takes the most
	Order       allocator.AddressOrder
	Seed        uint64
}

// Run is what a job comes to in a room.
type Run struct {
	allocator.Stats
	Failed   *Failure // the request that ends it; nil if it lives
	Declined int      // workspaces that there was no room for: convolutions take slower algorithms
}

// Failure is a request that could not be served.
type Failure struct {
	Event int32 // of the trace
	Stack int32 // of the trace; -1 for none
	Err   allocator.OOMError
}

// unbounded is the size of a device that nothing fills.
const unbounded = int64(1) << 46

// Run makes the job's requests of an allocator in a room, to the end or to the first that
// fails.
func (j *Job) Run(room Room) Run {
	var out Run
	j.replay(room, nil, &out)
	return out
}

// watcher is told of what a replay does, event by event.
type watcher interface {
	allocated(o *jobOp, addr uint64, bytes int64)
	freed(o *jobOp, addr uint64, bytes int64, completed bool)
	completed(addr uint64, bytes int64)
	failed(o *jobOp, err *allocator.OOMError)
	device(d allocator.Device) allocator.Device
}

// pendingFree is a block that was freed while another stream may use it.
type pendingFree struct {
	block allocator.BlockID
	addr  uint64
	bytes int64
}

// replay makes the requests. watch may be nil.
func (j *Job) replay(room Room, watch watcher, out *Run) *allocator.Simulator {
	free := room.DeviceBytes
	if free <= 0 {
		free = unbounded
	}
	var dev allocator.Device = allocator.NewDevice(unbounded, free, room.Order, room.Seed)
	if watch != nil {
		dev = watch.device(dev)
	}
	sim := allocator.NewSimulator(room.Config, dev)
	blocks := make([]allocator.BlockID, j.slots)
	sizes := make([]int64, j.slots)
	var later []pendingFree
	for i := range j.ops {
		o := &j.ops[i]
		switch o.kind {
		case jobMalloc:
			bytes := o.bytes
			if room.High {
				bytes = o.high
			}
			blocks[o.slot], sizes[o.slot] = allocator.None, bytes
			if bytes <= 0 {
				continue
			}
			b, err := sim.Malloc(bytes, o.stream, allocator.PoolID{})
			if err != nil {
				if o.term == Convolution && asOOM(err) != nil {
					out.Declined++ // PyTorch takes cuDNN's next plan
					continue
				}
				out.fail(o, err)
				if watch != nil {
					watch.failed(o, &out.Failed.Err)
				}
				out.Stats = sim.Stats()
				return sim
			}
			blocks[o.slot] = b
			if watch != nil {
				watch.allocated(o, sim.Addr(b), bytes)
			}
		case jobFree, jobFreeLater:
			b := blocks[o.slot]
			if b == allocator.None {
				continue
			}
			addr := sim.Addr(b)
			if o.kind == jobFree {
				_ = sim.Free(b) // a slot holds a live block
			} else {
				_ = sim.FreeRequested(b)
				later = append(later, pendingFree{b, addr, sizes[o.slot]})
			}
			if watch != nil {
				watch.freed(o, addr, sizes[o.slot], o.kind == jobFree)
			}
		case jobSync:
			for _, p := range later {
				_ = sim.FreeCompleted(p.block)
				if watch != nil {
					watch.completed(p.addr, p.bytes)
				}
			}
			later = later[:0]
		case jobEmptyCache:
			sim.EmptyCache()
		}
	}
	out.Stats = sim.Stats()
	return sim
}

func asOOM(err error) *allocator.OOMError {
	var oom *allocator.OOMError
	errors.As(err, &oom)
	return oom
}

func (r *Run) fail(o *jobOp, err error) {
	r.Failed = &Failure{Event: o.event, Stack: o.stack}
	if oom := asOOM(err); oom != nil {
		r.Failed.Err = *oom
	}
}
