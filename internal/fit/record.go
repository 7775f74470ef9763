package fit

import (
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// Record runs the job in a room and returns what PyTorch's recorder would have written of
// it: a recording for explain, tune and view. Requests that an operator makes for itself
// carry the C++ function that makes them as innermost frame, as recordings with
// stacks="all" do. Addresses are those of a simulated driver, and there are no times.
func (j *Job) Record(room Room) (*snapshot.Recording, Run) {
	b := newRecorder(j, room)
	var run Run
	sim := j.replay(room, b, &run)
	b.finish(sim)
	return b.rec, run
}

// recorder writes a recording while a job is replayed.
type recorder struct {
	j      *Job
	rec    *snapshot.Recording
	dev    *snapshot.Device
	frames map[snapshot.Frame]snapshot.FrameID
	stacks map[stackKey]snapshot.StackID
	owner  map[uint64]snapshot.StackID // of live blocks, by address
	grown  []snapshot.Event            // segments that the request in hand brought, in order
	inner  allocator.Device
	expand bool
}

// stackKey is what a stack of the recording is made of.
type stackKey struct {
	stack    int32
	fn       int16
	backward bool
}

func newRecorder(j *Job, room Room) *recorder {
	b := &recorder{
		j: j, frames: map[snapshot.Frame]snapshot.FrameID{}, stacks: map[stackKey]snapshot.StackID{}, owner: map[uint64]snapshot.StackID{},
		expand: room.Config.Expandable,
	}
	b.dev = &snapshot.Device{Index: j.Device, Trace: -1, Events: &snapshot.Events{Pools: []snapshot.PoolID{{}}, HasPools: true}}
	b.rec = &snapshot.Recording{
		Source:   snapshot.Source{Name: j.Trace.Name, Form: "trace of ullage fit", Rank: -1},
		Devices:  []*snapshot.Device{b.dev},
		Streams:  []uint64{0},
		Labels:   []string{""},
		Settings: settingsOf(&room.Config, j.Trace.Meta.AllocConf),
	}
	if j.Trace.Meta.World > 1 {
		b.rec.Source.Rank = j.Trace.Meta.Rank
	}
	b.rec.Stacks.Add(nil)
	return b
}

// settingsOf writes an allocator's configuration as a recording has it.
func settingsOf(c *allocator.Config, conf string) *snapshot.Settings {
	s := &snapshot.Settings{
		Conf: conf, MaxSplitBytes: -1, GCThreshold: c.GCThreshold, ExpandableSegments: c.Expandable, RoundupDivisions: c.RoundupDivisions, PinnedThreads: 1,
	}
	if c.MaxSplitBytes > 0 {
		s.MaxSplitBytes = c.MaxSplitBytes
	}
	return s
}

// device puts the recorder between the allocator and its device.
func (b *recorder) device(d allocator.Device) allocator.Device {
	b.inner = d
	return (*recordedDevice)(b)
}

// recordedDevice is the device that a recorder watches. What it is asked for within a
// request is recorded before the request itself, as PyTorch does.
type recordedDevice recorder

func (d *recordedDevice) add(a snapshot.Action, addr uint64, size int64) {
	d.grown = append(d.grown, snapshot.Event{Action: a, Addr: addr, SizeBytes: size})
}

func (d *recordedDevice) Total() int64 { return d.inner.Total() }
func (d *recordedDevice) Free() int64  { return d.inner.Free() }

func (d *recordedDevice) Malloc(size int64) (uint64, bool) {
	addr, ok := d.inner.Malloc(size)
	if ok {
		d.add(snapshot.SegmentAlloc, addr, size)
	}
	return addr, ok
}

func (d *recordedDevice) Release(addr uint64, size int64) {
	d.inner.Release(addr, size)
	d.add(snapshot.SegmentFree, addr, size)
}

func (d *recordedDevice) Reserve(size int64) (uint64, bool)    { return d.inner.Reserve(size) }
func (d *recordedDevice) Unreserve(addr uint64, size int64)    { d.inner.Unreserve(addr, size) }
func (d *recordedDevice) Claim(addr uint64, mapped, all int64) { d.inner.Claim(addr, mapped, all) }

func (d *recordedDevice) Map(addr uint64, size int64) bool {
	ok := d.inner.Map(addr, size)
	if ok {
		d.add(snapshot.SegmentMap, addr, size)
	}
	return ok
}

func (d *recordedDevice) Unmap(addr uint64, size int64) {
	d.inner.Unmap(addr, size)
	d.add(snapshot.SegmentUnmap, addr, size)
}

// flush writes what the driver did, with the stack of the request that made it.
func (b *recorder) flush(o *jobOp) {
	for _, e := range b.grown {
		e.Stack, e.Stream = b.stackOf(o), b.streamOf(o.stream)
		b.dev.Events.Append(e)
	}
	b.grown = b.grown[:0]
}

func (b *recorder) allocated(o *jobOp, addr uint64, bytes int64) {
	b.flush(o)
	stack := b.stackOf(o)
	b.owner[addr] = stack
	b.dev.Events.Append(snapshot.Event{Action: snapshot.Alloc, Addr: addr, SizeBytes: bytes, Stream: b.streamOf(o.stream), Stack: stack})
}

func (b *recorder) freed(o *jobOp, addr uint64, bytes int64, completed bool) {
	b.flush(o)
	e := snapshot.Event{Action: snapshot.FreeRequested, Addr: addr, SizeBytes: bytes, Stream: b.streamOf(o.stream), Stack: b.stackOf(o)}
	b.dev.Events.Append(e)
	if completed {
		delete(b.owner, addr)
		e.Action = snapshot.FreeCompleted
		b.dev.Events.Append(e)
	}
}

func (b *recorder) completed(addr uint64, bytes int64) {
	delete(b.owner, addr)
	b.dev.Events.Append(snapshot.Event{Action: snapshot.FreeCompleted, Addr: addr, SizeBytes: bytes})
}

func (b *recorder) failed(o *jobOp, err *allocator.OOMError) {
	b.flush(o)
	b.dev.Events.Append(snapshot.Event{Action: snapshot.OOM, Addr: uint64(max(err.FreeBytes, 0)), SizeBytes: err.RoundedBytes, Stream: b.streamOf(o.stream), Stack: b.stackOf(o)})
}

// streamOf maps streams as the trace counts them: 0 is the default one.
func (b *recorder) streamOf(s uint32) snapshot.StreamID {
	for len(b.rec.Streams) <= int(s) && len(b.rec.Streams) < 1<<16 {
		b.rec.Streams = append(b.rec.Streams, uint64(len(b.rec.Streams)))
	}
	return snapshot.StreamID(min(int(s), len(b.rec.Streams)-1))
}

// stackOf returns the stack of a call.
func (b *recorder) stackOf(o *jobOp) snapshot.StackID {
	key := stackKey{o.stack, o.fn, o.thread == 1}
	if id, ok := b.stacks[key]; ok {
		return id
	}
	var list []snapshot.FrameID
	if o.fn >= 0 {
		list = append(list, b.frame(snapshot.Frame{Name: b.j.fns[o.fn], Filename: "??"}))
	}
	if o.stack >= 0 {
		for _, f := range b.j.Trace.Stacks[o.stack].Frames {
			of := b.j.Trace.Frames[f]
			list = append(list, b.frame(snapshot.Frame{Name: functionName(of.Name), Filename: of.File, Line: of.Line}))
		}
	}
	if o.thread == 1 {
		list = append(list, b.frame(snapshot.Frame{Name: "torch::autograd::Engine::evaluate_function", Filename: "??"}))
	}
	id := b.rec.Stacks.Add(list)
	b.stacks[key] = id
	return id
}

// functionName is the name of a function without what it is part of: recordings have
// "forward", the trace may have "Block.forward".
func functionName(qualified string) string {
	return qualified[strings.LastIndexByte(qualified, '.')+1:]
}

func (b *recorder) frame(f snapshot.Frame) snapshot.FrameID {
	id, ok := b.frames[f]
	if !ok {
		id = snapshot.FrameID(len(b.rec.Frames))
		b.rec.Frames = append(b.rec.Frames, f)
		b.frames[f] = id
	}
	return id
}

// finish writes the segments and blocks that are there at the end.
func (b *recorder) finish(sim *allocator.Simulator) {
	b.flush(&jobOp{fn: -1, stack: -1}) // of a last empty_cache
	for _, g := range sim.Segments() {
		s := snapshot.Segment{
			Addr: g.Addr, SizeBytes: g.SizeBytes, Stream: b.streamOf(g.Stream), Pool: snapshot.PoolID(g.Pool), Kind: snapshot.LargeSegment,
			Expandable: g.Expandable, FirstBlock: len(b.dev.Blocks), NumBlocks: len(g.Blocks),
		}
		if g.Small {
			s.Kind = snapshot.SmallSegment
		}
		for _, block := range g.Blocks {
			of := snapshot.Block{Addr: block.Addr, SizeBytes: block.SizeBytes, RequestedBytes: block.RequestedBytes}
			switch block.State {
			case allocator.Allocated:
				of.State, of.Stack = snapshot.Allocated, b.owner[block.Addr]
				s.AllocatedBytes += block.SizeBytes
				s.ActiveBytes += block.SizeBytes
				s.RequestedBytes += block.RequestedBytes
			case allocator.PendingFree:
				of.State, of.Stack = snapshot.PendingFree, b.owner[block.Addr]
				s.ActiveBytes += block.SizeBytes
				s.RequestedBytes += block.RequestedBytes
			}
			b.dev.Blocks = append(b.dev.Blocks, of)
		}
		b.dev.Segments = append(b.dev.Segments, s)
	}
}
