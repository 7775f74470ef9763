package snapshot

import (
	"testing"

	"github.com/ullage-dev/ullage/internal/value"
)

// TestListInBatches hands lists over in batches, which readers do at other places for
// every file: what the first batch became must not decide what the list is.
func TestListInBatches(t *testing.T) {
	b := newBuilder(Options{})
	list := func(so value.Value, items ...value.Value) value.Value {
		t.Helper()
		v, err := b.List(so, items)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	one, two, three := value.SmallInt(1), value.SmallInt(2), value.SmallInt(3)
	text := b.pool.String([]byte("x"))
	inner := list(value.Nothing, list(value.Nothing, one, two), three)
	tests := []struct {
		name string
		v    value.Value
		want string
	}{
		{"a pair", list(value.Nothing, one, two), "(1, 2)"},
		{"a pair that goes on", list(list(value.Nothing, one, two), three), "[1, 2, 3]"},
		{"nothing, then something", list(list(value.Nothing), one), "[1]"},
		{"something, then nothing", list(list(value.Nothing, one)), "[1]"},
		{"a list of kinds", list(list(value.Nothing, one), text, value.True), `[1, "x", True]`},
		{"a list within", list(value.Nothing, inner), "[[(1, 2), 3]]"},
	}
	for _, tt := range tests {
		if got := b.text(tt.v); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// What has a table of its own stays what it is, less what does not belong.
	lines := list(value.Nothing, text, text)
	if got := list(lines, one); got != lines || b.odd[oddMixedList].count != 1 {
		t.Errorf("lines of text, then a number: %v, noted %d times", got, b.odd[oddMixedList].count)
	}
}
