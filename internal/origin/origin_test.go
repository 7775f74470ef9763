package origin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/snapshot"
)

const train = `import torch
"""A text
that has two lines."""
history = []

def forward(model, x):
    return model(x)

def evaluate(model, data):
    outputs = []
    for x in data:
        # a comment
        outputs.append(forward(model, x))
    return outputs

def hook(module, args, out):
    cache.append(out)

class Trainer:
    def step(self, x):
        loss = self.model(x).sum()
        self.history.append(loss)
        loss.backward()

for x in data:
    history.append(model(x))
`

// mistake is one on a line of the text, from a word of it on.
func mistake(t *testing.T, rule, word string, confidence rules.Confidence) rules.Mistake {
	t.Helper()
	at := strings.Index(train, word)
	if at < 0 {
		t.Fatalf("%q is not in the text", word)
	}
	return rules.Mistake{Rule: rule, Severity: rules.Warning, Confidence: confidence, Start: at, End: at + len(word), Message: word, Remedy: "change it"}
}

// tree is that of the text; to make a parser takes longer than all else here.
var tree = sync.OnceValues(func() (*syntax.Tree, error) {
	parser, err := syntax.New(context.Background(), "")
	if err != nil {
		return nil, err
	}
	src, err := syntax.Read("train.py", []byte(train))
	if err != nil {
		return nil, err
	}
	return parser.Parse(context.Background(), src)
})

func file(t *testing.T, mistakes ...rules.Mistake) *File {
	t.Helper()
	tree, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return NewFile("train.py", tree, mistakes)
}

func frame(line int, name string) snapshot.Frame {
	return snapshot.Frame{Filename: "/run/train.py", Line: line, Name: name}
}

// TestName: which of the mistakes is named for a growth, how sure, and by what tie.
func TestName(t *testing.T) {
	stored := mistake(t, "leak/list-with-graph", "outputs.append(forward(model, x))", rules.Medium)
	unsure := mistake(t, "leak/list-with-graph", "outputs.append(forward(model, x))", rules.Low)
	inStep := mistake(t, "leak/list-with-graph", "self.history.append(loss)", rules.Medium)
	inHook := mistake(t, "leak/hook-cache", "cache.append(out)", rules.Medium)
	atTop := mistake(t, "leak/step-outputs", "history.append(model(x))", rules.Medium)
	other := mistake(t, "leak/create-graph", "loss.backward()", rules.Medium)
	noLeak := mistake(t, "peak/activations", "self.model(x).sum()", rules.High)

	evaluate := []snapshot.Frame{frame(7, "forward"), frame(13, "evaluate"), frame(25, "<module>")}
	step := []snapshot.Frame{frame(21, "Trainer.step"), frame(25, "<module>")}
	for _, c := range []struct {
		name     string
		frames   []snapshot.Frame
		causes   []string
		mistakes []rules.Mistake
		doubt    string
		want     []string
	}{
		{"on a line", evaluate, []string{"leak/list-with-graph"}, []rules.Mistake{stored}, "", []string{"13 leak/list-with-graph high line"}},
		{"one that lint is not sure of", evaluate, []string{"leak/list-with-graph"}, []rules.Mistake{unsure}, "", []string{"13 leak/list-with-graph high line"}},
		{"on a line, another cause", evaluate, []string{"leak/hook-cache"}, []rules.Mistake{stored}, "", []string{"13 leak/list-with-graph medium line"}},
		{"on a line, another cause, not sure", evaluate, []string{"leak/hook-cache"}, []rules.Mistake{unsure}, "", nil},
		{"in the function", step, []string{"leak/loss-with-graph", "leak/list-with-graph"}, []rules.Mistake{inStep}, "", []string{"22 leak/list-with-graph high function"}},
		{"in the function, another cause", step, []string{"leak/loss-with-graph"}, []rules.Mistake{inStep}, "", nil},
		{"in another function", evaluate, []string{"leak/loss-with-graph"}, []rules.Mistake{inStep}, "", nil},
		{"the likelier cause first", step, []string{"leak/create-graph", "leak/list-with-graph"}, []rules.Mistake{inStep, other}, "", []string{"23 leak/create-graph high function", "22 leak/list-with-graph high function"}},
		{"the only one of the file", step, []string{"leak/hook-cache"}, []rules.Mistake{inHook}, "", []string{"17 leak/hook-cache low file"}},
		{"one of two of the file", step, []string{"leak/hook-cache", "leak/step-outputs"}, []rules.Mistake{inHook, stored}, "", []string{"17 leak/hook-cache low file"}},
		{"one of two of the file that fit", []snapshot.Frame{frame(21, "step")}, []string{"leak/hook-cache", "leak/step-outputs"}, []rules.Mistake{inHook, atTop}, "", nil},
		{"a function before the file", step, []string{"leak/hook-cache", "leak/list-with-graph"}, []rules.Mistake{inHook, inStep}, "", []string{"22 leak/list-with-graph high function"}},
		{"at the top", []snapshot.Frame{frame(26, "<module>")}, []string{"leak/step-outputs"}, []rules.Mistake{atTop}, "", []string{"26 leak/step-outputs high line"}},
		{"in a comprehension", []snapshot.Frame{frame(21, "<listcomp>")}, []string{"leak/step-outputs", "leak/list-with-graph"}, []rules.Mistake{inStep, atTop}, "", []string{"22 leak/list-with-graph high function"}},
		{"no leak", step, []string{"leak/list-with-graph"}, []rules.Mistake{noLeak}, "", nil},
		{"a doubt lowers it", evaluate, []string{"leak/list-with-graph"}, []rules.Mistake{stored}, "it is newer", []string{"13 leak/list-with-graph medium line"}},
		{"a doubt, and only the file", step, []string{"leak/hook-cache"}, []rules.Mistake{inHook}, "it is newer", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Growth{Finding: &rules.Finding{Causes: c.causes, Remedies: []rules.Remedy{{Do: "as usual", Effect: "less"}}}, Frames: c.frames}
			g.Name(map[string]*File{"/run/train.py": file(t, c.mistakes...)}, map[string]string{"train.py": c.doubt})
			var got []string
			for _, n := range g.Finding.Named {
				got = append(got, fmt.Sprintf("%d %s %v %s", n.Line, n.Rule, n.Confidence, n.Tie))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if named := len(got) > 0; named == (g.Finding.Unnamed != "") {
				t.Errorf("named %v, and unnamed for %q", got, g.Finding.Unnamed)
			}
			if first := g.Finding.Remedies[0]; first.Effect != "less" || strings.HasPrefix(first.Do, "train.py:") != (len(got) > 0 && g.Finding.Named[0].Confidence >= rules.Medium) {
				t.Errorf("the first remedy is %+v", first)
			}
		})
	}
}

