package analyze

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

const mib = 1 << 20

// loopModel makes the recording of a loop event by event, with an allocator that
// gives every block a segment of its own and uses it again after a free.
type loopModel struct {
	rec    *snapshot.Recording
	dev    *snapshot.Device
	stacks map[string]snapshot.StackID
	next   uint64
	free   map[int64][]uint64 // segments by size
	owner  map[uint64]modelBlock
	order  []uint64 // segments as they came
	time   int64
}

type modelBlock struct {
	sizeBytes, requestedBytes int64
	live                      bool
	stack                     snapshot.StackID
}

func newLoopModel() *loopModel {
	m := &loopModel{stacks: map[string]snapshot.StackID{"": 0}, next: 0x7f0000000000, free: map[int64][]uint64{}, owner: map[uint64]modelBlock{}, time: 1_700_000_000_000_000}
	m.dev = &snapshot.Device{Events: &snapshot.Events{Pools: []snapshot.PoolID{{}}, HasTimes: true}}
	m.rec = &snapshot.Recording{Devices: []*snapshot.Device{m.dev}, Streams: []uint64{0}, Labels: []string{""}}
	return m
}

// site returns the stack of a call of the user's function, made from main. Names
// that begin with "net." are calls of a module from there.
func (m *loopModel) site(name string) snapshot.StackID {
	if id, ok := m.stacks[name]; ok {
		return id
	}
	var ids []snapshot.FrameID
	add := func(f snapshot.Frame) {
		ids = append(ids, snapshot.FrameID(len(m.rec.Frames)))
		m.rec.Frames = append(m.rec.Frames, f)
	}
	const torch = "/usr/lib/python3/site-packages/torch/nn/modules/"
	if len(name) > 4 && name[:4] == "net." {
		add(snapshot.Frame{Name: "forward", Filename: torch + name[4:] + ".py", Line: 10})
		add(snapshot.Frame{Name: "_call_impl", Filename: torch + "module.py", Line: 1790})
	}
	add(snapshot.Frame{Name: name, Filename: "/home/ann/train.py", Line: 10 + len(m.stacks)})
	add(snapshot.Frame{Name: "<module>", Filename: "/home/ann/train.py", Line: 200})
	m.stacks[name] = m.rec.Stacks.Add(ids)
	return m.stacks[name]
}

func (m *loopModel) event(a snapshot.Action, addr uint64, sizeBytes int64, stack snapshot.StackID) {
	m.time += 3
	m.dev.Events.Append(snapshot.Event{Action: a, Addr: addr, SizeBytes: sizeBytes, Stack: stack, TimeUS: m.time})
}

// alloc allocates at a site and returns the address.
func (m *loopModel) alloc(site string, sizeBytes int64) uint64 {
	segment := (sizeBytes + 2*mib - 1) / (2 * mib) * (2 * mib)
	stack := m.site(site)
	var addr uint64
	if list := m.free[segment]; len(list) > 0 {
		addr, m.free[segment] = list[len(list)-1], list[:len(list)-1]
	} else {
		addr = m.next
		m.next += uint64(segment) + 2*mib
		m.order = append(m.order, addr)
		m.event(snapshot.SegmentAlloc, addr, segment, stack)
	}
	m.owner[addr] = modelBlock{segment, sizeBytes, true, stack}
	m.event(snapshot.Alloc, addr, sizeBytes, stack)
	return addr
}

// release frees blocks, from a line of the given name.
func (m *loopModel) release(site string, addrs ...uint64) {
	for _, addr := range addrs {
		b := m.owner[addr]
		b.live = false
		m.owner[addr] = b
		m.event(snapshot.FreeRequested, addr, b.requestedBytes, m.site(site))
		m.event(snapshot.FreeCompleted, addr, b.requestedBytes, m.site(site))
		m.free[b.sizeBytes] = append(m.free[b.sizeBytes], addr)
	}
}

func (m *loopModel) annotate(name string, start bool) {
	m.time += 3
	m.rec.Annotations = append(m.rec.Annotations, snapshot.Annotation{Name: name, Start: start, TimeUS: m.time})
}

// done fills in the state at the dump and replays.
func (m *loopModel) done() (*timeline.Timeline, *Sites) {
	for _, addr := range m.order {
		b := m.owner[addr]
		kind, used := snapshot.LargeSegment, b.sizeBytes
		if b.requestedBytes <= mib {
			kind, used = snapshot.SmallSegment, (b.requestedBytes+511)/512*512
		}
		g := snapshot.Segment{Addr: addr, SizeBytes: b.sizeBytes, Kind: kind, FirstBlock: len(m.dev.Blocks)}
		if b.live {
			m.dev.Blocks = append(m.dev.Blocks, snapshot.Block{Addr: addr, SizeBytes: used, RequestedBytes: b.requestedBytes, State: snapshot.Allocated, Stack: b.stack})
			addr += uint64(used)
		} else {
			used = 0
		}
		if used < b.sizeBytes {
			m.dev.Blocks = append(m.dev.Blocks, snapshot.Block{Addr: addr, SizeBytes: b.sizeBytes - used})
		}
		g.NumBlocks = len(m.dev.Blocks) - g.FirstBlock
		m.dev.Segments = append(m.dev.Segments, g)
	}
	return timeline.Build(m.rec, m.dev), NewSites(m.rec)
}

