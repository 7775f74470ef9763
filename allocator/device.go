package allocator

// Device is what a Simulator gets memory from: the driver, in a simulation. All
// sizes are in bytes.
type Device interface {
	// Total is the size of the device's memory.
	Total() int64
	// Free is what could still be had, as cudaMemGetInfo tells it.
	Free() int64
	// Malloc is cudaMalloc; false is out of memory.
	Malloc(size int64) (addr uint64, ok bool)
	// Release is cudaFree of a whole Malloc.
	Release(addr uint64, size int64)
	// Reserve takes addresses without memory.
	Reserve(size int64) (addr uint64, ok bool)
	// Unreserve gives them back.
	Unreserve(addr uint64, size int64)
	// Map puts memory behind reserved addresses, all or nothing.
	Map(addr uint64, size int64) bool
	// Unmap takes it away.
	Unmap(addr uint64, size int64)
	// Claim tells of memory, mapped or not, that is in use at the start, and of
	// addresses that no later call may return.
	Claim(addr uint64, mapped, reserved int64)
}

// AddressOrder is how a SimDevice chooses addresses. The caching allocator breaks
// ties among free blocks of one size by address, so a result that changes with
// the order is not determined by the recording; the spread is its error.
type AddressOrder uint8

// Address orders.
const (
	// LikeDriver places segments as CUDA's driver was seen to: see chunks. On an
	// H200 with driver 580, 97.0 % of 94,280 pairs of equal segments came to lie in
	// the same order as recorded; with Descending 94.2 %, with Ascending 5.8 %.
	LikeDriver AddressOrder = iota
	Ascending               // each segment above those before it
	Descending              // each below
	Shuffled                // in an order that depends on the seed
)

// SimDevice is a device with a given amount of memory and nothing else.
type SimDevice struct {
	total, free int64
	order       AddressOrder
	low, high   uint64 // the next addresses downwards and upwards
	chunks      chunks // for LikeDriver
	slot, seed  uint64 // for Shuffled
}

// Addresses are handed out upwards and downwards from the middle of a space that
// no simulation fills, or below claimed segments, unless those are so low that
// there might be no room. Shuffled ones come from 2^20 slots of 1 TiB.
const (
	middleAddr = uint64(1) << 60
	roomBelow  = uint64(1) << 44
	slotBits   = 20
	slotShift  = 40
)

// NewDevice returns a device of totalBytes, of which freeBytes can be had: the
// rest belongs to other processes, contexts and libraries. The seed is for
// Shuffled.
func NewDevice(totalBytes, freeBytes int64, order AddressOrder, seed uint64) *SimDevice {
	totalBytes = min(max(totalBytes, 0), maxBytes)
	return &SimDevice{
		total: totalBytes,
		free:  min(max(freeBytes, 0), totalBytes),
		order: order,
		low:   middleAddr,
		high:  middleAddr,
		seed:  seed,
	}
}

// Total returns the size of the device's memory.
func (d *SimDevice) Total() int64 { return d.total }

// Free returns what can still be had.
func (d *SimDevice) Free() int64 { return d.free }

// Malloc takes size bytes and returns where they are; false where fewer are free.
func (d *SimDevice) Malloc(size int64) (uint64, bool) {
	if size > d.free {
		return 0, false
	}
	d.free -= size
	if d.order == LikeDriver {
		return d.chunks.take(uint64(size), &d.low), true
	}
	return d.address(size), true
}

// Release gives back what a Malloc returned.
func (d *SimDevice) Release(addr uint64, size int64) {
	d.free += size
	if d.order == LikeDriver {
		d.chunks.give(addr, uint64(size))
	}
}

// Reserve returns addresses that were never used before. It never fails.
func (d *SimDevice) Reserve(size int64) (uint64, bool) { return d.address(size), true }

// Unreserve does nothing: there are always more addresses.
func (d *SimDevice) Unreserve(uint64, int64) {}

// Map takes size bytes for reserved addresses; false where fewer are free.
func (d *SimDevice) Map(_ uint64, size int64) bool {
	if size > d.free {
		return false
	}
	d.free -= size
	return true
}

// Unmap gives back size bytes that Map took.
func (d *SimDevice) Unmap(_ uint64, size int64) { d.free += size }

// Claim takes mapped bytes that are in use at the start, and the reserved bytes of
// addresses from addr on. What is handed out later lies above them, or below.
func (d *SimDevice) Claim(addr uint64, mapped, reserved int64) {
	d.free -= mapped
	if addr >= roomBelow {
		d.low = min(d.low, addr&^(chunkBytes-1))
	}
	d.high = max(d.high, addr+uint64(reserved))
}

// address returns addresses that were never used before.
func (d *SimDevice) address(size int64) uint64 {
	n := alignUp(uint64(size), segmentRoundBytes)
	switch d.order {
	case Descending:
		d.low -= n
		return d.low
	case Shuffled:
		// An odd factor makes the slots of 2^20 calls in a row all different.
		k := (d.slot*(2*d.seed+0x9e3779b1) + d.seed) & (1<<slotBits - 1)
		d.slot++
		return middleAddr + 1<<(slotBits+slotShift) + k<<slotShift
	}
	addr := alignUp(d.high, segmentRoundBytes)
	d.high = addr + n
	return addr
}

func alignUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }
