// Package made makes recordings of GPU memory for benchmarks and tests: a training
// loop of any length, served by a simulated allocator, written as PyTorch would write
// what it saw. Equal Runs give equal bytes.
//
// The addresses are those that the caching allocator would choose, so a replay must
// find every one of them; Totals says what else it must find.
package made

import (
	"io"
	"math/rand/v2"

	"github.com/ullage-dev/ullage/allocator"
)

// Run is a training run.
type Run struct {
	Events int    // how many events it records; the last step is cut short
	Seed   uint64 // of the sizes of its batches
	Leak   bool   // keep a 4 KiB tensor of every step

	// LastFirst writes device_traces before segments, as some tools do.
	LastFirst bool
}

// Totals is what a replay of the run has to find.
type Totals struct {
	Allocs        int
	PeakRequested int64 // bytes, each peak for itself
	PeakAllocated int64
	PeakReserved  int64
}

// WritePickle writes the recording in pickle protocol 4, as CPython does, and
// returns its totals. It takes memory for the live blocks only.
func (r Run) WritePickle(w io.Writer) (Totals, error) {
	end := newSimulation(r, nil) // segments come first in the file, and tell how the run ended
	end.run()
	p := newPickler(w)
	p.begin()
	if !r.LastFirst {
		p.segments(end)
	}
	p.beginTrace()
	s := newSimulation(r, p.event)
	s.run()
	p.endTrace()
	if r.LastFirst {
		p.segments(end)
	}
	p.end()
	return s.totals, p.err
}

// event is one entry of the trace.
type event struct {
	action string
	addr   uint64
	size   int64
	stack  int
	timeUS int64
}

// tensor is memory that the program holds; one without an address was never made.
type tensor struct {
	block allocator.BlockID
	addr  uint64
	size  int64
}

// simulation is the program, with the allocator that serves it.
type simulation struct {
	leak   bool
	alloc  *allocator.Allocator
	rng    *rand.Rand
	emit   func(event)
	left   int
	timeUS int64
	next   uint64 // address of the next segment
	totals Totals
	stacks map[uint64]int // by address: the stack that allocated a live block
}

const (
	layers      = 12
	firstTimeUS = 1_700_000_000_000_000
	firstAddr   = 0x7f00_0000_0000
)

func newSimulation(r Run, emit func(event)) *simulation {
	if emit == nil {
		emit = func(event) {}
	}
	return &simulation{
		leak: r.Leak, emit: emit, left: r.Events, timeUS: firstTimeUS, next: firstAddr,
		alloc: allocator.New(allocator.Config{}), rng: rand.New(rand.NewPCG(r.Seed, 1)), stacks: map[uint64]int{},
	}
}

// run trains until enough events are there.
func (s *simulation) run() {
	var weights []tensor
	for i := range layers {
		weights = append(weights, s.new(weightBytes(i), siteWeight+i))
	}
	var state []tensor
	for s.left > 0 {
		grads := s.step(weights)
		if state == nil {
			for i, w := range weights {
				state = append(state, s.new(w.size, siteState+i), s.new(w.size, siteState+i))
			}
		}
		for i := range grads {
			update := s.new(grads[i].size, siteUpdate+i)
			s.free(update, siteUpdate+i)
		}
		for i, g := range grads {
			s.free(g, siteZeroGrad+i)
		}
		if s.leak {
			s.new(4<<10, siteLeak)
		}
	}
}

// step is a forward and a backward pass; it returns the gradients.
func (s *simulation) step(weights []tensor) []tensor {
	tokens := int64(64 * (4 + s.rng.IntN(29)))
	input := s.new(tokens*8, siteInput)
	var kept [layers][2]tensor
	for i := range kept {
		scratch := s.new(tokens*4<<10/int64(1+i%3), siteScratch+i)
		kept[i] = [2]tensor{s.new(tokens*2<<10, siteForward+i), s.new(tokens*256, siteNorm+i)}
		s.free(scratch, siteScratch+i)
	}
	loss := s.new(4, siteLoss)
	grads := make([]tensor, layers)
	for i := layers - 1; i >= 0; i-- {
		flow := s.new(tokens*2<<10, siteBackward+i)
		grads[i] = s.new(weights[i].size, siteGrad+i)
		s.free(kept[i][1], siteBackward+i)
		s.free(kept[i][0], siteBackward+i)
		s.free(flow, siteBackward+i)
	}
	s.free(loss, siteLoss)
	s.free(input, siteInput)
	return grads
}

func weightBytes(layer int) int64 { return int64(1+layer%4) << 20 }

// new allocates, from a new segment if need be.
func (s *simulation) new(size int64, stack int) tensor {
	if !s.room() {
		return tensor{}
	}
	b, ok := s.alloc.Alloc(size, 0, allocator.PoolID{})
	if !ok {
		cfg := s.alloc.Config()
		segment := cfg.SegmentSize(cfg.Round(size))
		addr := s.next
		s.next += uint64(segment+2<<20-1) &^ (2<<20 - 1)
		s.record("segment_alloc", addr, segment, stack)
		_ = s.alloc.SegmentAlloc(addr, segment, 0, allocator.PoolID{}) // cannot fail: addresses are used once
		b, _ = s.alloc.Alloc(size, 0, allocator.PoolID{})
	}
	t := tensor{block: b, addr: s.alloc.Addr(b), size: size}
	s.stacks[t.addr] = stack
	s.record("alloc", t.addr, size, stack)
	s.totals.Allocs++
	requested, allocated, _, reserved := s.alloc.Totals()
	s.totals.PeakRequested = max(s.totals.PeakRequested, requested)
	s.totals.PeakAllocated = max(s.totals.PeakAllocated, allocated)
	s.totals.PeakReserved = max(s.totals.PeakReserved, reserved)
	return t
}

// free lets go of a tensor; no other stream uses it.
func (s *simulation) free(t tensor, stack int) {
	if t.addr == 0 || !s.room() {
		return
	}
	s.record("free_requested", t.addr, t.size, stack)
	s.record("free_completed", t.addr, t.size, stack)
	_ = s.alloc.FreeCompleted(t.block) // cannot fail: every tensor is freed once
	delete(s.stacks, t.addr)
}

// room tells whether there are two more events to record, which no operation exceeds.
// A single one left over becomes a marker.
func (s *simulation) room() bool {
	if s.left == 1 {
		s.record("snapshot", 0, 0, siteLoss)
	}
	return s.left >= 2
}

func (s *simulation) record(action string, addr uint64, size int64, stack int) {
	s.left--
	if action != "free_completed" {
		s.timeUS += 1 + int64(s.left%7)
	}
	s.emit(event{action, addr, size, stack, s.timeUS})
}
