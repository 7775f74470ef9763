package table

import (
	"testing"

	"github.com/ullage-dev/ullage/internal/analyze"
)

// TestPins: what blocks pin adds up to the free memory that explain says is pinned, and
// pin: finds those that pin any.
func TestPins(t *testing.T) {
	for _, name := range []string{"bert_varlen-lim16", "gpu/oom_checkerboard", "leak_eval_outputs-oom", "resnet50"} {
		tables := tablesOf(t, name)
		x, err := analyze.Explain(tables.tl, tables.in.Sites, analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := x.Fragmented.Event
		a := ask(t, tables, Request{What: Blocks, At: &at})
		column := place(t, a, "pinned_bytes")
		var sum int64
		pinning := 0
		for _, row := range all(t, tables, Request{What: Blocks, At: &at, Sort: "-pinned_bytes"}) {
			n := row[column].(int64)
			sum += n
			if n > 0 {
				pinning++
			}
		}
		if x.Accounting.PendingFreeBytes == 0 && sum != x.Fragmented.PinnedBytes || sum == 0 {
			t.Errorf("%s: at e%d %d bytes are pinned, explain has %d", name, at, sum, x.Fragmented.PinnedBytes)
		}
		if got := ask(t, tables, Request{What: Blocks, At: &at, Query: "pin:"}); got.Matching != pinning {
			t.Errorf("%s: pin: finds %d blocks, of %d that pin", name, got.Matching, pinning)
		}
	}
}
