package fit

import (
	"errors"
	"fmt"

	"github.com/ullage-dev/ullage/allocator"
)

// Job is what a traced program asks the caching allocator of one device for, the needs of
// its operators included, in order. It is immutable once compiled and safe for
// concurrent use.
type Job struct {
	Trace   *Trace
	Profile *Profile
	Device  int
	Version allocator.Version // of torch

	ops   []jobOp
	slots int32 // live blocks at the most: ops name blocks by slots that are used again
	fns   []string

	Terms     [numTerms]TermUse
	Used      Libraries
	Fraction  float64 // what set_per_process_memory_fraction was called with first; 0 for not
	Guesses   int     // convolutions whose workspace was not measured
	Exact     int     // and that were
	Volumes   int     // of Guesses, convolutions in three dimensions
	Searches  int     // forms that cudnn.benchmark tries all kernels for
	hasStream bool
	lastRound int // index of the first call of the last round of steps; -1 where there were too few
}

// TermUse is what was asked for because of one term.
type TermUse struct {
	Requests int
	Largest  int64 // bytes of the largest request
}

// Libraries are those that a program loads; each takes memory outside of the allocator.
type Libraries struct {
	CuBLAS int // threads that use it: each has a handle of its own
	CuDNN  bool
	NCCL   []Communicator
}

// jobOp is one call of the allocator.
type jobOp struct {
	kind   jobKind
	term   Term
	thread uint8
	fn     int16 // index into fns; -1 for the program's own
	slot   int32
	stack  int32
	stream uint32
	event  int32 // of the trace
	bytes  int64
	high   int64
}

type jobKind uint8

const (
	jobMalloc jobKind = iota
	jobFree
	jobFreeLater // freed while another stream may use it
	jobSync      // all streams are done, or with bytes that many frees of the trace
	jobEmptyCache
)

// ErrNoCUDA tells that a traced program asked for no memory of the device.
var ErrNoCUDA = errors.New("the program put nothing on the GPU")

// Compile plans what every operator of the trace takes, on the card of a profile. device
// is the ordinal of the device to look at.
func Compile(t *Trace, p *Profile, device int) (*Job, error) { return compile(t, p, device, nil) }

