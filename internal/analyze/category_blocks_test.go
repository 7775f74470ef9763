package analyze

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	madeup "github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestBlocksAsHolders: at the peak the categories of single blocks add up to what
// Holders says, on runs of every kind.
func TestBlocksAsHolders(t *testing.T) {
	for _, name := range []string{"bert_varlen-lim16", "bert_varlen-ring", "cudagraph", "ddp-rank0", "fsdp2-rank0", "leak_eval_outputs-oom", "resnet50", "vit"} {
		t.Run(name, func(t *testing.T) {
			run := recording(t, name)
			at := run.TL.Peak.Allocated.Event
			blocks := CategorizeBlocks(run.TL, run.Sites)
			got, want := map[string]int64{}, map[string]int64{}
			for _, i := range liveAt(run.TL, at) {
				got[blocks.Of(i).String()] += run.TL.Life(i).SizeBytes
				got["because "+blocks.Reason(i)] += run.TL.Life(i).SizeBytes
			}
			for _, c := range NewHeld(run.TL, run.Sites, at).Categories() {
				want[c.Category.String()] = c.Bytes
				for _, r := range c.Reasons {
					want["because "+r.Text] += r.Bytes
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("bytes by category and reason (-holders +blocks):\n%s", diff)
			}
		})
	}
}

// BenchmarkCategorizeBlocks judges every block of a run of 1.5 million. Budget, on one
// core of an AMD EPYC at about 3 GHz: 0.5 µs a block.
func BenchmarkCategorizeBlocks(b *testing.B) {
	run := madeRun(b, 5_000_000)
	for b.Loop() {
		CategorizeBlocks(run.TL, run.Sites)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(run.TL.NumBlocks()), "ns/block")
}

func madeRun(b *testing.B, events int) DiffSide {
	r, w := io.Pipe()
	go func() {
		_, err := (madeup.Run{Events: events}).WritePickle(w)
		w.CloseWithError(err)
	}()
	rec, err := snapshot.Read(r, snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return replayed(rec)
}
