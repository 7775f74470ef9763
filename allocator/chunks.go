package allocator

import (
	"cmp"
	"slices"
)

// chunkBytes is what the driver's address space is divided into.
const chunkBytes = uint64(32 * mib)

// chunks chooses addresses as CUDA's driver does, as far as recordings show: a
// cudaMalloc goes to the lowest gap in a chunk that was begun, else to the front
// of a new chunk, of as many times 32 MiB as it needs, at the upper end of the
// highest free range of addresses. A chunk that becomes empty is free again.
type chunks struct {
	begun []extent // in order of address, as all of these
	gaps  []extent // free parts of begun chunks
	empty []extent // whole chunks that were given back
}

type extent struct{ addr, size uint64 }

func (e extent) end() uint64 { return e.addr + e.size }

// take returns addresses for size bytes. Unused ranges are taken from below low,
// which moves.
func (c *chunks) take(size uint64, low *uint64) uint64 {
	for i, g := range c.gaps {
		if g.size >= size {
			c.gaps[i] = extent{g.addr + size, g.size - size}
			if g.size == size {
				c.gaps = slices.Delete(c.gaps, i, i+1)
			}
			return g.addr
		}
	}
	n := alignUp(size, chunkBytes)
	addr := c.begin(n, low)
	insertExtent(&c.begun, extent{addr, n})
	if n > size {
		insertExtent(&c.gaps, extent{addr + size, n - size})
	}
	return addr
}

// begin returns the addresses of a new chunk.
func (c *chunks) begin(n uint64, low *uint64) uint64 {
	for i := len(c.empty) - 1; i >= 0; i-- {
		if e := &c.empty[i]; e.size >= n {
			e.size -= n
			addr := e.end()
			if e.size == 0 {
				c.empty = slices.Delete(c.empty, i, i+1)
			}
			return addr
		}
	}
	*low -= n
	return *low
}

// give takes addresses back. Those of no chunk were claimed, and are not used again.
func (c *chunks) give(addr, size uint64) {
	i, _ := slices.BinarySearchFunc(c.begun, addr, func(e extent, addr uint64) int {
		if e.end() <= addr {
			return -1
		}
		return 1
	})
	if i == len(c.begun) || c.begun[i].addr > addr {
		return
	}
	chunk := c.begun[i]
	k := insertExtent(&c.gaps, extent{addr, size})
	k = joinExtents(&c.gaps, k, chunk)
	if c.gaps[k] == chunk {
		c.gaps = slices.Delete(c.gaps, k, k+1)
		c.begun = slices.Delete(c.begun, i, i+1)
		joinExtents(&c.empty, insertExtent(&c.empty, chunk), extent{0, ^uint64(0)})
	}
}

func insertExtent(all *[]extent, e extent) int {
	i, _ := slices.BinarySearchFunc(*all, e, func(a, b extent) int { return cmp.Compare(a.addr, b.addr) })
	*all = slices.Insert(*all, i, e)
	return i
}

// joinExtents joins extent i with those that touch it inside of within, and
// returns its new place.
func joinExtents(all *[]extent, i int, within extent) int {
	s := *all
	if i+1 < len(s) && s[i].end() == s[i+1].addr && s[i+1].addr < within.end() {
		s[i].size += s[i+1].size
		s = slices.Delete(s, i+1, i+2)
	}
	if i > 0 && s[i-1].end() == s[i].addr && s[i-1].addr >= within.addr {
		s[i-1].size += s[i].size
		s = slices.Delete(s, i, i+1)
		i--
	}
	*all = s
	return i
}
