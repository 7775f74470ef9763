package allocator

import "math/bits"

// addrMap finds the live block at an address: open addressing with linear
// probing and deletion by shifting back, so that nothing is left behind by the
// millions of blocks that come and go. A Go map took three times as long here.
//
// Address 0 is never a block. The zero addrMap is empty and ready for use.
type addrMap struct {
	slots []addrSlot // length a power of two, at most 5/8 full
	shift uint8      // 64 - log2(len(slots))
	n     int
}

type addrSlot struct {
	addr uint64
	id   BlockID
}

// home returns where addr would be if nothing else were. Addresses are multiples
// of 512 and often of 2 MiB: multiplying by 2^64/phi spreads all their bits into
// the upper ones.
func (m *addrMap) home(addr uint64) int {
	return int(addr * 0x9e3779b97f4a7c15 >> m.shift)
}

// get returns the block at addr, or None.
func (m *addrMap) get(addr uint64) BlockID {
	if m.n == 0 || addr == 0 {
		return None
	}
	mask := len(m.slots) - 1
	for i := m.home(addr); ; i = (i + 1) & mask {
		switch s := &m.slots[i]; s.addr {
		case addr:
			return s.id
		case 0:
			return None
		}
	}
}

// put adds a block at an address where the map has none.
func (m *addrMap) put(addr uint64, id BlockID) {
	if (m.n+1)*8 > len(m.slots)*5 {
		m.grow()
	}
	m.place(addr, id)
	m.n++
}

func (m *addrMap) place(addr uint64, id BlockID) {
	mask := len(m.slots) - 1
	i := m.home(addr)
	for m.slots[i].addr != 0 {
		i = (i + 1) & mask
	}
	m.slots[i] = addrSlot{addr, id}
}

func (m *addrMap) grow() {
	old := m.slots
	size := max(2*len(old), 64)
	m.slots = make([]addrSlot, size)
	m.shift = uint8(64 - bits.Len(uint(size-1)))
	for _, s := range old {
		if s.addr != 0 {
			m.place(s.addr, s.id)
		}
	}
}

// remove takes out the block at addr, if there is one, and moves back the slots
// that had to make way for it.
func (m *addrMap) remove(addr uint64) {
	if m.n == 0 || addr == 0 {
		return
	}
	mask := len(m.slots) - 1
	i := m.home(addr)
	for m.slots[i].addr != addr {
		if m.slots[i].addr == 0 {
			return
		}
		i = (i + 1) & mask
	}
	m.n--
	for j := i; ; {
		j = (j + 1) & mask
		s := m.slots[j]
		if s.addr == 0 {
			break
		}
		if (j-m.home(s.addr))&mask >= (j-i)&mask {
			m.slots[i], i = s, j
		}
	}
	m.slots[i] = addrSlot{}
}
