package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/origin"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// witness is what recordings tell of the sources that are linted: where memory grew.
type witness struct {
	app    *App
	dir    string // working folder
	grown  []grown
	where  map[string]string // frames' names of files, to the files that are linted
	parser *syntax.Parser

	mu sync.Mutex // of what follows, and of the fields of grown
}

// grown is a growth of one recording, and what became of it.
type grown struct {
	origin.Growth
	recording string
	more      int       // recordings that have the same
	end       time.Time // of the recording; zero where it has no times
	explained bool      // a mistake is known that it comes from
	changed   string    // a file of its stack that is not as it was
	place     lint.Grew // its innermost place in the files that are linted
	depth     int       // of that place among its frames
}

// readWitness reads the recordings that --with names.
func (a *App) readWitness(ctx context.Context, names []string, dir string) (*witness, error) {
	e, err := newExplainer(a, &explainFlags{by: "line", top: 1, device: -1})
	if err != nil {
		return nil, err
	}
	in, err := a.resolve(names)
	if err != nil {
		return nil, err
	}
	e.take(in)
	w := &witness{app: a, dir: dir, where: map[string]string{}}
	for _, f := range in.files {
		err := e.withInput(ctx, f, func(input *snapshot.Input, ahead *timeline.Ahead) error {
			return w.read(e, f, input, ahead)
		})
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *witness) read(e *explainer, f snapshot.File, in *snapshot.Input, ahead *timeline.Ahead) error {
	if in.IsText() {
		return withHint(usageErrorf("--with: %s is a text, which does not tell of lines", f.Path), "a recording does: see 'ullage run'")
	}
	beside := w.app.readSidecar(f.Path)
	rec, err := e.readRecording(in, f)
	if err != nil {
		return err
	}
	devices, err := e.analyze(rec, ahead, beside)
	for _, x := range devices {
		for _, g := range origin.GrowthsOf(x) {
			w.add(grown{Growth: g, recording: base(f.Path) + ", " + report.DeviceName(x.TL.Dev), end: lastEvent(x)})
		}
	}
	return err
}

// add notes a growth. Ranks of a job grow at the same lines: of those the gravest stands for
// all, and of equals the first.
func (w *witness) add(g grown) {
	i := slices.IndexFunc(w.grown, func(o grown) bool { return o.Frames[0] == g.Frames[0] && o.Finding.Rule == g.Finding.Rule })
	if i < 0 {
		w.grown = append(w.grown, g)
		return
	}
	old := &w.grown[i]
	g.more, old.more = old.more+1, old.more+1
	if g.Finding.Severity > old.Finding.Severity || g.Finding.Severity == old.Finding.Severity && g.LiveBytes > old.LiveBytes {
		*old = g
	}
}

// from names the recordings of a growth.
func (g *grown) from() string {
	if g.more > 0 {
		return fmt.Sprintf("%s and %d more", g.recording, g.more)
	}
	return g.recording
}

// Files finds the files that frames name.
func (w *witness) Files(paths []string) {
	for i := range w.grown {
		for _, frame := range w.grown[i].Frames {
			name := frame.Filename
			if _, known := w.where[name]; known || !origin.IsSource(name) {
				continue
			}
			path := filepath.Clean(filepath.FromSlash(name))
			if !filepath.IsAbs(path) || !slices.Contains(paths, path) {
				path, _ = origin.Nearest(name, paths)
			}
			w.where[name] = path // empty where there is none
		}
	}
}

// Knows tells whether frames name the file.
func (w *witness) Knows(path string) bool {
	for _, p := range w.where {
		if p == path {
			return true
		}
	}
	return false
}

// Raise raises the mistakes that memory grew from.
func (w *witness) Raise(ctx context.Context, path string, src *syntax.Source, mistakes []rules.Mistake) []rules.Mistake {
	w.mu.Lock()
	defer w.mu.Unlock()
	tree := w.parse(ctx, src)
	if tree == nil {
		return mistakes
	}
	var names []string
	for name, p := range w.where {
		if p == path {
			names = append(names, name)
		}
	}
	for i := range w.grown {
		f := origin.NewFile(path, tree, mistakes)
		mistakes = w.grown[i].raise(w, f, names)
	}
	return mistakes
}

func (w *witness) parse(ctx context.Context, src *syntax.Source) *syntax.Tree {
	if w.parser == nil {
		parser, err := syntax.New(context.WithoutCancel(ctx), w.app.cacheFolder("syntax"))
		if err != nil {
			return nil
		}
		w.parser = parser
	}
	tree, err := w.parser.Parse(ctx, src)
	if err != nil {
		return nil
	}
	return tree
}

func (w *witness) close(ctx context.Context) {
	if w != nil && w.parser != nil {
		_ = w.parser.Close(context.WithoutCancel(ctx)) // it has nothing open
	}
}

// raise raises the mistakes of a file that a growth comes from, and notes its place there.
func (g *grown) raise(w *witness, f *origin.File, names []string) []rules.Mistake {
	var here []snapshot.Frame
	for depth, frame := range g.Frames {
		if !slices.Contains(names, frame.Filename) {
			continue
		}
		if len(here) == 0 {
			g.isAt(w, f, depth)
		}
		here = append(here, frame)
	}
	if len(here) == 0 {
		return f.Mistakes
	}
	if odd, ok := f.Fits(here); !ok {
		g.changed = fmt.Sprintf("%s is not as it was when it was recorded: line %d is not in %s", w.shown(f.Path), odd.Line, odd.Name)
		return f.Mistakes
	}
	doubt := ""
	if info, err := w.app.Files.Stat(f.Path); err == nil {
		doubt = doubtOf(info.ModTime(), g.end)
	}
	raised, any := g.Raise(f, names, g.from(), doubt)
	g.explained = g.explained || any
	return raised
}

// isAt notes a place of the growth in a file, the innermost of all files.
func (g *grown) isAt(w *witness, f *origin.File, depth int) {
	if g.place.File != "" && g.depth <= depth {
		return
	}
	frame := g.Frames[depth]
	g.depth = depth
	g.place = lint.Grew{File: w.shown(f.Path), Line: frame.Line, Function: frame.Name, Source: strings.TrimSpace(f.Source.Line(frame.Line))}
}

// shown is a path as a user would name it.
func (w *witness) shown(path string) string {
	if rel, err := filepath.Rel(w.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// unexplained returns the growths that no mistake explains; of those that do little harm only
// where all is asked for.
func (w *witness) unexplained(all bool) []lint.Grew {
	var list []lint.Grew
	for i := range w.grown {
		g := &w.grown[i]
		if g.explained || g.Finding.Severity < rules.Warning && !all {
			continue
		}
		out := g.place
		if out.File == "" {
			out.Line, out.Function = g.Frames[0].Line, g.Frames[0].Name
		}
		out.What, out.Recording = g.Finding.Title, g.from()
		if g.changed != "" {
			out.What += "; " + g.changed
		}
		out.BytesPerStep, out.EverySteps, out.LiveBytes = g.BytesPerStep, g.EverySteps, g.LiveBytes
		list = append(list, out)
	}
	return list
}
