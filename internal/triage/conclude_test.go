package triage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/rules"
)

func ids(causes []Cause) (all []string) {
	for _, c := range causes {
		all = append(all, c.Rule.ID)
	}
	return all
}

// TestSightsOutweighAnswers: what was seen comes first, and is certain only where the
// answers lead there too.
func TestSightsOutweighAnswers(t *testing.T) {
	list := Sight{Rule: "leak/list-with-graph", Confidence: rules.High, Severity: rules.Warning, Source: "train.py:12", Text: "losses keep their graphs", Code: true}
	answers := Answers{Root: "grows", "what": "allocated", "where": "training", "loop": "sum"}
	for _, c := range []struct {
		name    string
		answers Answers
		sights  []Sight
		want    []string
		sure    rules.Confidence
	}{
		{"answers alone", answers, nil, []string{"leak/loss-with-graph", "leak/list-with-graph"}, rules.Medium},
		{"the second of the answers was seen", answers, []Sight{list}, []string{"leak/list-with-graph", "leak/loss-with-graph"}, rules.High},
		{"seen, and nothing is told of what happens", nil, []Sight{list}, []string{"leak/list-with-graph"}, rules.Medium},
		{"seen, and the answers are not at their end", Answers{Root: "killed"}, []Sight{list}, []string{"leak/list-with-graph", "oom/host-killed", "host/pinned-rounding", "conf/small-shm", "rec/unbounded"}, rules.Medium},
		{"seen, and the answers lead elsewhere", Answers{Root: "killed", "host": "pinned"}, []Sight{list}, []string{"leak/list-with-graph", "host/pinned-rounding", "oom/host-killed"}, rules.Medium},
		{"barely seen, and the answers lead elsewhere", Answers{Root: "killed", "host": "pinned"}, []Sight{{Rule: "leak/list-with-graph", Confidence: rules.Low, Source: "a.py:1"}}, []string{"host/pinned-rounding", "oom/host-killed", "leak/list-with-graph"}, rules.Medium},
		{"many places are no more than one", answers, []Sight{{Rule: "leak/retain-graph", Confidence: rules.Medium, Severity: rules.Warning, Source: "a.py:1", Code: true}, {Rule: "leak/retain-graph", Confidence: rules.Medium, Severity: rules.Warning, Source: "a.py:2", Code: true}, list}, []string{"leak/list-with-graph", "leak/loss-with-graph", "leak/retain-graph"}, rules.High},
		{"where a recording shows the harm", nil, []Sight{list, {Rule: "leak/retain-graph", Confidence: rules.Medium, Severity: rules.Warning, Source: "a.py:1", Code: true, Tied: true}}, []string{"leak/retain-graph", "leak/list-with-graph"}, rules.Medium},
		{"a symptom speaks for the causes that fit it", Answers{Root: "slow", "slow": "shapes"}, []Sight{{Rule: "peak/workspace", Confidence: rules.High, Source: "a.pickle", Causes: []string{"peak/cudnn-benchmark"}}}, []string{"peak/cudnn-benchmark", "leak/compile-cache", "frag/variable-shapes"}, rules.Medium},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Conclude(c.answers, c.sights)
			if diff := cmp.Diff(c.want, ids(out.Causes)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if out.Causes[0].Confidence != c.sure {
				t.Errorf("%s has confidence %s, want %s", out.Causes[0].Rule.ID, out.Causes[0].Confidence, c.sure)
			}
		})
	}
}

// TestHalfway: before the end, all that is left is weighed, and none of it is more than a
// guess.
func TestHalfway(t *testing.T) {
	out := Conclude(Answers{Root: "grows", "what": "allocated"}, nil)
	if len(out.Open) == 0 || out.Open[0].Key != "where" || len(out.Causes) != maxCauses {
		t.Fatalf("%d open, causes %v", len(out.Open), ids(out.Causes))
	}
	for _, c := range out.Causes {
		if c.Confidence != rules.Low || c.Rule.Family() != "leak" {
			t.Errorf("%s is left with confidence %s", c.Rule.ID, c.Confidence)
		}
	}
	if !slices.Contains(ids(out.Causes), "leak/list-with-graph") {
		t.Errorf("left are %v", ids(out.Causes))
	}
	if out := Conclude(nil, nil); len(out.Causes) > 0 {
		t.Errorf("without any answer there is nothing to tell: %v", ids(out.Causes))
	}
}

