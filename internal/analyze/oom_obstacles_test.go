package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
)

func explainRecording(t *testing.T, name string) *Explanation {
	t.Helper()
	s := recording(t, name)
	x, err := Explain(s.TL, s.Sites, Options{Top: 10})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// findingOf returns the first finding of a rule, and its place in the list.
func findingOf(t *testing.T, x *Explanation, rule string) (rules.Finding, int) {
	t.Helper()
	i := slices.IndexFunc(x.Findings, func(f rules.Finding) bool { return f.Rule == rule })
	if i < 0 {
		t.Fatalf("no finding %s", rule)
	}
	return x.Findings[i], i
}

// TestObstacles: optimizer state that was allocated among the first step's activations
// lies beside more of the free memory than any other line's blocks. A count from the raw
// events alone, which takes ends of blocks under 1 MiB for free too, gives 224 MiB in 92
// segments.
func TestObstacles(t *testing.T) {
	x := explainRecording(t, "bert_varlen-lim16")
	f, _ := findingOf(t, x, "oom/fragmentation")
	var got []string
	for _, e := range f.Evidence {
		if strings.HasPrefix(e, "in the way") {
			got = append(got, e)
		}
	}
	if len(got) != maxObstacles || got[0] != "in the way: blocks of workloads.py:72 step → adam.step, with 222.31 MiB free beside them in 90 segments" {
		t.Errorf("got %q", got)
	}
}

// TestObstaclesAddUp: the lines share all of what was free, and no more: the small pool's
// free memory, of no use to this request, is not among it.
func TestObstaclesAddUp(t *testing.T) {
	for _, name := range []string{"bert_varlen-lim16", "leak_eval_outputs-oom"} {
		x := explainRecording(t, name)
		o := x.OOMs.Fatal
		byName := make(map[string]*obstacle)
		s := x.TL.StateAt(o.Event)
		for n := range s.Segments {
			if g := &s.Segments[n]; !g.Small {
				x.addObstacles(g, byName)
			}
		}
		sum := int64(0)
		for _, v := range byName {
			sum += v.freeBytes
		}
		if d := o.SameFreeBytes - sum; d < 0 || d > int64(len(s.Segments)*len(byName)) {
			t.Errorf("%s: %d of %d bytes are shared out", name, sum, o.SameFreeBytes)
		}
	}
}

// TestLeakComesBeforeItsEnd: a failure that a leak led to is told after the leak, and a
// setting that only puts it off says for how long.
func TestLeakComesBeforeItsEnd(t *testing.T) {
	x := explainRecording(t, "leak_eval_outputs-oom")
	_, leak := findingOf(t, x, "leak/growing-site")
	oom, at := findingOf(t, x, "oom/fragmentation")
	if leak > at {
		t.Errorf("the leak is finding %d, the failure %d", leak, at)
	}
	i := slices.IndexFunc(oom.Remedies, func(r rules.Remedy) bool { return strings.Contains(r.Do, "expandable_segments") })
	// 230 MiB are free, and each step keeps 32.75 MiB.
	if i < 0 || !strings.HasSuffix(oom.Remedies[i].Effect, ", which the leak fills in 7 steps") {
		t.Errorf("remedies are %v", oom.Remedies)
	}
}

// TestFragmentationOfLittle: where what was free in pieces is next to nothing, the
// verdict says that one piece would not have helped for long.
func TestFragmentationOfLittle(t *testing.T) {
	for segment, want := range map[string]bool{"16.@step 4000a@step 18.@step": true, "16.@step 1000a@step 18.@step": false} {
		s := newScene()
		s.segment(0, 0, segment)
		s.oom(30, 500, 0, 0)
		x := explained(t, s, Options{})
		if x.OOMs.Fatal.Cause != Fragmentation || strings.Contains(x.Verdict.Text, "would not have lasted long") != want {
			t.Errorf("%s: %s", segment, x.Verdict.Text)
		}
	}
}

// TestCapital leaves names as they are written.
func TestCapital(t *testing.T) {
	for in, want := range map[string]string{"": "", "rank 1 leaks": "Rank 1 leaks", "run_rank1.pickle works on GPU 1": "run_rank1.pickle works on GPU 1"} {
		if got := capital(in); got != want {
			t.Errorf("capital(%q) = %q", in, got)
		}
	}
}