// compile is Compile with a table of convolutions; nil is the measured one, which is only
// unpacked for a program that has some.
func compile(t *Trace, p *Profile, device int, convs *convTable) (*Job, error) {
	version, err := allocator.ParseVersion(t.Meta.Torch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	c := &compiler{
		convs:   convs,
		job:     &Job{Trace: t, Profile: p, Device: device, Version: version},
		profile: p, slotOf: make(map[int32]int32), shared: make(map[int32]bool), fnIDs: make(map[string]int16),
		blasBytes: blasWorkspaceBytes(p, t.Meta.Env), ltBytes: ltWorkspaceBytes(p, t.Meta.Env), tf32: true, cudnn: true,
	}
	c.job.Used.NCCL = t.Ranks.Comms
	for i := range t.Events {
		c.event(int32(i))
	}
	if len(c.job.ops) == 0 {
		return nil, fmt.Errorf("%s: %w", t.Name, ErrNoCUDA)
	}
	c.job.markLastRound()
	return c.job, nil
}

// compiler turns the events of a trace into calls.
type compiler struct {
	job     *Job
	profile *Profile
	plan    plan

	slotOf  map[int32]int32 // by id of a storage that lives
	shared  map[int32]bool  // storages that another stream uses
	frees   int64           // of the trace so far
	spare   []int32
	scratch []int32 // slots of the scratch of the operator in hand
	fnIDs   map[string]int16

	blas      map[blasKey]bool
	products  map[uint8]bool // threads that ran a product
	blasBytes int64
	ltBytes   int64

	convs                  *convTable // nil: not unpacked yet
	tf32, cudnn, benchmark bool       // settings in force
	nears                  map[convSearch]workspace
	searched               map[convSearch]bool // by cudnn.benchmark
}

func (c *compiler) event(i int32) {
	t := c.job.Trace
	e := &t.Events[i]
	switch e.Kind {
	case Op:
		c.operator(i, e)
	case Alloc:
		c.take(i, e, 0)
	case Free:
		c.free(i, e)
	case Use:
		if _, ours := c.slotOf[e.ID]; ours {
			c.shared[e.ID] = true
			c.job.hasStream = true
		}
	case Sync:
		c.sync(i, int64(e.Value))
	case Step:
		c.sync(i, 0)
	case EmptyCache:
		c.emit(jobOp{kind: jobEmptyCache, fn: -1, stack: e.Stack, event: i})
	case Fraction:
		if c.job.Fraction == 0 {
			c.job.Fraction = e.Value
		}
	case Set:
		c.set(t.Texts[e.Text].What, e.Value)
	}
}

// sync completes what was freed while another stream used it: all of it, or the first frees
// of the trace.
func (c *compiler) sync(i int32, frees int64) {
	if c.job.hasStream {
		c.emit(jobOp{kind: jobSync, fn: -1, stack: -1, event: i, bytes: frees})
	}
}

func (c *compiler) set(name string, value float64) {
	on := value != 0
	switch name {
	case "cudnn.allow_tf32":
		c.tf32 = on
	case "cudnn.enabled":
		c.cudnn = on
	case "cudnn.benchmark":
		c.benchmark = on
	}
}

// operator plans an operator and emits its calls.
func (c *compiler) operator(i int32, e *Event) {
	sig := &c.job.Trace.Sigs[e.Sig]
	c.plan.reset(int(e.Count))
	if r := recipes[baseName(sig.Op)]; r != nil {
		r(&call{c, e, sig, &c.plan})
	}
	c.plan.rest()
	c.scratch = c.scratch[:0]
	for k := range c.plan.steps {
		s := &c.plan.steps[k]
		switch s.what {
		case stepTake:
			c.take(i, e, s.index)
		case stepScratch:
			c.scratch = append(c.scratch, c.slot())
			c.count(s)
			c.emit(jobOp{
				kind: jobMalloc, term: s.term, thread: e.Thread, fn: c.fn(s.fn), slot: c.scratch[s.index], stack: e.Stack, stream: e.Stream, event: i,
				bytes: s.bytes, high: c.profile.high(s.term, s.high),
			})
		case stepDrop:
			c.emit(jobOp{kind: jobFree, thread: e.Thread, fn: -1, slot: c.scratch[s.index], stack: e.Stack, event: i})
			c.spare = append(c.spare, c.scratch[s.index])
		case stepEmptyCache:
			c.emit(jobOp{kind: jobEmptyCache, fn: -1, stack: e.Stack, event: i})
		}
	}
}

func (c *compiler) count(s *step) {
	use := &c.job.Terms[s.term]
	use.Requests++
	use.Largest = max(use.Largest, s.bytes)
	if s.term == Convolution || s.term == Recurrent {
		c.job.Used.CuDNN = true
	}
}

// take emits the request of a storage that the trace lists.
func (c *compiler) take(i int32, e *Event, k int32) {
	n := c.job.Trace.News[e.First+k]
	if int(n.Device) != c.job.Device {
		return
	}
	slot := c.slot()
	c.slotOf[n.ID] = slot
	c.emit(jobOp{kind: jobMalloc, thread: e.Thread, fn: -1, slot: slot, stack: e.Stack, stream: e.Stream, event: i, bytes: n.Bytes, high: n.Bytes})
}

func (c *compiler) free(i int32, e *Event) {
	c.frees++
	slot, ours := c.slotOf[e.ID]
	if !ours {
		return // of another device
	}
	delete(c.slotOf, e.ID)
	kind := jobFree
	if c.shared[e.ID] {
		kind = jobFreeLater
		delete(c.shared, e.ID)
	} else {
		c.spare = append(c.spare, slot)
	}
	c.emit(jobOp{kind: kind, thread: e.Thread, fn: -1, slot: slot, stack: e.Stack, event: i, bytes: c.frees})
}

func (c *compiler) emit(o jobOp) { c.job.ops = append(c.job.ops, o) }

// slot returns a number for a block that is free to use.
func (c *compiler) slot() int32 {
	if n := len(c.spare); n > 0 {
		s := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return s
	}
	c.job.slots++
	return c.job.slots - 1
}

func (c *compiler) fn(name string) int16 {
	id, ok := c.fnIDs[name]
	if !ok {
		id = int16(len(c.job.fns))
		c.job.fns = append(c.job.fns, name)
		c.fnIDs[name] = id
	}
	return id
}
