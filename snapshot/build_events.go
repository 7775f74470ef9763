package snapshot

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/value"
)

// eventTable turns events into rows. Rows are collected in plain columns, a chunk at
// a time, and packed by another goroutine.
type eventTable struct {
	traces []*trace // by number of their first event
	cur    *trace
	place  value.Place // the list that cur is
	rows   *rows
	total  int      // events so far, of all traces: an event's number
	lists  [][]span // lists of events, by number
	sealer sealer

	pools      []PoolID
	poolOf     map[PoolID]int
	streams    []uint64
	streamOf   map[uint64]StreamID
	lastStream struct {
		v  value.Value
		id StreamID
	}
	labels    []string
	labelOf   map[value.Value]LabelID
	lastLabel struct {
		v  value.Value
		id LabelID
	}
	noContext value.Value // "N/A"
	actions   [64]actionName

	marks []markIn
}

// trace is a run of events that were read one after the other within one list.
type trace struct {
	index  int
	first  int // number of the first event
	n      int
	events *Events
	poolOf map[int]uint32 // by index into eventTable.pools

	hasTimes, hasPools bool
}

// span is n things in a row.
type span struct{ first, n int }

func (s span) end() int { return s.first + s.n }

// actionName caches what an action's name means.
type actionName struct {
	name   value.Value
	action Action
}

// markIn is a user_defined event of torch 2.4, which becomes an annotation.
type markIn struct {
	Annotation
	trace int
}

// maxTraces bounds how many lists of events there may be: one a device, and as
// many for host memory.
const maxTraces = 1 << 12

var actionNames = map[string]Action{
	"alloc": Alloc, "free_requested": FreeRequested, "free_completed": FreeCompleted, "segment_alloc": SegmentAlloc,
	"segment_free": SegmentFree, "segment_map": SegmentMap, "segment_unmap": SegmentUnmap, "snapshot": Snapshot,
	"oom": OOM, "user_defined": UserDefined, "annotate": Annotate,
}

func (t *eventTable) init(pool *value.Pool, hook func(int, *Batch)) {
	t.noContext = pool.String([]byte("N/A"))
	t.sealer.hook = hook
	t.poolOf = map[PoolID]int{}
	t.pair(PoolID{})
	t.streams = []uint64{0} // the default stream is StreamID 0, and that of what names none
	t.streamOf = map[uint64]StreamID{0: 0}
	t.labels = []string{""}
	t.labelOf = map[value.Value]LabelID{}
}

// pair returns the object for two integers, which pools are named by.
func (t *eventTable) pair(p PoolID) value.Value {
	id, ok := t.poolOf[p]
	if !ok {
		id = len(t.pools)
		t.pools = append(t.pools, p)
		t.poolOf[p] = id
	}
	return object(objPair, id)
}

// event appends the row that an event's dict stands for.
func (b *builder) event(in value.Place, k *keySet, items []value.Value) (value.Value, error) {
	t := &b.events
	if t.rows == nil || t.rows.n == EventsChunk || in != t.place {
		if err := t.nextRows(in); err != nil {
			return value.Nothing, err
		}
	}
	r := t.rows
	n := r.n % EventsChunk // the compiler sees that it is in range
	var action Action
	var addr uint64
	var metadata, otherText LabelID
	var sizeBytes, timeUS int64
	var at site
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fAction:
			action = b.action(v)
		case fAddr:
			addr = b.address(v)
		case fSize:
			sizeBytes = b.size(v)
		case fStream:
			r.set(colStream, uint64(b.stream(v)))
		case fFrames:
			at.frames = v
		case fTime:
			timeUS = b.time(v)
		case fCompile:
			r.set(colCompile, uint64(b.compileContext(v)))
		case fMetadata:
			metadata = b.label(v)
		case fInternal, fCategory:
			otherText = max(otherText, b.label(v))
		case fPool:
			r.set(colPool, uint64(b.poolIndex(v)))
		case fForward:
			at.forward = v
		case fCppFrames:
			at.cpp = v
		}
	}
	if metadata == 0 {
		metadata = otherText
	}
	r.set(colMetadata, uint64(metadata))
	stack := b.stackAt(&at)
	r.cols[colAction][n], r.cols[colAddr][n], r.cols[colSize][n] = uint64(action), addr, uint64(sizeBytes)
	r.cols[colStack][n], r.cols[colTime][n] = uint64(stack), uint64(timeUS)
	r.n++
	t.cur.n++
	t.total++
	if timeUS != 0 {
		t.cur.hasTimes = true
	}
	if action == UserDefined {
		b.userDefined(stack, timeUS)
	}
	return object(objEvent, t.total-1), nil
}

