package code

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// FuzzCheck gives the rules sources that are broken, and strange ones: whatever they report lies
// in the text.
func FuzzCheck(f *testing.F) {
	for _, name := range caseFiles(f) {
		if path.Ext(name) == ".py" {
			f.Add(read(f, name).Text)
		}
	}
	p, err := parser()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		src, err := syntax.Read("a.py", append([]byte("import torch\n"), text...)) // so that every rule is asked
		if err != nil {
			return
		}
		tree, err := p.Parse(context.Background(), src)
		if limit := (*syntax.LimitError)(nil); errors.As(err, &limit) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for _, m := range Check(pyscope.New(tree), Options{}) {
			if m.Start < 0 || m.End <= m.Start || m.End > len(src.Text) || m.Message == "" {
				t.Errorf("%s from %d to %d of %d: %q", m.Rule, m.Start, m.End, len(src.Text), m.Message)
			}
		}
	})
}