// training is what a made run does beside its forward and backward passes.
type training struct {
	steps     int
	annotated bool
	layers    int
	varying   bool // batches differ in size
	seed      uint64

	evalEvery int  // an evaluation of some batches after every so many steps, its outputs kept until it ends
	buffer    int  // entries of a queue of inputs
	evict     bool // … that evicts at random
	shapes    int  // a cache of so many shapes, met at random
	garbage   int  // cycles that are collected every so many steps

	leak       string // site that leaks, if any
	leakBytes  int64
	leakFrom   int
	leakEvery  int
	leakInEval bool
}

// rng is a small deterministic source of numbers.
func (t *training) rng(n int) int {
	t.seed = t.seed*6364136223846793005 + 1442695040888963407
	return int(t.seed>>33) % n
}

func (t training) run() *loopModel {
	m := newLoopModel()
	for i := range t.layers {
		m.alloc(fmt.Sprintf("weights%d", i), 8*mib)
	}
	var last []uint64 // the input and the loss, which variables hold until the next step
	var queue, junk []uint64
	cache := map[int]bool{}
	for step := range t.steps {
		batch := int64(4)
		if t.varying {
			batch = int64(1 + t.rng(8))
		}
		x := m.alloc("load", 2*mib*batch)
		acts := t.forward(m, "net.", batch)
		loss := m.alloc("net.loss", 4)
		m.release("train", last...)
		last = []uint64{loss}
		grads := t.backward(m, acts)
		t.optimizer(m, step)
		m.release("zero_grad", grads...)
		if t.buffer == 0 {
			last = append(last, x)
		} else {
			queue = t.enqueue(m, queue, x)
		}
		t.extras(m, step, cache, &junk)
	}
	return m
}

func (t *training) forward(m *loopModel, prefix string, batch int64) []uint64 {
	var acts []uint64
	for i := range t.layers {
		site := fmt.Sprintf("%slayer%d", prefix, i)
		scratch := m.alloc(site+"w", 4*mib)
		acts = append(acts, m.alloc(site, 4*mib*batch))
		m.release("net", scratch)
	}
	return acts
}

func (t *training) backward(m *loopModel, acts []uint64) (grads []uint64) {
	for i := len(acts) - 1; i >= 0; i-- {
		grads = append(grads, m.alloc("", 8*mib))
		m.release("", acts[i])
	}
	return grads
}

// optimizer makes its state in the first step.
func (t *training) optimizer(m *loopModel, step int) {
	if t.annotated {
		m.annotate("Optimizer.step#Adam.step", true)
	}
	for i := range t.layers {
		if step == 0 {
			m.alloc(fmt.Sprintf("state%d", i), 8*mib)
		}
	}
	m.release("adam", m.alloc("adam", 8*mib))
	if t.annotated {
		m.annotate("Optimizer.step#Adam.step", false)
	}
}

func (t *training) enqueue(m *loopModel, queue []uint64, x uint64) []uint64 {
	if len(queue) < t.buffer {
		return append(queue, x)
	}
	i := 0
	if t.evict {
		i = t.rng(len(queue))
	}
	m.release("buffer", queue[i])
	return append(append(queue[:i:i], queue[i+1:]...), x)
}

func (t *training) extras(m *loopModel, step int, cache map[int]bool, junk *[]uint64) {
	if t.shapes > 0 {
		if k := t.rng(t.shapes); !cache[k] {
			cache[k] = true
			m.alloc("cached", int64(2*mib*(1+k)))
		}
	}
	if t.garbage > 0 {
		*junk = append(*junk, m.alloc("net.node", 6*mib))
		if (step+1)%t.garbage == 0 {
			m.release(fmt.Sprintf("anywhere%d", t.rng(5)), *junk...)
			*junk = nil
		}
	}
	evaluates := t.evalEvery > 0 && (step+1)%t.evalEvery == 0
	if t.leak != "" && step >= t.leakFrom && (t.leakInEval && evaluates || !t.leakInEval && (step-t.leakFrom)%t.leakEvery == 0) {
		m.alloc(t.leak, t.leakBytes)
	}
	if evaluates {
		var outs []uint64
		for range 3 {
			m.release("eval", t.forward(m, "net.eval", 2)...)
			outs = append(outs, m.alloc("outputs", 2*mib))
		}
		m.release("eval", outs...)
	}
}

// drawHealthy draws a run without a leak: any of what grows and is none.
func drawHealthy(t *rapid.T) training {
	r := training{
		steps:     rapid.IntRange(12, 60).Draw(t, "steps"),
		annotated: rapid.Bool().Draw(t, "annotated"),
		layers:    rapid.IntRange(2, 6).Draw(t, "layers"),
		varying:   rapid.Bool().Draw(t, "varying"),
		seed:      rapid.Uint64().Draw(t, "seed"),
		leakEvery: 1,
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 1:
		r.evalEvery = rapid.IntRange(3, 10).Draw(t, "evalEvery")
	case 2:
		r.buffer = rapid.IntRange(2, r.steps*2/3).Draw(t, "buffer")
		r.evict = rapid.Bool().Draw(t, "evict")
	case 3:
		r.shapes = rapid.IntRange(2, max(2, r.steps/8)).Draw(t, "shapes")
	case 4:
		r.garbage = rapid.IntRange(2, max(2, r.steps/4)).Draw(t, "garbage")
	}
	return r
}

func (t training) analyze() (*timeline.Timeline, *Sites, Steps, LeakReport) {
	tl, sites := t.run().done()
	steps := FindSteps(tl, sites)
	return tl, sites, steps, Leaks(tl, sites, steps, LeakOptions{DiedAt: -1, CapBytes: 80 << 30})
}

// siteName is the function that a made stack is of.
func siteName(sites *Sites, id snapshot.StackID) string {
	f, _ := sites.UserFrame(id)
	return f.Name
}
