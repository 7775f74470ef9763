package snapshot

import "github.com/ullage-dev/ullage/internal/value"

// memoryTable keeps segments and blocks until the file's end tells which device they
// belong to.
type memoryTable struct {
	blocks     []blockRow
	segments   []segmentRow
	tenants    []tenantRow
	blockLists [][]span // by number
	segLists   [][]span
	taken      map[int]bool // lists of blocks that a segment has
}

type blockRow struct {
	Block
	noAddr bool // torch 2.0 leaves it out
}

type segmentRow struct {
	Segment
	device   int
	noDevice bool // profile_plot leaves it out
	blocks   value.Value
}

// tenantRow is the newest entry of a block's history.
type tenantRow struct {
	requestedBytes int64
	stack          StackID
}

var blockStates = map[string]BlockState{
	"inactive": Inactive, "active_allocated": Allocated, "active_pending_free": PendingFree, "active_awaiting_free": PendingFree,
}

// block keeps a block's dict.
func (b *builder) block(k *keySet, items []value.Value) value.Value {
	row := blockRow{noAddr: true}
	var at site
	tenant, requested := -1, false
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fAddr:
			row.Addr, row.noAddr = b.address(v), v == value.None
		case fSize:
			row.SizeBytes = b.size(v)
		case fRequested:
			row.RequestedBytes, requested = b.size(v), true
		case fState:
			row.State = b.blockState(v)
		case fFrames:
			at.frames = v
		case fForward:
			at.forward = v
		case fCppFrames:
			at.cpp = v
		case fHistory:
			if kind, id := asObject(v); kind == objTenant {
				tenant = id
			}
		}
	}
	row.Stack = b.stackAt(&at)
	if tenant >= 0 && row.State != Inactive { // a free block's history is of former tenants
		h := b.memory.tenants[tenant]
		if row.Stack == 0 {
			row.Stack = h.stack
		}
		if !requested {
			row.RequestedBytes = h.requestedBytes
		}
	}
	b.memory.blocks = append(b.memory.blocks, row)
	return object(objBlock, len(b.memory.blocks)-1)
}

func (b *builder) blockState(v value.Value) BlockState {
	state, ok := blockStates[b.pool.Text(v)]
	if !ok {
		b.unknown[Unknown{Where: "block state", Name: b.text(v)}]++
	}
	return state
}

// tenant keeps an entry of a block's history.
func (b *builder) tenant(k *keySet, items []value.Value) value.Value {
	var row tenantRow
	var at site
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fSize:
			row.requestedBytes = b.size(v)
		case fFrames:
			at.frames = v
		case fCppFrames:
			at.cpp = v
		}
	}
	row.stack = b.stackAt(&at)
	b.memory.tenants = append(b.memory.tenants, row)
	return object(objTenant, len(b.memory.tenants)-1)
}

// segment keeps a segment's dict.
func (b *builder) segment(k *keySet, items []value.Value) value.Value {
	row := segmentRow{noDevice: true}
	var at site
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fDevice:
			row.device, row.noDevice = b.small(v), false
		case fAddr:
			row.Addr = b.address(v)
		case fSize:
			row.SizeBytes = b.size(v)
		case fAllocated:
			row.AllocatedBytes = b.size(v)
		case fActive:
			row.ActiveBytes = b.size(v)
		case fRequested:
			row.RequestedBytes = b.size(v)
		case fStream:
			row.Stream = b.stream(v)
		case fSegmentType:
			row.Kind = b.segmentKind(v)
		case fPool:
			row.Pool = b.poolID(v)
		case fExpandable:
			row.Expandable = b.boolean(v)
		case fFrames:
			at.frames = v
		case fForward:
			at.forward = v
		case fCppFrames:
			at.cpp = v
		case fBlocks:
			row.blocks = v
		}
	}
	row.Stack = b.stackAt(&at)
	b.memory.segments = append(b.memory.segments, row)
	return object(objSegment, len(b.memory.segments)-1)
}

func (b *builder) segmentKind(v value.Value) SegmentKind {
	switch name := b.pool.Text(v); name {
	case "small":
		return SmallSegment
	case "large":
		return LargeSegment
	default:
		b.unknown[Unknown{Where: "segment type", Name: b.text(v)}]++
	}
	return UnknownSegment
}

// addToList adds items to a list among lists, and returns the list as an object of
// the given kind. Items that do not follow one another in their table, or stand in two
// lists, make it more than one span.
func addToList(lists *[][]span, kind int, list value.Value, items []value.Value) value.Value {
	have, id := asObject(list)
	if have != kind {
		id = len(*lists)
		*lists = append(*lists, nil)
	}
	spans := (*lists)[id]
	for _, v := range items {
		_, n := asObject(v)
		if last := len(spans) - 1; last >= 0 && spans[last].end() == n {
			spans[last].n++
		} else {
			spans = append(spans, span{n, 1})
		}
	}
	(*lists)[id] = spans
	return object(kind, id)
}

// segmentsOf returns the rows of a list of segments.
func (t *memoryTable) segmentsOf(v value.Value) []segmentRow {
	kind, id := asObject(v)
	if kind != objSegments {
		return nil
	}
	var all []segmentRow
	for _, s := range t.segLists[id] {
		all = append(all, t.segments[s.first:s.end()]...)
	}
	return all
}

// addSegment gives dev a segment with its blocks.
func (b *builder) addSegment(dev *Device, row segmentRow) {
	t := &b.memory
	seg := row.Segment
	seg.FirstBlock = len(dev.Blocks)
	next := seg.Addr
	for _, s := range b.blocksOf(row) {
		for _, block := range t.blocks[s.first:s.end()] {
			if block.noAddr {
				block.Addr = next
			}
			next = block.Addr + uint64(max(0, block.SizeBytes))
			dev.Blocks = append(dev.Blocks, block.Block)
		}
	}
	seg.NumBlocks = len(dev.Blocks) - seg.FirstBlock
	dev.Segments = append(dev.Segments, seg)
}

// blocksOf returns where a segment's blocks are. A list that another segment has already
// is not given twice: a file of a few bytes a segment could ask for any number of copies.
func (b *builder) blocksOf(row segmentRow) []span {
	t := &b.memory
	kind, id := asObject(row.blocks)
	if kind != objBlocks {
		return nil
	}
	if t.taken[id] {
		b.odd.note(oddSharedBlocks, "")
		return nil
	}
	if t.taken == nil {
		t.taken = map[int]bool{}
	}
	t.taken[id] = true
	return t.blockLists[id]
}
