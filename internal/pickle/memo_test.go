package pickle

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/value"
)

// TestMemo compares the memo with a map: narrow and wide values, in any order of slots.
func TestMemo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m memo
		want := map[uint32]value.Value{}
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			i := rapid.SampledFrom([]uint32{0, 1, 2, memoChunk - 1, memoChunk, memoChunk + 1, 5*memoChunk + 3}).Draw(t, "slot")
			v := value.Of(value.KindObject, rapid.SampledFrom([]uint64{0, 1, 1<<29 - 1, 1 << 29, 1 << 60}).Draw(t, "payload"))
			if old := m.set(i, v); old != want[i] {
				t.Fatalf("slot %d held %v, want %v", i, old, want[i])
			}
			want[i] = v
		}
		if m.used != len(want) {
			t.Fatalf("%d slots are used, want %d", m.used, len(want))
		}
		for i := range uint32(6*memoChunk + 1) {
			if got := m.get(i); got != want[i] {
				t.Fatalf("slot %d holds %v, want %v", i, got, want[i])
			}
		}
	})
}

// TestMemoIsNarrow pins what a slot costs: four bytes.
func TestMemoIsNarrow(t *testing.T) {
	var m memo
	for i := range uint32(10 * memoChunk) {
		m.set(i, value.Of(value.KindObject, uint64(i)))
	}
	for c := range m.wide {
		if m.wide[c] != nil {
			t.Fatalf("chunk %d is wide", c)
		}
	}
	if m.roomFor(10*2*memoChunk+memoSlack+1) || !m.roomFor(10*2*memoChunk+memoSlack) {
		t.Error("the limit of an index is not twice what is used and the slack")
	}
}
