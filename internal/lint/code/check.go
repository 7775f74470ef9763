// Package code has the rules that find mistakes in Python sources: code that will keep, copy
// or scatter GPU memory when it runs.
//
// A rule is a function that looks at a [pyscope.Module] and reports [rules.Mistake]s, and a line in
// checkers. What names, loops and regions mean is pyscope's; whether it is a mistake is decided
// here. The cases in testdata, sources with marks where a mistake is to be found, are what a
// rule is held to: also by those that it must keep silent on.
package code

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Options are what a source does not say itself.
type Options struct {
	Test bool                              // it is a test or an example: it does not run for long
	Conf func(text string) []rules.Mistake // judges a settings string of the allocator, by offsets in it; nil: it is not judged
}

// checker is the code of one rule, or of a few that look at the same things.
type checker struct {
	ids   []string    // that it may report
	check func(*pass) // reports what it finds
	words []string    // one of which a source must have in it for the rule to be asked; none: always
	long  bool        // the harm needs a long run: in a test it is worth knowing at most
}

// torchWords are in every source that uses PyTorch, itself or through what is built on it.
var torchWords = []string{"torch", "lightning", "transformers", "accelerate"}

// checkers lists the rules.
func checkers() []checker {
	return slices.Concat(
		leakCheckers(),
		memoryCheckers(),
	)
}

// pass is one source being checked by one rule.
type pass struct {
	*pyscope.Module
	opt   Options
	rule  checker
	found []rules.Mistake
	facts facts
}

// Check returns the mistakes in a module, by place.
func Check(m *pyscope.Module, opt Options) []rules.Mistake {
	p := &pass{Module: m, opt: opt}
	for _, c := range checkers() {
		if !mentionsAny(m.Tree.Source.Text, c.words) {
			continue
		}
		p.rule = c
		c.check(p)
	}
	slices.SortStableFunc(p.found, func(a, b rules.Mistake) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Rule, b.Rule))
	})
	return slices.CompactFunc(p.found, func(a, b rules.Mistake) bool { return a.Start == b.Start && a.Rule == b.Rule })
}

// Rules returns the ids that Check may report.
func Rules() []string {
	var ids []string
	for _, c := range checkers() {
		ids = append(ids, c.ids...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Concerns reports whether any rule would look at a source: most have nothing to do with
// GPUs, and need not even be parsed.
func Concerns(text []byte) bool {
	return slices.ContainsFunc(checkers(), func(c checker) bool { return mentionsAny(text, c.words) })
}

func mentionsAny(text []byte, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// report adds a mistake at a node.
func (p *pass) report(at syntax.Node, m rules.Mistake) {
	m.Start, m.End = at.Start(), at.End()
	if p.opt.Test && p.rule.long {
		m.Severity = min(m.Severity, rules.Info)
	}
	p.found = append(p.found, m)
}

// related is another place that a mistake rests on.
func related(n syntax.Node, what string) rules.Related {
	return rules.Related{Start: n.Start(), End: n.End(), What: what}
}
