package tune

import (
	"errors"

	"github.com/ullage-dev/ullage/allocator"
)

// Mode is how memory that was there before the first event is taken over.
type Mode uint8

// Modes.
const (
	FromFirst Mode = iota // there was none: the recording begins before the first allocation
	Warm                  // kept as it lay
	Cold                  // live blocks placed anew by the settings that are tried
)

// String returns the mode as JSON has it.
func (m Mode) String() string { return [...]string{"from-first", "warm", "cold"}[m] }

// Failure is a request that fails under the settings that are tried.
type Failure struct {
	Event int // of the recording; -1: what is alive before the first event does not fit
	allocator.OOMError
}

// Outcome is what one run of a Program comes to.
type Outcome struct {
	allocator.Stats
	Segments int      // native segments at the end
	Calls    Calls    // of the driver
	Failed   *Failure // the request that ends the run; nil if it lives as far as it was recorded
	Declined int      // workspaces that did not fit: convolutions take slower algorithms
	Rescued  int      // requests that failed in the recording and are served here
}

// Lives tells whether the run gets as far as it was recorded.
func (o *Outcome) Lives() bool { return o.Failed == nil }

// runner runs a Program; its buffers are used again.
type runner struct {
	p      *Program
	sim    *allocator.Simulator
	blocks []allocator.BlockID
	out    Outcome
	done   int // calls made

	watch func(event int, reserved int64) // is told what is reserved after each call; may be nil
}

// run replays the program under cfg on dev.
func (r *runner) run(p *Program, cfg allocator.Config, dev allocator.Device, mode Mode) Outcome {
	meter := &meter{Device: dev}
	r.p, r.sim, r.out = p, allocator.NewSimulator(cfg, meter), Outcome{}
	r.done = 0
	if cap(r.blocks) < p.slots {
		r.blocks = make([]allocator.BlockID, p.slots)
	}
	r.blocks = r.blocks[:p.slots]
	if err := r.begin(mode); err != nil {
		r.fail(-1, err)
	} else {
		r.tell(-1)
		r.replay()
	}
	r.out.Stats = r.sim.Stats()
	r.out.Calls = meter.calls
	r.out.Calls.MappedPages, r.out.Calls.UnmappedPages = r.out.MappedPages, r.out.UnmappedPages
	for _, g := range r.sim.Segments() {
		if !g.Expandable {
			r.out.Segments++
		}
	}
	return r.out
}

func (r *runner) begin(mode Mode) error {
	s := &r.p.start
	for _, g := range s.segments {
		if g.Pool != (allocator.PoolID{}) {
			r.sim.RetainPool(g.Pool)
		}
	}
	if mode == Warm {
		return s.load(r.sim, r.blocks)
	}
	return s.place(r.sim, r.blocks)
}

// fail ends the run with the request at an event.
func (r *runner) fail(event int, err error) {
	f := &Failure{Event: event}
	var oom *allocator.OOMError
	if errors.As(err, &oom) {
		f.OOMError = *oom
	}
	r.out.Failed = f
}

// replay makes the calls, up to the first request that fails though it was served in
// the recording, or to the failure that ended the recorded run.
func (r *runner) replay() {
	for i := range r.p.ops {
		o := &r.p.ops[i]
		r.done = i + 1
		slot := o.what & slotMask
		var err error
		switch o.what &^ slotMask {
		case opMalloc:
			r.blocks[slot], err = r.malloc(o)
		case opWorkspace:
			if r.blocks[slot], err = r.malloc(o); err != nil {
				err = nil
				r.out.Declined++
			}
		case opFree:
			if b := r.blocks[slot]; b != allocator.None {
				err = r.sim.Free(b)
			}
		case opRequested:
			err = r.sim.FreeRequested(r.blocks[slot])
		case opCompleted:
			err = r.sim.FreeCompleted(r.blocks[slot])
		case opEmptyCache:
			r.sim.EmptyCache()
		case opRetain:
			r.sim.RetainPool(r.p.requests[o.request].pool)
		case opRelease:
			r.sim.ReleasePool(r.p.requests[o.request].pool)
		case opFail:
			if over := r.failAgain(o); over {
				return
			}
		}
		if err != nil {
			r.fail(int(o.event), err)
			return
		}
		r.tell(int(o.event))
	}
}

// tell tells the watch, where there is one, what is reserved after an event.
func (r *runner) tell(event int) {
	if r.watch != nil {
		r.watch(event, r.sim.Stats().Reserved)
	}
}

// malloc makes a request. One for a private pool is made while a graph is captured,
// when the allocator may neither wait nor release what it cached.
func (r *runner) malloc(o *op) (allocator.BlockID, error) {
	q := &r.p.requests[o.request]
	if q.pool == (allocator.PoolID{}) {
		return r.sim.Malloc(q.bytes, q.stream, q.pool)
	}
	r.sim.EnterPool(q.pool, true)
	b, err := r.sim.Malloc(q.bytes, q.stream, q.pool)
	r.sim.LeavePool(q.pool)
	return b, err
}

// failAgain makes a request that failed in the recording, and tells whether the run is
// over. Where it is served here, the program would have gone another way, which
// nothing tells of: the block counts for the peak and is freed at once.
func (r *runner) failAgain(o *op) (over bool) {
	b, err := r.malloc(o)
	last := int(o.event) == r.p.Died
	if err != nil {
		if last {
			r.fail(int(o.event), err)
		}
		return last
	}
	r.out.Rescued++
	_ = r.sim.Free(b) // it was handed out just now
	return last
}

// Fragmentation is the part of the peak of reserved memory that the peak of active
// memory does not fill.
func (o *Outcome) Fragmentation() float64 {
	if o.PeakReserved <= 0 {
		return 0
	}
	return 1 - float64(o.PeakActive)/float64(o.PeakReserved)
}
