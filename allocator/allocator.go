package allocator

import "errors"

// Errors of calls that the allocator's state has no room for. A caller that
// replays a recording counts them; the Allocator stays sound after each.
var (
	ErrSize    = errors.New("size or address out of range")
	ErrOverlap = errors.New("the range is in use")
	ErrOutside = errors.New("the range is not in a segment")
	ErrNotLive = errors.New("no live block there")
)

// maxBytes and maxAddr bound what is taken for a size and an address, so that
// sums of them cannot overflow. Addresses of today's devices have 48 to 57 bits, and
// memories less than 64 TiB, pinned memory of hosts among them.
const (
	maxBytes = int64(1) << 46
	maxAddr  = uint64(1) << 62
)

// PoolID names a memory pool; the zero PoolID is the default pool. CUDA graphs
// and torch.cuda.MemPool have their own.
type PoolID [2]uint64

// Allocator is the state of one device's caching allocator. It is not safe for
// concurrent use.
type Allocator struct {
	cfg Config // every size filled in

	blocks     []block
	deadBlocks []BlockID
	segments   []segment
	deadSegs   []int32
	heaps      []*heap
	heapIDs    map[heapKey]int32
	options    map[PoolID]PoolOptions
	lastHeap   [2]int32 // of large and small requests: most follow one on the same stream

	live    addrMap // blocks handed out, by address
	regions set     // memory from the driver by (address, size): ids of segments
	indexed bool
	index   set // all mapped blocks by address, once one had to be found so
	grown   BlockID
	lost    []LostBlock // see Lost

	calls uint32 // searches of the default large pool: the clock of garbage collection

	requested, allocated, active, reserved int64
}

// heapKey is what never shares blocks: a pool, a size class and a stream.
type heapKey struct {
	pool   PoolID
	stream uint32
	small  bool
}

// heap is the free memory for one heapKey.
type heap struct {
	heapKey
	free     set   // by (size, address): the first that fits is the best fit
	unmapped set   // by address
	space    int32 // the expandable segment of a replay or of Load; -1 where there is none

	expandable bool // blocks are split and searched as expandable segments have it
	grows      bool // by expandable segments, not native ones
	whole      bool // blocks are never split (MemPool's no_split)
}

// New returns an allocator that holds no memory.
func New(cfg Config) *Allocator {
	return &Allocator{
		cfg:      cfg.withDefaults(),
		heapIDs:  make(map[heapKey]int32),
		options:  make(map[PoolID]PoolOptions),
		lastHeap: [2]int32{-1, -1},
		grown:    None,
	}
}

// Config returns the settings in force, with every size filled in.
func (a *Allocator) Config() Config { return a.cfg }

// Totals returns the counters of torch.cuda.memory_stats(), in bytes: what was
// requested of active blocks, allocated (blocks handed out), active (allocated
// and pending free), and reserved (got from the driver). Allocated falls when a
// free is requested, requested and active when it is completed.
func (a *Allocator) Totals() (requested, allocated, active, reserved int64) {
	return a.requested, a.allocated, a.active, a.reserved
}

// At returns the live block that begins at addr, or None.
func (a *Allocator) At(addr uint64) BlockID { return a.live.get(addr) }

// Addr returns the address of block b.
func (a *Allocator) Addr(b BlockID) uint64 { return a.blocks[b].addr }

// Size returns the bytes of live block b: the rounded request, and the tail that
// was not split off.
func (a *Allocator) Size(b BlockID) int64 { return a.blocks[b].size }

// Requested returns the bytes that the program asked for.
func (a *Allocator) Requested(b BlockID) int64 { return a.blocks[b].requested }

// heapFor returns the heap of a request, made if need be.
func (a *Allocator) heapFor(pool PoolID, stream uint32, small bool) int32 {
	class := 0
	if small {
		class = 1
	}
	if k := a.lastHeap[class]; k >= 0 {
		if h := a.heaps[k]; h.stream == stream && h.pool == pool {
			return k
		}
	}
	key := heapKey{pool, stream, small}
	k, ok := a.heapIDs[key]
	if !ok {
		k = int32(len(a.heaps))
		a.heaps = append(a.heaps, a.newHeap(key))
		a.heapIDs[key] = k
	}
	a.lastHeap[class] = k
	return k
}

func (a *Allocator) newHeap(key heapKey) *heap {
	options := a.options[key.pool]
	private := key.pool != PoolID{}
	h := &heap{heapKey: key, space: -1}
	h.whole = options.NoSplit
	h.expandable = a.cfg.Expandable && !options.CustomAllocator
	h.grows = h.expandable && !(private && a.cfg.Behavior.NativePrivatePools)
	return h
}

// Alloc serves a request from free memory, by the allocator's own choice, and
// returns the block. It returns false where no free block will do and the
// allocator would ask the driver for more.
func (a *Allocator) Alloc(requestedBytes int64, stream uint32, pool PoolID) (BlockID, bool) {
	if requestedBytes < 0 || requestedBytes > maxBytes {
		return None, false
	}
	size := a.cfg.Round(requestedBytes)
	h := a.heapFor(pool, stream, size <= smallRequestBytes)
	b, place := a.choose(h, size)
	if b == None {
		return None, false
	}
	a.heaps[h].free.removeAt(place)
	a.handOut(b, size, requestedBytes)
	return b, true
}