func TestUnused(t *testing.T) {
	out := Conclude(Answers{Root: "killed", "host": "pinned", "loop": "sum", "grad": "no"}, nil)
	if diff := cmp.Diff([]string{"loop", "grad"}, out.Unused); diff != "" {
		t.Error(diff)
	}
}

// TestRead: what was found answers questions; the gravest finding first.
func TestRead(t *testing.T) {
	log := func(rule, text string) Sight {
		return Sight{Rule: rule, Severity: rules.Error, Confidence: rules.High, Source: "a.log", Text: text}
	}
	growing := Sight{Rule: "leak/growing-site", Severity: rules.Warning, Confidence: rules.High, Source: "a.pickle"}
	code := func(rule string) Sight {
		return Sight{Rule: rule, Severity: rules.Warning, Confidence: rules.High, Source: "train.py:3", Code: true}
	}
	for _, c := range []struct {
		name   string
		sights []Sight
		want   Answers
	}{
		{"nothing", nil, Answers{}},
		{"an error, and growth before it", []Sight{growing, log("oom/true-shortage", "")}, Answers{Root: "oom", "error": "torch", "message": "full", "when": "later", "what": "allocated"}},
		{"growth that may be none", []Sight{{Rule: "leak/growing-site", Severity: rules.Info, Confidence: rules.Low}}, Answers{}},
		{"growth that does little harm", []Sight{{Rule: "leak/growing-site", Severity: rules.Info, Confidence: rules.High}}, Answers{"when": "later", "what": "allocated"}},
		{"what makes the peak", []Sight{{Rule: "peak/logits-fp32", Severity: rules.Info, Confidence: rules.Medium}}, Answers{"first": "vocabulary"}},
		{"growth alone", []Sight{growing}, Answers{Root: "grows", "when": "later", "what": "allocated"}},
		{"a library", []Sight{log("oom/hidden", "NCCL found no memory for its buffers")}, Answers{Root: "oom", "error": "library", "library": "nccl"}},
		{"a library that is not known", []Sight{log("oom/hidden", "cuSPARSE found no memory")}, Answers{Root: "oom", "error": "library"}},
		{"one mistake in the source", []Sight{code("leak/loss-with-graph")}, Answers{"loop": "sum"}},
		{"the same mistake twice", []Sight{code("leak/loss-with-graph"), code("leak/loss-with-graph")}, Answers{"loop": "sum"}},
		{"two mistakes do not tell which", []Sight{code("leak/loss-with-graph"), code("leak/list-with-graph")}, Answers{}},
		{"a recording is no source", []Sight{{Rule: "leak/loss-with-graph", Confidence: rules.High}}, Answers{}},
		{"another program on this machine", []Sight{{Rule: "leak/growing-site", Severity: rules.Warning, Confidence: rules.High, Here: true}}, Answers{}},
		{"evaluation in the source", []Sight{code("leak/eval-without-no-grad")}, Answers{"grad": "no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Answers{}
			for _, k := range Read(c.sights) {
				if err := CheckAnswer(k.Key, k.Value); err != nil {
					t.Error(err)
				}
				got[k.Key] = k.Value
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTold: every answer that a finding gives is an answer that there is.
func TestTold(t *testing.T) {
	for rule, answers := range told {
		for key, value := range answers {
			if err := CheckAnswer(key, value); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
	for _, l := range libraries {
		if err := CheckAnswer("library", l.value); err != nil {
			t.Error(err)
		}
	}
}
