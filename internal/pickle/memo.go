package pickle

import "github.com/ullage-dev/ullage/internal/value"

// memo is what PUT writes and GET reads. Recordings of GPU memory have two to three
// slots an event, nearly all of which are never read again, so a slot takes four
// bytes; a chunk in which some value needs more is kept in eight.
type memo struct {
	narrow [][]uint32 // by chunk; nil where the chunk is empty or wide
	wide   [][]value.Value
	used   int // slots that hold something
}

const (
	memoBits  = 13 // 32 KiB a chunk, the largest size that the runtime's allocator pools
	memoChunk = 1 << memoBits

	// memoSlack is how far beyond twice the used slots an index may lie. Writers
	// number their slots from 0; a pickle that scatters them would cost a
	// chunk for each.
	memoSlack = 1 << 16

	maxNarrow = 1<<32 - 1
)

// get returns Nothing for a slot that was never put.
func (m *memo) get(i uint32) value.Value {
	if c := int(i >> memoBits); c < len(m.narrow) && m.narrow[c] != nil {
		return value.Value(m.narrow[c][i%memoChunk])
	}
	return m.getWide(i)
}

func (m *memo) getWide(i uint32) value.Value {
	if c := int(i >> memoBits); c < len(m.wide) && m.wide[c] != nil {
		return m.wide[c][i%memoChunk]
	}
	return value.Nothing
}

// roomFor tells whether slot i is near enough to the slots used so far.
func (m *memo) roomFor(i uint32) bool { return int64(i) <= 2*int64(m.used)+memoSlack }

// set writes slot i and returns what it held.
func (m *memo) set(i uint32, v value.Value) (old value.Value) {
	c := int(i >> memoBits)
	if c >= len(m.narrow) || m.narrow[c] == nil || v > maxNarrow {
		return m.setSlow(i, v)
	}
	at := &m.narrow[c][i%memoChunk]
	old = value.Value(*at)
	*at = uint32(v)
	if old == value.Nothing {
		m.used++
	}
	return old
}

func (m *memo) setSlow(i uint32, v value.Value) (old value.Value) {
	c := int(i >> memoBits)
	for c >= len(m.narrow) {
		m.narrow = append(m.narrow, nil)
		m.wide = append(m.wide, nil)
	}
	switch {
	case m.wide[c] != nil:
	case v <= maxNarrow:
		m.narrow[c] = make([]uint32, memoChunk)
		return m.set(i, v)
	default:
		w := make([]value.Value, memoChunk)
		for k, x := range m.narrow[c] {
			w[k] = value.Value(x)
		}
		m.narrow[c], m.wide[c] = nil, w
	}
	at := &m.wide[c][i%memoChunk]
	old, *at = *at, v
	if old == value.Nothing {
		m.used++
	}
	return old
}