// choose returns the free block for a rounded request and its place in the
// heap's free list: what was just got from the driver for it, else the best fit.
func (a *Allocator) choose(h int32, size int64) (BlockID, cursor) {
	if g := a.grown; g != None {
		a.grown = None
		if b := &a.blocks[g]; b.state == free && b.heap == h && b.size >= size {
			return g, a.heaps[h].free.ceil(uint64(b.size), b.addr)
		}
	}
	b, at := a.bestFit(a.heaps[h], size)
	if b == None && a.cfg.Expandable {
		if b = a.mappedRoom(h, size); b != None {
			at = a.heaps[h].free.ceil(uint64(a.blocks[b].size), a.blocks[b].addr)
		}
	}
	return b, at
}

// maxLooks bounds the searches that look at free blocks or holes one by one. PyTorch's
// have no bound, and real runs come to tens; a hostile trace could have 10^6 of them for
// each of 10^6 requests.
const maxLooks = 1024

// mappedRoom returns the free block that growing would end in without mapping
// anything: where the best fit was refused (a request below max_split_size_mb, a
// block above it), the allocator asks for more of the segment, and the free block
// before the first unmapped range that has room may be large enough by itself.
func (a *Allocator) mappedRoom(h int32, size int64) BlockID {
	hp := a.heaps[h]
	at := hp.unmapped.ceil(0, 0)
	for range maxLooks {
		b := BlockID(hp.unmapped.at(at))
		if b == None {
			return None
		}
		at = hp.unmapped.next(at)
		p := a.blocks[b].prev
		if p == None {
			continue // a replay's space reaches down to 0; PyTorch's begins with what was mapped first
		}
		if a.blocks[p].state == free {
			b = p
		}
		if a.hasRoom(b, size) {
			if a.blocks[b].state == free && a.blocks[b].size >= size {
				return b
			}
			return None
		}
	}
	return None
}

// bestFit returns the smallest free block of heap h that may serve a rounded
// request; of equal ones, that with the lowest address.
func (a *Allocator) bestFit(h *heap, size int64) (BlockID, cursor) {
	at := h.free.ceil(uint64(size), 0)
	id := BlockID(h.free.at(at))
	if id != None && a.blocks[id].expandable {
		id, at = a.pickExpandable(h, id, at)
	}
	if id == None {
		return None, at
	}
	// One candidate is tried, never a second.
	switch b := &a.blocks[id]; {
	case size < a.cfg.MaxSplitBytes && b.size >= a.cfg.MaxSplitBytes,
		size >= a.cfg.MaxSplitBytes && b.size >= size+a.cfg.MaxNonSplitRoundingBytes:
		return None, at
	}
	return id, at
}

// pickExpandable goes on from a best fit in an expandable segment: a block that
// could grow counts as large as it could become, so that holes are filled first.
// With expandable segments turned off since, such blocks are passed over.
func (a *Allocator) pickExpandable(h *heap, id BlockID, at cursor) (BlockID, cursor) {
	for range maxLooks {
		after := h.free.next(at)
		next := BlockID(h.free.at(after))
		if !h.expandable {
			if next == None || !a.blocks[next].expandable {
				return next, after
			}
		} else if next == None || !a.blocks[id].expandable || a.extent(next) >= a.extent(id) {
			return id, at
		}
		id, at = next, after
	}
	if !h.expandable {
		return None, at
	}
	return id, at
}

// extent is how large a block could become without moving.
func (a *Allocator) extent(id BlockID) int64 {
	b := &a.blocks[id]
	if n := b.next; n != None && a.blocks[n].state == unmapped {
		return b.size + a.blocks[n].size
	}
	return b.size
}

// handOut makes free block id, which is in no set, serve a request with its
// front; what is behind becomes free where it is split off.
func (a *Allocator) handOut(id BlockID, size, requested int64) {
	if a.splits(&a.blocks[id], size) {
		a.list(a.cutTail(id, size))
	}
	a.setLive(id, requested)
}

func (a *Allocator) setLive(id BlockID, requested int64) {
	b := &a.blocks[id]
	b.requested = requested
	b.state = allocated
	a.requested += requested
	a.allocated += b.size
	a.active += b.size
	a.live.put(b.addr, id)
}

// splits tells whether the rest of block b is split off a rounded request.
func (a *Allocator) splits(b *block, size int64) bool {
	rest := b.size - size
	h := a.heaps[b.heap]
	switch {
	case h.whole:
		return false
	case h.small || h.expandable:
		return rest >= minBlockBytes
	}
	return size < a.cfg.MaxSplitBytes && rest > smallRequestBytes
}

// FreeRequested tells that the program let go of block b. The block stays in
// use until FreeCompleted: other streams may still read it.
func (a *Allocator) FreeRequested(b BlockID) error {
	if b < 0 || int(b) >= len(a.blocks) || a.blocks[b].state != allocated {
		return ErrNotLive
	}
	a.grown = None
	a.blocks[b].state = pending
	a.allocated -= a.blocks[b].size
	return nil
}

// FreeCompleted makes block b free and joins it with its free neighbours. A
// block whose free was not requested is taken to be so.
func (a *Allocator) FreeCompleted(b BlockID) error {
	if b < 0 || int(b) >= len(a.blocks) || !a.blocks[b].live() {
		return ErrNotLive
	}
	k := &a.blocks[b]
	if k.state == allocated {
		a.allocated -= k.size
	}
	a.active -= k.size
	a.requested -= k.requested
	k.requested = 0
	k.state = free
	a.live.remove(k.addr)
	a.merge(b)
	a.list(b)
	return nil
}
