package lint

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"sync"

	"github.com/ullage-dev/ullage/internal/lint/code"
	"github.com/ullage-dev/ullage/internal/lint/places"
	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Python checks Python sources and notebooks. Its parser is made when it is first needed: a
// run that the cache answers does without.
type Python struct {
	cacheDir string // for the parser's machine code; empty: none

	once   sync.Once
	parser *syntax.Parser
	err    error
}

// NewPython makes the checker. Close frees what it holds.
func NewPython(cacheDir string) *Python { return &Python{cacheDir: cacheDir} }

// Close frees the parser, if there is one.
func (p *Python) Close(ctx context.Context) error {
	if p.parser == nil {
		return nil
	}
	return p.parser.Close(ctx)
}

// Name is that of the language.
func (p *Python) Name() string { return "python" }

// Takes tells by the name, or where it has no ending by the first line. Stubs have no code
// that runs.
func (p *Python) Takes(name string, head []byte) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".py", ".pyw", ".ipynb":
		return true
	case "":
		line, _, _ := bytes.Cut(head, []byte("\n"))
		return bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("python"))
	}
	return false
}

// MaxBytes leaves room for the pictures of a notebook. What is read of it is bounded apart.
func (p *Python) MaxBytes() int64 { return 8 * syntax.MaxSourceBytes }

// MayBeData is never so: code is what lint is asked to look at.
func (p *Python) MayBeData(string) bool { return false }

// Check parses what a rule may have something to say about, and asks the rules.
func (p *Python) Check(ctx context.Context, src *syntax.Source, test bool) (Checked, error) {
	marked := bytes.Contains(src.Text, []byte(Mark))
	if !marked && !code.Concerns(src.Text) {
		return Checked{}, nil
	}
	p.once.Do(func() { p.parser, p.err = newParser(p.cacheDir) })
	if p.err != nil {
		return Checked{}, p.err
	}
	tree, err := p.parser.Parse(ctx, src)
	if err != nil {
		return Checked{}, err
	}
	checked := Checked{Mistakes: code.Check(pyscope.New(tree), code.Options{Test: test, Conf: places.ConfMistakes})}
	if marked {
		checked.Comments = pythonComments(tree)
	}
	if bad := tree.Errors(); len(bad) > 0 {
		at := bad[0].Start()
		checked.Broken = &at
	}
	return checked, nil
}

// newParser does without a cache that cannot be: one on a full or read-only disk. The context
// of one file must not end what all others use.
func newParser(cacheDir string) (*syntax.Parser, error) {
	parser, err := syntax.New(context.Background(), cacheDir)
	if err == nil || cacheDir == "" {
		return parser, err
	}
	parser, second := syntax.New(context.Background(), "")
	if second != nil {
		return nil, errors.Join(err, second)
	}
	return parser, nil
}

// pythonComments returns the comments with Mark.
func pythonComments(tree *syntax.Tree) []Comment {
	var all []Comment
	text := tree.Source.Text
	for from := 0; ; {
		k := bytes.Index(text[from:], []byte(Mark))
		if k < 0 {
			return all
		}
		from += k + len(Mark)
		n := tree.Covering(from-1, from)
		if c := (Comment{n.Start(), n.End()}); n.Is("comment") && (len(all) == 0 || all[len(all)-1] != c) {
			all = append(all, c)
		}
	}
}

// Places checks scripts and configurations, where settings of PyTorch and CUDA live.
type Places struct{}

// Name is that of the package.
func (Places) Name() string { return "places" }

// Takes tells as package places does.
func (Places) Takes(name string, head []byte) bool {
	_, ok := places.KindOf(name, head)
	return ok
}

// MaxBytes is that of package places: settings are written by hand.
func (Places) MaxBytes() int64 { return places.MaxBytes }

// MayBeData is so of forms that most programs keep their data in.
func (Places) MayBeData(name string) bool {
	kind, _ := places.KindOf(name, nil)
	return kind == places.JSON || kind == places.YAML || kind == places.TOML
}

// Check asks package places.
func (Places) Check(_ context.Context, src *syntax.Source, _ bool) (Checked, error) {
	head := src.Text[:min(len(src.Text), headBytes)]
	kind, _ := places.KindOf(src.Name, head)
	checked := Checked{Mistakes: places.Check(kind, src.Name, src.Text)}
	if kind != places.JSON {
		checked.Comments = HashComments(src.Text)
	}
	return checked, nil
}