// TestChanged: a file that cannot be the one that ran names nothing.
func TestChanged(t *testing.T) {
	stored := mistake(t, "leak/list-with-graph", "outputs.append(forward(model, x))", rules.High)
	for name, odd := range map[string]snapshot.Frame{
		"in another function":    frame(13, "train"),
		"in no function":         frame(26, "evaluate"),
		"beyond the end":         frame(100, "evaluate"),
		"a comment":              frame(12, "evaluate"),
		"a blank":                frame(5, "<module>"),
		"within a text":          frame(3, "<module>"),
		"the module in a def":    frame(13, "<module>"),
		"a method, as it is not": frame(22, "Trainer.run"),
	} {
		t.Run(name, func(t *testing.T) {
			g := Growth{Finding: &rules.Finding{Causes: []string{"leak/list-with-graph"}}, Frames: []snapshot.Frame{frame(13, "evaluate"), odd}}
			g.Name(map[string]*File{"/run/train.py": file(t, stored)}, nil)
			if len(g.Finding.Named) > 0 || !strings.Contains(g.Finding.Unnamed, fmt.Sprintf("line %d is not in %s", odd.Line, odd.Name)) {
				t.Errorf("%+v, %q", g.Finding.Named, g.Finding.Unnamed)
			}
		})
	}
	for _, good := range []snapshot.Frame{frame(13, "<listcomp>"), frame(13, "Trainer.fit.<locals>.evaluate"), frame(4, "<module>")} {
		if odd, ok := file(t).Fits([]snapshot.Frame{good}); !ok {
			t.Errorf("%+v does not fit", odd)
		}
	}
}

// TestOtherChanged: where one file of a stack has changed, another may have.
func TestOtherChanged(t *testing.T) {
	stored := mistake(t, "leak/list-with-graph", "outputs.append(forward(model, x))", rules.High)
	lib := frame(3, "helper")
	lib.Filename = "/run/lib.py"
	g := Growth{Finding: &rules.Finding{Causes: []string{"leak/list-with-graph"}}, Frames: []snapshot.Frame{frame(13, "evaluate"), lib}}
	g.Name(map[string]*File{"/run/train.py": file(t, stored), "/run/lib.py": file(t)}, nil)
	if n := g.Finding.Named; len(n) != 1 || n[0].Confidence != rules.Medium || n[0].Doubt == "" {
		t.Errorf("%+v", n)
	}
}

func TestSuffixes(t *testing.T) {
	for name, want := range map[string][]string{
		"/srv/proj/a.py": {"srv/proj/a.py", "proj/a.py", "a.py"},
		`C:\proj\a.py`:   {"proj/a.py", "a.py"},
		"a.py":           {"a.py"},
		"":               nil,
		"//":             nil,
	} {
		if got := Suffixes(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"/workspace/proj/src/train.py", []string{"/home/me/proj/src/train.py", "/home/me/proj/old/train.py", "/home/me/proj/src/model.py"}, "/home/me/proj/src/train.py"},
		{"train.py", []string{"/a/train.py"}, "/a/train.py"},
		{"/x/train.py", []string{"/a/train.py", "/b/train.py"}, ""},
		{"/x/train.py", []string{"/a/retrain.py"}, ""},
		{`D:\proj\train.py`, []string{`C:\other\proj\train.py`, `C:\train.py`}, `C:\other\proj\train.py`},
		{"<ipython-input-1>", []string{"/a/b.py"}, ""},
	} {
		if got, ok := Nearest(c.name, c.candidates); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}
