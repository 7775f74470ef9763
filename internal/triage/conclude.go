package triage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Outcome is where a walk ends, or has come so far.
type Outcome struct {
	Turns  []Turn
	Open   []*Question // without an answer that may still come up, the next one first; none at the end
	Causes []Cause     // likeliest first
	Unused []string    // keys of answers that were given and made no difference
}

// Cause is a rule that fits, and why.
type Cause struct {
	Rule       *rules.Rule
	Confidence rules.Confidence
	Because    []string // what says so, a line each
	Seen       bool     // not only answered for
	Check      Check

	score float64 // by answers, and by symptoms that it fits
	seen  float64 // by the most telling sight of it: ten places with the same mistake are one cause
	place int
}

// maxCauses is how many causes are told of: more is no answer.
const maxCauses = 5

// Weights of what speaks for a cause. A thing that was seen outweighs all answers; what
// only fits a symptom that was seen tells equal causes apart, and no more. An answer's part
// of a share keeps its order, however many ways are left.
const (
	weightTied = 5.0
	weightSeen = 3.0
	weightFits = 0.5
)

// maxBecause is how many reasons are told of for a cause.
const maxBecause = 4

// Conclude weighs the causes that are left after the answers, with what was seen.
func Conclude(a Answers, sights []Sight) Outcome {
	var out Outcome
	turns, next := Walk(a)
	out.Turns, out.Open = turns, Open(a)
	w := weighing{causes: map[string]*Cause{}}
	w.answers(turns, next, a)
	for i := range sights {
		w.sight(&sights[i])
	}
	out.Causes = w.sorted()
	out.Unused = unused(a, turns)
	return out
}

// unused are the answers that were not asked for on the way, in the order of the tree.
func unused(a Answers, turns []Turn) (keys []string) {
	for i := range tree {
		key := tree[i].Key
		if _, given := a[key]; given && !slices.ContainsFunc(turns, func(t Turn) bool { return t.Question.Key == key }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// weighing collects what speaks for each cause.
type weighing struct {
	causes map[string]*Cause
	ended  bool // the walk is at a leaf
}

func (w *weighing) cause(id string) *Cause {
	c := w.causes[id]
	if c == nil {
		r, err := rules.Get(id)
		if err != nil {
			panic(err) // the tree and all analyses name rules of the catalogue: tests hold them to it
		}
		c = &Cause{Rule: r, Check: checks[id], place: len(w.causes)}
		w.causes[id] = c
	}
	return c
}

// answers weighs the causes at the leaf that was reached, or at all that can still be.
func (w *weighing) answers(turns []Turn, next *Question, a Answers) {
	if len(turns) == 0 {
		return
	}
	last := turns[len(turns)-1]
	if next == nil && !last.Option.open() {
		w.ended = true
		for _, g := range last.Option.Leaf {
			c := w.cause(g.Rule)
			c.score += float64(g.Confidence) + 1
			c.Confidence = g.Confidence
			c.Because = append(c.Because, "fits the answers")
		}
		return
	}
	if next == nil {
		next = last.Question
	}
	shares := map[string]float64{}
	leaves(next, a, 1, func(leaf []Guess, share float64) {
		for _, g := range leaf {
			shares[g.Rule] += share * (float64(g.Confidence) + 1)
			w.cause(g.Rule)
		}
	})
	for id, share := range shares {
		c := w.cause(id)
		c.score += share
		c.Because = append(c.Because, "one of those that the answers so far leave")
	}
}

// sight weighs what was seen. A symptom is what the walk starts from: it speaks for its
// causes, and for itself where it is what a leaf ends in.
func (w *weighing) sight(s *Sight) {
	known := w.causes[s.Rule] != nil
	r, err := rules.Get(s.Rule)
	if err != nil {
		return
	}
	if r.Kind == rules.Cause || known && w.ended {
		c := w.cause(s.Rule)
		c.seen = max(c.seen, weightOf(s, r)*float64(s.Confidence+1)/float64(rules.High+1))
		c.Confidence = w.confidence(known, c.Confidence, s)
		c.Seen = true
		c.Because = append(c.Because, seenText(s))
	}
	for i, id := range s.Causes {
		if c := w.causes[id]; c != nil {
			c.score += weightFits / float64(i+1)
			c.Because = append(c.Because, fmt.Sprintf("fits %s in %s", s.Rule, s.Source))
		}
	}
}

func weightOf(s *Sight, r *rules.Rule) float64 {
	switch {
	case r.Kind == rules.Symptom: // what brings it about is to come first
		return weightFits
	case s.Tied:
		return weightTied
	}
	return weightSeen
}

// confidence is that of a cause that was seen: high where the answers end there, too, and
// medium at most where they lead elsewhere or are not at their end: a mistake may be there
// for sure and have nothing to do with what happens. What was seen in a source and may be
// none, or harmless, is low.
func (w *weighing) confidence(known bool, before rules.Confidence, s *Sight) rules.Confidence {
	seen := s.Confidence
	if s.Code && !s.weighty() {
		seen = min(seen, rules.Low)
	}
	if known && w.ended && seen >= rules.Medium {
		return rules.High
	}
	return max(before, min(seen, rules.Medium))
}

func seenText(s *Sight) string {
	if s.Text == "" {
		return "seen in " + s.Source
	}
	return s.Source + ": " + s.Text
}

// sorted returns the causes that weigh most.
func (w *weighing) sorted() []Cause {
	var all []Cause
	for _, c := range w.causes {
		c.Because = slices.Compact(c.Because)
		c.Because = c.Because[:min(len(c.Because), maxBecause)]
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.score+b.seen, a.score+a.seen), cmp.Compare(a.place, b.place), cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
	return all[:min(len(all), maxCauses)]
}
