package analyze

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
)

// TestRemediesInForce goes through the whole catalogue: no remedy asks for a setting that
// the run had, or takes away one that it had not.
func TestRemediesInForce(t *testing.T) {
	both := inForce{expandable: true, maxSplit: true, noRoundup: true}
	dropped := 0
	for _, r := range rules.All() {
		f := rules.Complete(rules.Finding{Rule: r.ID})
		before := len(f.Remedies)
		both.adapt(&f)
		dropped += before - len(f.Remedies)
		for _, m := range f.Remedies {
			sets := strings.Contains(m.Do, "expandable_segments:True") || strings.Contains(m.Do, "set `max_split_size_mb`")
			if sets || strings.Contains(m.Do, "emove `roundup_power2_divisions`") {
				t.Errorf("%s: %s", r.ID, m.Do)
			}
		}
		unknown := rules.Complete(rules.Finding{Rule: r.ID})
		if len(unknown.Remedies) != before {
			t.Fatalf("%s: the catalogue itself was changed", r.ID)
		}
		inForce{}.adapt(&unknown)
		if len(unknown.Remedies) != before {
			t.Errorf("%s: remedies dropped though nothing is known", r.ID)
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}

// TestSplitBesideExpandable says in place of a setting that is on what hinders it.
func TestSplitBesideExpandable(t *testing.T) {
	rec := readRecording(t, "../../testdata/gpu/train_split_and_expandable.pickle.xz")
	x, err := Explain(timeline.Build(rec, rec.Devices[0]), NewSites(rec), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := x.finding("frag/pinned-segment")
	if f == nil || len(f.Remedies) == 0 || f.Remedies[0] != dropMaxSplit {
		t.Fatalf("%+v", f)
	}
}

// TestTextRemediesInForce does the same for what a log shows as set.
func TestTextRemediesInForce(t *testing.T) {
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free. Process 1 has 22.50 GiB memory in use. Of the allocated memory 14.00 GiB is allocated by PyTorch, and 8.00 GiB is reserved by PyTorch but unallocated.\n"
	for _, c := range []struct {
		conf string
		want bool // the advice
	}{
		{"", true},
		{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n", false},
		{"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n", true},
	} {
		res := readText(t, c.conf+oom)
		got := false
		for _, f := range res.Findings {
			for _, r := range f.Remedies {
				got = got || asksForExpandable(r.Do)
			}
		}
		if got != c.want {
			t.Errorf("%q: advice %v, want %v: %+v", c.conf, got, c.want, res.Findings)
		}
	}
}
