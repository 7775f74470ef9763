package rules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/ullage-dev/ullage/docs"
)

// families is the order in which the catalogue is printed: what people come for first.
var families = []string{"leak", "frag", "oom", "peak", "conf", "dist", "ranks", "third", "host", "rec"}

// load parses the embedded pages when the catalogue is first asked for. A page that
// does not parse is a fault in the program, and a test parses them all.
var load = sync.OnceValue(func() []*Rule {
	all, err := parseAll(docs.Rules)
	if err != nil {
		panic(err)
	}
	return all
})

// All returns the whole catalogue: by family, symptoms before causes, then by id.
// The rules are shared and must not be changed.
func All() []*Rule { return load() }

// Match returns the rules whose id starts with prefix, in the order of All.
func Match(prefix string) []*Rule {
	var some []*Rule
	for _, r := range All() {
		if strings.HasPrefix(r.ID, prefix) {
			some = append(some, r)
		}
	}
	return some
}

// Get returns the rule with the given id, or an *UnknownError.
func Get(id string) (*Rule, error) {
	for _, r := range All() {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, &UnknownError{ID: id, Near: near(id, 3)}
}

// Symptoms returns the ids of the symptoms that name id among the causes they fit.
func Symptoms(id string) []string {
	var ids []string
	for _, r := range All() {
		if slices.Contains(r.Causes, id) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// UnknownError is an id that is not in the catalogue.
type UnknownError struct {
	ID   string
	Near []string // ids that look like it, nearest first; may be empty
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no rule has the id %q", e.ID) }

// Hint says what may have been meant.
func (e *UnknownError) Hint() string {
	if len(e.Near) == 0 {
		return "'ullage rules' lists them all"
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// Complete fills in what a finding left out and its rule's page knows: the title,
// the causes that the symptom fits and the remedies. What the finding has, stays.
// It panics on a rule that is not in the catalogue; a test checks every id that
// the analyses use.
func Complete(f Finding) Finding {
	r, err := Get(f.Rule)
	if err != nil {
		panic(err)
	}
	if f.Title == "" {
		f.Title = r.Title
	}
	if f.Causes == nil {
		f.Causes = r.Causes
	}
	if f.Remedies == nil {
		f.Remedies = r.Remedies
	}
	return f
}

func parseAll(fsys fs.FS) ([]*Rule, error) {
	var all []*Rule
	var faults []error
	err := fs.WalkDir(fsys, "rules", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		r, err := parsePage(strings.TrimSuffix(strings.TrimPrefix(path, "rules/"), ".md"), string(text))
		if err != nil {
			faults = append(faults, fmt.Errorf("docs/%s: %w", path, err))
			return nil
		}
		all = append(all, r)
		return nil
	})
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	slices.SortFunc(all, inOrder)
	return all, nil
}

func inOrder(a, b *Rule) int {
	return cmp.Or(
		cmp.Compare(slices.Index(families, a.Family()), slices.Index(families, b.Family())),
		cmp.Compare(b.Kind, a.Kind), // "symptom" before "cause"
		cmp.Compare(a.ID, b.ID),
	)
}
