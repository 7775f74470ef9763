// Package column keeps long columns of integers in little memory.
//
// A Column is appended to and then read; values are packed a chunk at a time by
// frame of reference: a chunk stores its smallest value, the power of two that
// divides every difference from it, and the differences in 0, 1, 2, 4 or 8 bytes,
// whichever is the narrowest that holds them all. Addresses of one GPU's blocks
// (multiples of 512 within a few TiB) take 4 bytes so, sizes 4, streams none.
//
// The zero Column is empty and ready for use. Appending is not safe for
// concurrent use; reading is, once appending has ended.
package column

import (
	"encoding/binary"
	"math/bits"
)

// ChunkLen is the number of values in every chunk but the last: large enough
// that a chunk's header (32 bytes) is nothing, small enough that one odd value
// does not widen a whole column.
const ChunkLen = 1 << 14

// Column is an append-only sequence of unsigned 64-bit integers.
type Column struct {
	sealed []chunk
	open   []uint64 // values not packed yet, fewer than ChunkLen
}

// chunk holds ChunkLen values as base + data[i]<<shift.
type chunk struct {
	base  uint64
	shift uint8
	width uint8 // bytes a value: 0, 1, 2, 4 or 8
	data  []byte
}

// Len returns the number of values appended.
func (c *Column) Len() int { return len(c.sealed)*ChunkLen + len(c.open) }

// Append adds v at the end.
func (c *Column) Append(v uint64) {
	if c.open == nil {
		c.open = make([]uint64, 0, ChunkLen)
	}
	c.open = append(c.open, v)
	if len(c.open) == ChunkLen {
		c.sealed = append(c.sealed, pack(c.open))
		c.open = c.open[:0]
	}
}

// AppendAll adds all of v at the end. It keeps nothing of v and is fastest where v
// has ChunkLen values and Len is a multiple of that.
func (c *Column) AppendAll(v []uint64) {
	switch {
	case len(c.open) == 0 && len(v) == ChunkLen:
		c.sealed = append(c.sealed, pack(v))
	case c.open == nil && len(v) < ChunkLen:
		c.open = append(make([]uint64, 0, len(v)), v...)
	default:
		for _, x := range v {
			c.Append(x)
		}
	}
}

// AppendSame adds n times v at the end.
func (c *Column) AppendSame(v uint64, n int) {
	for ; n > 0 && len(c.open) > 0; n-- {
		c.Append(v)
	}
	for ; n >= ChunkLen; n -= ChunkLen {
		c.sealed = append(c.sealed, chunk{base: v})
	}
	if n > 0 && c.open == nil {
		c.open = make([]uint64, 0, n)
	}
	for ; n > 0; n-- {
		c.Append(v)
	}
}

// Trim gives back what appending keeps in reserve. Call it when the column is complete.
func (c *Column) Trim() {
	if cap(c.open) > len(c.open) {
		c.open = append(make([]uint64, 0, len(c.open)), c.open...)
	}
}

// At returns value i. It panics if i is out of range.
func (c *Column) At(i int) uint64 {
	if k := i / ChunkLen; k < len(c.sealed) {
		return c.sealed[k].at(i % ChunkLen)
	}
	return c.open[i-len(c.sealed)*ChunkLen]
}

// Chunks returns the number of chunks: reading chunk by chunk is several times
// faster than reading value by value.
func (c *Column) Chunks() int { return (c.Len() + ChunkLen - 1) / ChunkLen }

// Chunk writes the values of chunk k to dst, which must hold ChunkLen values,
// and returns the part of dst that was written. Chunk k begins at value k*ChunkLen.
func (c *Column) Chunk(k int, dst []uint64) []uint64 {
	if k < len(c.sealed) {
		return c.sealed[k].unpack(dst)
	}
	return dst[:copy(dst, c.open)]
}

func pack(v []uint64) chunk {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	var or uint64
	for _, x := range v {
		or |= x - lo
	}
	if or == 0 {
		return chunk{base: lo}
	}
	shift := uint8(bits.TrailingZeros64(or))
	c := chunk{base: lo, shift: shift, width: widthOf((hi - lo) >> shift)}
	c.data = make([]byte, len(v)*int(c.width))
	switch c.width {
	case 1:
		for i, x := range v {
			c.data[i] = byte((x - lo) >> shift)
		}
	case 2:
		for i, x := range v {
			binary.LittleEndian.PutUint16(c.data[i*2:], uint16((x-lo)>>shift))
		}
	case 4:
		for i, x := range v {
			binary.LittleEndian.PutUint32(c.data[i*4:], uint32((x-lo)>>shift))
		}
	default:
		for i, x := range v {
			binary.LittleEndian.PutUint64(c.data[i*8:], (x-lo)>>shift)
		}
	}
	return c
}

func widthOf(v uint64) uint8 {
	switch n := bits.Len64(v); {
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	case n <= 32:
		return 4
	}
	return 8
}

func (c *chunk) at(i int) uint64 {
	switch c.width {
	case 0:
		return c.base
	case 1:
		return c.base + uint64(c.data[i])<<c.shift
	case 2:
		return c.base + uint64(binary.LittleEndian.Uint16(c.data[i*2:]))<<c.shift
	case 4:
		return c.base + uint64(binary.LittleEndian.Uint32(c.data[i*4:]))<<c.shift
	}
	return c.base + binary.LittleEndian.Uint64(c.data[i*8:])<<c.shift
}

func (c *chunk) unpack(dst []uint64) []uint64 {
	dst = dst[:ChunkLen]
	base, shift := c.base, c.shift&63
	switch c.width {
	case 0:
		for i := range dst {
			dst[i] = base
		}
	case 1:
		for i, x := range c.data[:ChunkLen] {
			dst[i] = base + uint64(x)<<shift
		}
	case 2:
		for i := range dst {
			dst[i] = base + uint64(binary.LittleEndian.Uint16(c.data[i*2:]))<<shift
		}
	case 4:
		for i := range dst {
			dst[i] = base + uint64(binary.LittleEndian.Uint32(c.data[i*4:]))<<shift
		}
	default:
		for i := range dst {
			dst[i] = base + binary.LittleEndian.Uint64(c.data[i*8:])<<shift
		}
	}
	return dst
}
