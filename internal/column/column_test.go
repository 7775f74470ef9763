package column

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestColumnKeepsValues appends values of every width and reads them back both ways.
func TestColumnKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 100, 200, ChunkLen - 1, ChunkLen, ChunkLen + 1, 3*ChunkLen + 7}).Draw(t, "n")
		base := rapid.Uint64().Draw(t, "base")
		bits := rapid.IntRange(0, 64).Draw(t, "bits")
		shift := rapid.IntRange(0, 20).Draw(t, "shift")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		want := make([]uint64, n)
		var c Column
		for i := range want {
			v := r.Uint64()
			if bits < 64 {
				v &= 1<<bits - 1
			}
			want[i] = base + v<<shift
		}
		for at := 0; at < n; {
			step := min(n-at, rapid.SampledFrom([]int{1 + n/10, ChunkLen, n}).Draw(t, "step"))
			switch how := rapid.IntRange(0, 2).Draw(t, "how"); {
			case step == 1:
				c.Append(want[at])
			case how == 0:
				for i := range step {
					want[at+i] = base
				}
				c.AppendSame(base, step)
			default:
				c.AppendAll(want[at : at+step])
			}
			at += step
		}
		c.Trim()
		if c.Len() != n {
			t.Fatalf("Len() = %d, want %d", c.Len(), n)
		}
		buf := make([]uint64, ChunkLen)
		i := 0
		for k := range c.Chunks() {
			for _, got := range c.Chunk(k, buf) {
				if got != want[i] || c.At(i) != want[i] {
					t.Fatalf("value %d: Chunk %d, At %d, want %d", i, got, c.At(i), want[i])
				}
				i++
			}
		}
		if i != n {
			t.Fatalf("chunks held %d values, want %d", i, n)
		}
	})
}

// TestColumnIsNarrow pins the memory of the columns that matter: block addresses take 4 bytes each.
func TestColumnIsNarrow(t *testing.T) {
	var addr, stream Column
	for i := range uint64(ChunkLen) {
		addr.Append(0x7f0000000000 + (i*7919%4_000_000_000)*512)
		stream.Append(3)
	}
	addr.Trim()
	stream.Trim()
	if got := bytesOf(&addr); got != 4*ChunkLen {
		t.Errorf("addresses take %d bytes, want %d", got, 4*ChunkLen)
	}
	if got := bytesOf(&stream); got != 0 {
		t.Errorf("a constant column takes %d bytes, want 0", got)
	}
}

// bytesOf returns the memory that a column's values take.
func bytesOf(c *Column) int {
	n := cap(c.open) * 8
	for i := range c.sealed {
		n += len(c.sealed[i].data)
	}
	return n
}

// BenchmarkChunk unpacks addresses, the widest column there is. Budget: 0.8 ns a value,
// 10 GB/s of what comes out; a replay reads seven columns of each event.
func BenchmarkChunk(b *testing.B) {
	var c Column
	for i := range uint64(64 * ChunkLen) {
		c.Append(0x7f0000000000 + i*512)
	}
	buf := make([]uint64, ChunkLen)
	b.SetBytes(8 * 64 * ChunkLen)
	for b.Loop() {
		for k := range c.Chunks() {
			c.Chunk(k, buf)
		}
	}
}
