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
	Mixed       uint64           // not 0: it takes nothing, the likely amount, the most or one between, each form as this number has it
	Order       allocator.AddressOrder
	Seed        uint64
}

// Run is what a job comes to in a room.
type Run struct {
	allocator.Stats
	Failed   *Failure // the request that ends it; nil if it lives
	Declined int      // workspaces that there was no room for: convolutions take slower algorithms

	PeakBeforeLast int64 // peak of reserved bytes before the last round of steps; 0 where there were too few
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
	free  int64 // which free of the trace it is, from 1
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
	r := &replayer{
		sim: allocator.NewSimulator(room.Config, dev), watch: watch, out: out, high: room.High, mixed: room.Mixed,
		blocks: make([]allocator.BlockID, j.slots), sizes: make([]int64, j.slots),
	}
	for i := range j.ops {
		if i == j.lastRound {
			out.PeakBeforeLast = r.sim.Stats().PeakReserved
		}
		if !r.step(&j.ops[i]) {
			break
		}
	}
	out.Stats = r.sim.Stats()
	return r.sim
}

// replayer carries one run of a job.
type replayer struct {
	sim    *allocator.Simulator
	watch  watcher // nil: nobody
	out    *Run
	high   bool
	mixed  uint64
	blocks []allocator.BlockID // by slot
	sizes  []int64
	later  []pendingFree
}

// step makes one call, and returns false where it ends the run.
func (r *replayer) step(o *jobOp) bool {
	switch o.kind {
	case jobMalloc:
		return r.malloc(o)
	case jobFree, jobFreeLater:
		r.free(o)
	case jobSync:
		r.complete(o.bytes)
	case jobEmptyCache:
		r.sim.EmptyCache()
	}
	return true
}

// amount is what a request comes to. Requests of one form come to the same in a run: cuDNN
// takes one kernel for all.
func (r *replayer) amount(o *jobOp) int64 {
	switch {
	case o.high == o.bytes:
		return o.bytes
	case r.high:
		return o.high
	case r.mixed != 0:
		// Two rounds of SplitMix64's multiplication and shift tell forms apart by their bounds.
		x := (uint64(o.bytes) ^ uint64(o.high)<<20 ^ r.mixed) * 0x9e3779b97f4a7c15
		x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
		switch x >> 62 {
		case 0:
			return 0
		case 1:
			return o.bytes + int64(float64(o.high-o.bytes)*float64(x<<2>>32)/(1<<32))
		case 2:
			return o.high
		}
	}
	return o.bytes
}

func (r *replayer) malloc(o *jobOp) bool {
	bytes := r.amount(o)
	r.blocks[o.slot], r.sizes[o.slot] = allocator.None, bytes
	if bytes <= 0 {
		return true
	}
	b, err := r.sim.Malloc(bytes, o.stream, allocator.PoolID{})
	if err != nil {
		if o.term == Convolution && asOOM(err) != nil {
			r.out.Declined++ // PyTorch takes cuDNN's next plan
			return true
		}
		r.out.fail(o, err)
		if r.watch != nil {
			r.watch.failed(o, &r.out.Failed.Err)
		}
		return false
	}
	r.blocks[o.slot] = b
	if r.watch != nil {
		r.watch.allocated(o, r.sim.Addr(b), bytes)
	}
	return true
}

func (r *replayer) free(o *jobOp) {
	b := r.blocks[o.slot]
	if b == allocator.None {
		return
	}
	addr := r.sim.Addr(b)
	if o.kind == jobFree {
		_ = r.sim.Free(b) // a slot holds a live block
	} else {
		_ = r.sim.FreeRequested(b)
		r.later = append(r.later, pendingFree{b, addr, r.sizes[o.slot], o.bytes})
	}
	if r.watch != nil {
		r.watch.freed(o, addr, r.sizes[o.slot], o.kind == jobFree)
	}
}

// complete frees what waited for other streams: all of it, or of the first frees of the
// trace.
func (r *replayer) complete(frees int64) {
	n := 0
	for _, p := range r.later {
		if frees > 0 && p.free > frees {
			break
		}
		n++
		_ = r.sim.FreeCompleted(p.block)
		if r.watch != nil {
			r.watch.completed(p.addr, p.bytes)
		}
	}
	r.later = append(r.later[:0], r.later[n:]...)
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