// nextRows gives away full rows, or those of another list, and begins new ones.
func (t *eventTable) nextRows(in value.Place) error {
	sameList := t.rows != nil && in == t.place
	t.flush()
	if !sameList {
		if len(t.traces) == maxTraces {
			return &TooLargeError{What: "the number of lists of events", Limit: maxTraces, Unit: "lists"}
		}
		t.cur = &trace{index: len(t.traces), first: t.total, events: &Events{Pools: []PoolID{{}}}, poolOf: map[int]uint32{0: 0}}
		t.traces = append(t.traces, t.cur)
		t.place = in
	}
	t.rows = t.sealer.get()
	t.rows.trace = t.cur
	return nil
}

// flush gives the current rows to the sealer.
func (t *eventTable) flush() {
	if t.rows != nil {
		t.rows.pools = t.cur.events.Pools
		t.sealer.put(t.rows)
		t.rows = nil
	}
}

// eventsOf returns the events of a list, and the trace that they are (-1 where they
// had to be copied). All rows must be sealed.
func (t *eventTable) eventsOf(v value.Value) (*Events, int) {
	kind, id := asObject(v)
	if kind != objTrace {
		return &Events{Pools: []PoolID{{}}}, -1
	}
	spans := t.lists[id]
	if tr := t.traceAt(spans[0].first); len(spans) == 1 && spans[0] == (span{tr.first, tr.n}) {
		tr.events.HasTimes, tr.events.HasPools = tr.hasTimes, tr.hasPools
		return tr.events, tr.index
	}
	to := &trace{events: &Events{Pools: []PoolID{{}}}, poolOf: map[int]uint32{0: 0}}
	for _, s := range spans {
		for n := s.first; n < s.end(); n++ {
			from := t.traceAt(n)
			e := from.events.At(n - from.first)
			pool := from.events.Pools[e.Pool]
			e.Pool = to.poolIndex(t.poolOf[pool], pool)
			to.events.Append(e)
		}
		from := t.traceAt(s.first)
		to.events.HasPools = to.events.HasPools || from.hasPools
		to.events.HasTimes = to.events.HasTimes || from.hasTimes
	}
	return to.events, -1
}

// traceAt returns the trace of event number n.
func (t *eventTable) traceAt(n int) *trace {
	i, exact := slices.BinarySearchFunc(t.traces, n, func(tr *trace, n int) int { return tr.first - n })
	if !exact {
		i--
	}
	return t.traces[i]
}

// poolIndex returns the index of a pool within the trace's own table.
func (tr *trace) poolIndex(id int, p PoolID) uint32 {
	i, ok := tr.poolOf[id]
	if !ok {
		i = uint32(len(tr.events.Pools))
		tr.events.Pools = append(tr.events.Pools, p)
		tr.poolOf[id] = i
	}
	return i
}

// userDefined makes an annotation of what torch 2.4 put among the events: one frame,
// whose name is START or END and whose filename is the label.
func (b *builder) userDefined(id StackID, timeUS int64) {
	frames := b.stacks.stacks.Frames(id)
	if len(frames) == 0 {
		return
	}
	f := b.stacks.frames[frames[0]]
	b.events.marks = append(b.events.marks, markIn{
		Annotation: Annotation{Name: f.Filename, Start: f.Name == "START", TimeUS: timeUS},
		trace:      b.events.cur.index,
	})
}
