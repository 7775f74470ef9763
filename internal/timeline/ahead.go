package timeline

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// Ahead replays traces while their file is still being read, on another core. What
// a replay needs to know beforehand comes last in a file, the settings, or can only
// be told from all of it, the state before the first event; so it supposes the usual
// ones: PyTorch's default settings, and nothing allocated before the first event. A
// trace that shows otherwise is dropped, and replayed by Build when all is known.
//
// Events is for snapshot.Options.OnEvents. The zero Ahead is ready for use.
type Ahead struct {
	traces []*replayer // nil where the supposition was wrong
}

// Events replays a run of events of a trace.
func (a *Ahead) Events(trace int, b *snapshot.Batch) {
	for len(a.traces) <= trace {
		t := new(Timeline)
		a.traces = append(a.traces, newReplayer(t, gpuPlacer{allocator.New(t.Config)}, new(start)))
	}
	r := a.traces[trace]
	if r == nil {
		return
	}
	r.replay(b)
	if r.t.Replay.First >= 0 || r.t.Replay.Odd != (Odd{}) {
		a.traces[trace] = nil
	}
}

// Build returns what the replay of dev's trace came to, or replays it now.
func (a *Ahead) Build(rec *snapshot.Recording, dev *snapshot.Device) *Timeline {
	if r := a.replayOf(rec, dev); r != nil {
		r.t.Rec, r.t.Dev = rec, dev
		r.finish()
		return r.t
	}
	return Build(rec, dev)
}

// replayOf returns the replay of dev's trace, if what it supposed holds.
func (a *Ahead) replayOf(rec *snapshot.Recording, dev *snapshot.Device) *replayer {
	if dev.Kind != snapshot.GPU || dev.Trace < 0 || dev.Trace >= len(a.traces) || ConfigOf(rec.Settings) != (allocator.Config{}) {
		return nil
	}
	r := a.traces[dev.Trace]
	if r == nil || r.t.blockOf.Len() != dev.Events.Len() {
		return nil
	}
	s := new(start)
	s.undoSegments(dev, findSegmentEvents(dev.Events))
	if len(s.segments) > 0 || s.manyPools() {
		return nil
	}
	a.traces[dev.Trace] = nil // it becomes the Timeline: once
	return r
}
