package made

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/ullage-dev/ullage/allocator"
)

// frameBytes is the size from which on CPython ends a pickle's frame.
const frameBytes = 64 << 10

// batchLen is how many elements CPython puts into one APPENDS.
const batchLen = 1000

// pickler writes pickle protocol 4 as CPython does: every container and string is
// memoized, and those that come again are GETs.
type pickler struct {
	w       io.Writer
	buf     []byte // of the current frame
	slots   uint32 // memo slots used
	strings map[string]uint32
	frames  []frame
	bySite  [numSites][]int
	frameAt []uint32       // memo slot + 1 of each frame
	stackAt map[int]uint32 // memo slot of the list last written for a site
	last    event
	inBatch int
	err     error
}

func newPickler(w io.Writer) *pickler {
	p := &pickler{w: w, strings: map[string]uint32{}, stackAt: map[int]uint32{}}
	p.frames, p.bySite = stacks()
	p.frameAt = make([]uint32, len(p.frames))
	return p
}

// op adds an opcode, and ends the frame where it is full.
func (p *pickler) op(b ...byte) {
	if len(p.buf) >= frameBytes {
		p.flush()
	}
	p.buf = append(p.buf, b...)
}

func (p *pickler) flush() {
	head := binary.LittleEndian.AppendUint64([]byte{0x95}, uint64(len(p.buf)))
	for _, b := range [][]byte{head, p.buf} {
		if p.err == nil {
			_, p.err = p.w.Write(b)
		}
	}
	p.buf = p.buf[:0]
}

// memoize gives the object just begun a slot.
func (p *pickler) memoize() uint32 {
	p.op(0x94)
	p.slots++
	return p.slots - 1
}

func (p *pickler) get(slot uint32) {
	if slot < 256 {
		p.op('h', byte(slot))
		return
	}
	p.op('j', byte(slot), byte(slot>>8), byte(slot>>16), byte(slot>>24))
}

// fresh writes a string without looking whether it was written before: CPython
// compares identity, and PyTorch makes some strings anew for every event.
func (p *pickler) fresh(s string) {
	p.op(append([]byte{0x8c, byte(len(s))}, s...)...)
	p.strings[s] = p.memoize()
}

func (p *pickler) string(s string) {
	if slot, ok := p.strings[s]; ok {
		p.get(slot)
		return
	}
	p.fresh(s)
}

