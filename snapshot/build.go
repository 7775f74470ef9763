package snapshot

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/value"
)

// builder turns what a reader decodes into a Recording, bottom up: an event's dict
// becomes a row of columns, a frame's a FrameID, a list of frames a StackID, as
// soon as each is complete. It is the value.Builder of every form of recording.
//
//	b := newBuilder(opt)
//	root, err := decode(input, b) // b.Pool, b.Dict, b.List, …
//	rec, err := b.finish(root)
//
// A dict is what its keys say it is, wherever it stands; their order does not matter.
type builder struct {
	pool    value.Pool
	keySets keySets
	stacks  stackTable
	events  eventTable
	memory  memoryTable
	tree    tree

	annotations []Annotation
	notes       []string // warnings
	searched    int
	recordings  []recordingDict
	unknown     map[Unknown]int // with Count 0
	odd         oddities
}

func newBuilder(opt Options) *builder {
	b := &builder{unknown: map[Unknown]int{}}
	b.keySets.init(&b.pool)
	b.stacks.init()
	b.events.init(&b.pool, opt.OnEvents)
	return b
}

// Kinds of objects: what a dict or a list became.
const (
	objEvent = iota
	objTrace // a list of events
	objFrame
	objStack // a list of frames
	objLines // a list of strings
	objBlock
	objBlocks
	objSegment
	objSegments
	objTenant // an entry of a block's history, torch 2.0; a list of them is its first
	objAnnotation
	objAnnotations
	objPair // a list or tuple of two integers
	objRecording
	objList
	objDict
	objDropped // more than the tree holds
)

const objBits = 5

func object(kind, id int) value.Value {
	return value.Of(value.KindObject, uint64(id)<<objBits|uint64(kind))
}

// asObject returns the kind and id of an object, -1 where v is none.
func asObject(v value.Value) (kind, id int) {
	if !v.IsObject() {
		return -1, 0
	}
	p := v.Payload()
	return int(p & (1<<objBits - 1)), int(p >> objBits)
}

// Pool is part of value.Builder.
func (b *builder) Pool() *value.Pool { return &b.pool }

// Dict is part of value.Builder.
func (b *builder) Dict(in value.Place, items []value.Value) (value.Value, error) {
	k := b.keySets.of(items)
	k.count++
	switch k.kind {
	case eventDict:
		return b.event(in, k, items)
	case frameDict:
		return b.frame(k, items), nil
	case blockDict:
		return b.block(k, items), nil
	case segmentDict:
		return b.segment(k, items), nil
	case tenantDict:
		return b.tenant(k, items), nil
	case annotationDict:
		return b.annotation(k, items), nil
	case recordingKeys:
		return b.recording(k, items), nil
	}
	return b.tree.dict(items), nil
}

// CutDict is part of value.Builder. A part of an event, a block or a segment would
// say something that the file does not; of what surrounds them a part is welcome.
func (b *builder) CutDict(items []value.Value) value.Value {
	k := b.keySets.of(items)
	switch {
	case k.kind == recordingKeys:
		k.count++
		v := b.recording(k, items)
		b.recordings[len(b.recordings)-1].cutAt = k.last()
		return v
	case k.kind == otherDict && slices.ContainsFunc(items, holdsRecording):
		return b.tree.dict(items)
	}
	return value.Nothing
}

// holdsRecording tells whether v can be a recording, or hold one.
func holdsRecording(v value.Value) bool {
	switch kind, id := asObject(v); kind {
	case objRecording, objSegments, objTrace, objDict:
		return true
	case objList:
		return id != 0 // the empty list
	}
	return false
}

// Tuple is part of value.Builder.
func (b *builder) Tuple(items []value.Value) (value.Value, error) {
	return b.List(value.Nothing, items)
}

// List is part of value.Builder.
func (b *builder) List(list value.Value, items []value.Value) (value.Value, error) {
	if len(items) == 0 {
		if list == value.Nothing {
			return b.tree.empty(), nil
		}
		return list, nil
	}
	if list == value.Nothing && len(items) == 2 && items[0].Kind() == value.KindInt && items[1].Kind() == value.KindInt {
		return b.events.pair(PoolID{uint64(items[0].Small()), uint64(items[1].Small())}), nil
	}
	all := items
	kind, _ := asObject(items[0])
	if items[0].IsString() {
		kind = objLines
	}
	if !uniform(items, kind) {
		if kind, items = ofMemory(items); len(items) == 0 {
			return b.mixed(list, all), nil
		}
		b.odd.note(oddMixedList, "")
	}
	if list != value.Nothing && !extends(list, kind) {
		return b.mixed(list, items), nil
	}
	switch kind {
	case objEvent:
		return addToList(&b.events.lists, objTrace, list, items), nil
	case objFrame:
		return b.stacks.stack(list, items), nil
	case objLines:
		return b.stacks.lines(list, items), nil
	case objBlock:
		return addToList(&b.memory.blockLists, objBlocks, list, items), nil
	case objSegment:
		return addToList(&b.memory.segLists, objSegments, list, items), nil
	case objTenant:
		if list == value.Nothing {
			return items[0], nil
		}
		return list, nil
	case objAnnotation:
		return object(objAnnotations, 0), nil
	}
	return b.mixed(list, items), nil
}

// listOf is the kind of a list by the kind of its elements.
var listOf = map[int]int{
	objEvent: objTrace, objFrame: objStack, objLines: objLines, objBlock: objBlocks, objSegment: objSegments,
	objTenant: objTenant, objAnnotation: objAnnotations,
}

// extends tells whether list is a list of elements of the given kind, or empty.
func extends(list value.Value, kind int) bool {
	have, id := asObject(list)
	want, ok := listOf[kind]
	return ok && have == want || have == objList && id == 0
}

// uniform tells whether all items are objects of one kind, or all strings.
func uniform(items []value.Value, kind int) bool {
	for _, v := range items {
		if k, _ := asObject(v); k != kind && !(kind == objLines && v.IsString()) {
			return false
		}
	}
	return true
}

// ofMemory returns the events, the segments or the blocks of a list that has other
// things in it as well: what does not belong there must not cost what does.
func ofMemory(items []value.Value) (kind int, kept []value.Value) {
	kind = -1
	for _, v := range items {
		k, _ := asObject(v)
		if kind < 0 && (k == objEvent || k == objSegment || k == objBlock) {
			kind = k
		}
		if kind >= 0 && k == kind {
			kept = append(kept, v)
		}
	}
	return kind, kept
}

// mixed returns a list of the tree with items at its end.
func (b *builder) mixed(list value.Value, items []value.Value) value.Value {
	switch kind, id := asObject(list); {
	case list == value.Nothing:
		return b.tree.list(items)
	case kind == objList:
		return b.tree.extend(id, items)
	case kind == objPair:
		p := b.events.pools[id]
		list = b.tree.list([]value.Value{b.pool.Uint(p[0]), b.pool.Uint(p[1])})
		_, id = asObject(list)
		return b.tree.extend(id, items)
	}
	b.odd.note(oddMixedList, "")
	return list
}
