package triage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/rules"
)

// TestProperties: whatever is answered and seen, the same comes out of the same, a handful at
// most, with a reason for each, and certain only at the end of a walk.
func TestProperties(t *testing.T) {
	catalogue := rules.All()
	rapid.Check(t, func(t *rapid.T) {
		answers := Answers{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(tree)-1), 0, 12).Draw(t, "questions") {
			answers[tree[i].Key] = rapid.SampledFrom(tree[i].Values()).Draw(t, tree[i].Key)
		}
		sights := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sight {
			r := rapid.SampledFrom(catalogue).Draw(t, "rule")
			return Sight{
				Rule: r.ID, Source: "a.py:1", Causes: r.Causes,
				Confidence: rules.Confidence(rapid.IntRange(0, 2).Draw(t, "confidence")),
				Severity:   rules.Severity(rapid.IntRange(0, 2).Draw(t, "severity")),
				Code:       rapid.Bool().Draw(t, "code"), Tied: rapid.Bool().Draw(t, "tied"), Here: rapid.Bool().Draw(t, "here"),
			}
		}), 0, 6).Draw(t, "sights")

		out := Conclude(answers, sights)
		if len(out.Causes) > maxCauses {
			t.Fatalf("%d causes", len(out.Causes))
		}
		for i, c := range out.Causes {
			if len(c.Because) == 0 || len(c.Because) > maxBecause {
				t.Fatalf("%s: %d reasons", c.Rule.ID, len(c.Because))
			}
			if c.Confidence == rules.High && (len(out.Open) > 0 || !c.Seen) {
				t.Fatalf("%s is certain with %d questions open, seen %v", c.Rule.ID, len(out.Open), c.Seen)
			}
			if slices.ContainsFunc(out.Causes[:i], func(b Cause) bool { return b.Rule == c.Rule }) {
				t.Fatalf("%s is there twice", c.Rule.ID)
			}
		}
		if diff := cmp.Diff(ids(out.Causes), ids(Conclude(answers, sights).Causes)); diff != "" {
			t.Fatalf("the same gives another result:\n%s", diff)
		}
		for _, k := range Read(sights) {
			if err := CheckAnswer(k.Key, k.Value); err != nil {
				t.Fatal(err)
			}
		}
	})
}