// int writes an integer; of the negative ones, only those of 32 bits.
func (p *pickler) int(v int64) {
	switch u := uint64(v); {
	case u < 1<<8:
		p.op('K', byte(u))
	case u < 1<<16:
		p.op('M', byte(u), byte(u>>8))
	case v == int64(int32(v)):
		p.op('J', byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	default:
		b := binary.LittleEndian.AppendUint64([]byte{0x8a, 8}, u)
		for last := len(b) - 1; b[last] == 0 && b[last-1] < 0x80; last-- { // as few bytes as will do
			b = b[:last]
			b[1]--
		}
		p.op(b...)
	}
}

func (p *pickler) bool(v bool) {
	if v {
		p.op(0x88)
		return
	}
	p.op(0x89)
}

func (p *pickler) float(v float64) {
	p.op(binary.BigEndian.AppendUint64([]byte{'G'}, math.Float64bits(v))...)
}

// openDict, openList and close write EMPTY_DICT … SETITEMS and EMPTY_LIST … APPENDS.
func (p *pickler) openDict() {
	p.op('}')
	p.memoize()
	p.op('(')
}

func (p *pickler) openList() uint32 {
	p.op(']')
	slot := p.memoize()
	p.op('(')
	return slot
}

func (p *pickler) closeDict() { p.op('u') }
func (p *pickler) closeList() { p.op('e') }

func (p *pickler) field(key string, v int64) {
	p.string(key)
	p.int(v)
}

// stack writes the frames of a site, as a new list or, where again, as the last one.
func (p *pickler) stack(site int, again bool) {
	p.string("frames")
	if slot, ok := p.stackAt[site]; ok && again {
		p.get(slot)
		return
	}
	p.stackAt[site] = p.openList()
	for _, i := range p.bySite[site] {
		if p.frameAt[i] != 0 {
			p.get(p.frameAt[i] - 1)
			continue
		}
		p.op('}')
		p.frameAt[i] = p.memoize() + 1
		p.op('(')
		f := p.frames[i]
		p.string("name")
		p.string(f.name)
		p.string("filename")
		p.string(f.file)
		p.field("line", int64(f.line))
		p.closeDict()
	}
	p.closeList()
}

func (p *pickler) begin() {
	if p.err == nil {
		_, p.err = p.w.Write([]byte{0x80, 4})
	}
	p.openDict()
}

// end writes what follows segments and events, and STOP.
func (p *pickler) end() {
	p.string("allocator_settings")
	p.openDict()
	p.string("PYTORCH_CUDA_ALLOC_CONF")
	p.string("")
	p.field("max_split_size", -1)
	p.string("garbage_collection_threshold")
	p.float(0)
	p.string("expandable_segments")
	p.bool(false)
	p.closeDict()
	p.string("external_annotations")
	p.openList()
	p.closeList()
	p.closeDict()
	p.op('.')
	p.flush()
}

func (p *pickler) beginTrace() {
	p.string("device_traces")
	p.op(']')
	p.memoize()
	p.op(']')
	p.memoize()
}

func (p *pickler) endTrace() {
	if p.inBatch > 0 {
		p.closeList()
	}
	p.op('a') // a list of one device
}

// event writes an entry of the trace.
func (p *pickler) event(e event) {
	if p.inBatch == 0 {
		p.op('(')
	}
	p.openDict()
	p.string("action")
	p.string(e.action)
	p.field("addr", int64(e.addr))
	p.field("size", e.size)
	p.field("stream", 0)
	p.field("time_us", e.timeUS)
	p.string("compile_context")
	p.fresh("N/A")
	p.string("user_metadata")
	p.string("")
	// The two events of a free share one list, as do an allocation and the segment
	// that was got for it.
	again := e.action == "free_completed" || e.action == "alloc" && p.last.action == "segment_alloc"
	p.stack(e.stack, again)
	p.closeDict()
	p.last = e
	if p.inBatch++; p.inBatch == batchLen {
		p.closeList()
		p.inBatch = 0
	}
}

// segments writes the state at the end of a run.
func (p *pickler) segments(s *simulation) {
	p.string("segments")
	p.openList()
	for _, seg := range s.alloc.Segments() {
		p.segment(s, seg)
	}
	p.closeList()
}

func (p *pickler) segment(s *simulation, seg allocator.SegmentInfo) {
	var allocated, requested int64
	for _, b := range seg.Blocks {
		if b.State != allocator.Free {
			allocated += b.SizeBytes
			requested += b.RequestedBytes
		}
	}
	p.openDict()
	p.field("device", 0)
	p.field("address", int64(seg.Addr))
	p.field("total_size", seg.SizeBytes)
	p.field("allocated_size", allocated)
	p.field("active_size", allocated)
	p.field("requested_size", requested)
	p.field("stream", 0)
	p.string("segment_type")
	p.string(map[bool]string{true: "small", false: "large"}[seg.Small])
	p.string("segment_pool_id")
	p.int(0)
	p.int(0)
	p.op(0x86)
	p.memoize()
	p.string("is_expandable")
	p.bool(false)
	p.string("frames")
	p.openList()
	p.closeList()
	p.string("blocks")
	p.openList()
	for _, b := range seg.Blocks {
		p.block(s, b)
	}
	p.closeList()
	p.closeDict()
}

func (p *pickler) block(s *simulation, b allocator.BlockInfo) {
	p.openDict()
	p.field("address", int64(b.Addr))
	p.field("size", b.SizeBytes)
	p.field("requested_size", b.RequestedBytes)
	p.string("state")
	if b.State == allocator.Free {
		p.string("inactive")
		p.string("frames")
		p.openList()
		p.closeList()
	} else {
		p.string("active_allocated")
		p.stack(s.stacks[b.Addr], false)
	}
	p.closeDict()
}
