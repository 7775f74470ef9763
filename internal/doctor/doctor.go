// Package doctor judges whether a machine is fit for PyTorch programs on its GPUs: the
// driver, CUDA and PyTorch and whether they fit together, the settings in force, which
// devices a program gets, what their modes cost, who holds their memory, and what limits
// the host sets.
//
// It is a pure function of Facts, which a caller has collected: what could not be looked at
// is a fact too, with its reason, and ends in a check whose state is unknown rather than in
// a guess. Each file asks the questions of one group.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// State is what a check came to.
type State uint8

// The states, by how much they ask of the reader. Unknown is below note: what cannot be
// seen need not be wrong.
const (
	OK State = iota
	Unknown
	Note    // is so, and worth knowing: mostly a thing that is taken for another
	Warning // costs memory or time, or will go wrong in some programs
	Problem // programs cannot use the GPU, or not as they were told to
)

var stateNames = []string{"ok", "unknown", "note", "warning", "problem"}

// String returns the state as JSON has it.
func (s State) String() string { return stateNames[s] }

// MarshalText writes the state as JSON shows it.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Levels are the states that a caller may be asked to fail on, mildest first.
func Levels() []string { return stateNames[Note:] }

// ParseLevel reads one of Levels.
func ParseLevel(name string) (State, bool) {
	i := slices.Index(stateNames, name)
	return State(max(i, 0)), i >= int(Note)
}

// Check is the answer to one question about the machine.
type Check struct {
	ID    string
	State State
	Seen  string   // one sentence without its full stop; of what is unknown, why
	Means string   // what follows from it; empty where that is plain
	Do    []string // what to do, best first
	Rule  string   // of the catalogue, where a setting breaks one; else empty
}

// Verdict sums the checks up.
type Verdict struct {
	State State // the worst of them
	Text  string
}

// Result is the whole answer.
type Result struct {
	Verdict Verdict
	Checks  []Check // in the order of the groups
}

// groups are the questions, in the order in which one thing depends on another.
func groups() []func(*Facts) []Check {
	return []func(*Facts) []Check{
		machine, driver, nodes, python, fit, visible, settings,
		modes, ecc, sharing, memory, flags, host, ulimits, limits,
	}
}

// Examine answers all questions that the facts allow.
func Examine(f *Facts) Result {
	var r Result
	for _, group := range groups() {
		r.Checks = append(r.Checks, group(f)...)
	}
	for i := range r.Checks {
		r.Checks[i].bound()
	}
	follow(r.Checks)
	r.Verdict = verdict(f, r.Checks)
	return r
}

// longest bounds a text, in bytes: it may quote a variable, or an error of many lines.
const longest = 1000

// bound cuts texts that are too long to be read.
func (c *Check) bound() {
	cut := func(text string) string {
		if len(text) <= longest {
			return text
		}
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	c.Seen, c.Means = cut(c.Seen), cut(c.Means)
	for i := range c.Do {
		c.Do[i] = cut(c.Do[i])
	}
}

// follow takes that PyTorch cannot use CUDA, or be imported, for a consequence where
// something was found that it may follow from: one fault is to be counted once.
func follow(checks []Check) {
	causes := []string{"driver/", "fit/", "visible/", "settings/", "flags/", "gpu/", addressID}
	for i := range checks {
		c := &checks[i]
		if c.State != Problem || c.ID != torchID && c.ID != buildID {
			continue
		}
		if c.ID == buildID {
			causes = []string{"settings/"}
		}
		for _, cause := range checks {
			if cause.State == Problem && slices.ContainsFunc(causes, func(id string) bool { return strings.HasPrefix(cause.ID, id) }) {
				c.State, c.Means, c.Do = Note, "That may well follow from what "+cause.ID+" says.", nil
				break
			}
		}
	}
}

// Of returns the checks of a state.
func (r *Result) Of(s State) []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.State != s })
}

func verdict(f *Facts, checks []Check) Verdict {
	worst := slices.MaxFunc(checks, func(a, b Check) int { return cmp.Compare(a.State, b.State) })
	v := Verdict{State: worst.State}
	switch what := f.summary(); {
	case v.State == Problem:
		v.Text = fmt.Sprintf("%s: %s", counts(checks), worst.Seen)
	case v.State == Warning && f.Probe.Reading == nil && !f.canCUDA():
		v.Text = fmt.Sprintf("There is no GPU here, and %s: %s", counts(checks), worst.Seen)
	case v.State == Warning:
		v.Text = fmt.Sprintf("Nothing here keeps programs from the GPU, but there %s: %s", areCounts(checks), worst.Seen)
	case f.Probe.Reading == nil:
		v.Text = "There is no GPU here, so there is little to be wrong; recordings can be read all the same"
	case what == "":
		v.Text = "Nothing wrong was found"
	default:
		v.Text = "Nothing wrong was found: " + what
	}
	return v
}

// counts says how many problems and warnings there are, as a sentence begins.
func counts(checks []Check) string {
	return strings.Join(countWords(checks), " and ")
}

func areCounts(checks []Check) string {
	words := countWords(checks)
	verb := "are "
	if strings.HasPrefix(words[0], "1 ") {
		verb = "is "
	}
	return verb + strings.Join(words, " and ")
}

func countWords(checks []Check) (words []string) {
	for _, s := range []State{Problem, Warning} {
		n := 0
		for _, c := range checks {
			if c.State == s {
				n++
			}
		}
		if n > 0 {
			words = append(words, count(n, s.String()))
		}
	}
	return words
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func ok(id, seen string, args ...any) Check { return Check{ID: id, Seen: fmt.Sprintf(seen, args...)} }

func unknown(id, why string, args ...any) Check {
	return Check{ID: id, State: Unknown, Seen: fmt.Sprintf(why, args...)}
}

// found is a check with something to say.
func found(id string, s State, seen, means string, do ...string) Check {
	return Check{ID: id, State: s, Seen: seen, Means: means, Do: do}
}
