package pyscope

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of questions whose answer is about the call of here(…).

func TestOnCUDA(t *testing.T) {
	tests := []struct {
		text string
		want Answer
	}{
		{"here(x.cuda())", Yes},
		{"here(x.cuda().sum())", Yes},
		{"here(x.cuda().cpu())", No},
		{"y = x.to('cuda:1')\nhere(y + 1)", Yes},
		{"device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nhere(x.to(device))", Yes},
		{"device = 'cpu'\nhere(x.to(device))", No},
		{"here(torch.ones(1, device='cuda'))", Yes},
		{"here(torch.ones(1))", No},
		{"def f(device):\n  here(x.to(device))", NotKnown},
		{"def f(device='cuda'):\n  here(x.to(device))", Yes},
		{"y = x\nif a:\n  y = x.cuda()\nhere(y)", NotKnown},
		{"here(x)", NotKnown},
		{"here([y.cuda() for y in x])", Yes},
		{"here(x.to(0))", Yes},
	}
	for _, test := range tests {
		m := module(t, "import torch\n"+test.text)
		if got, why := m.OnCUDA(call(t, m, "here").Args()[0]); got != test.want {
			t.Errorf("%q: %v, want %v (%s)", test.text, got, test.want, why)
		}
	}
}

func TestRepeated(t *testing.T) {
	tests := []struct{ text, want string }{
		{"here()", ""},
		{"for x in xs:\n  here()", "the loop in line 1"},
		{"for x in here():\n  pass", ""},
		{"while True:\n  here()", "the loop in line 1"},
		{"while here():\n  pass", "the loop in line 1"},
		{"for x in (1, 2):\n  here()", ""},
		{"for x in xs:\n  pass\nelse:\n  here()", ""},
		{"[here() for x in xs]", "the loop in line 1"},
		{"[x for x in here()]", ""},
		{"for x in xs:\n  def f():\n    here()", ""},
		{"def f():\n  here()\nfor x in xs:\n  f()", "called from the loop in line 3"},
		{"def f():\n  here()\ndef g():\n  f()\nfor x in xs:\n  g()", "called from the loop in line 5"},
		{"def train_step():\n  here()", "train_step, which is called for each step"},
		{"def f():\n  f()\n  here()", ""},
	}
	for _, test := range tests {
		m := module(t, test.text)
		got := ""
		if r := m.Repeated(call(t, m, "here").Node); r != nil {
			got = r.Why
		}
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestLoops(t *testing.T) {
	tests := []struct {
		text          string
		small, varies bool
	}{
		{"for x in range(3):\n  here(x)", true, true},
		{"for x in range(1000):\n  here(y)", false, false},
		{"for x in range(1000, 0, -1):\n  here(y)", false, false},
		{"for x in range(4, -1, -1):\n  here(y)", true, false},
		{"for x in range(a.n, 0, -1):\n  here(y)", false, false},
		{"n = 4\nfor x in range(n):\n  here(y)", true, false},
		{"for k, x in enumerate(['a', 'b']):\n  y = x.z\n  here(y)", true, true},
		{"for x in xs:\n  here([x])", false, true},
		{"while a:\n  here(y)", false, false},
		{"for x in {'a': 1}.items():\n  here(x[1])", true, true},
	}
	for _, test := range tests {
		m := module(t, test.text)
		c := call(t, m, "here")
		l := m.Loop(c.Node)
		if got := l.Small(); got != test.small {
			t.Errorf("%q: small %v, want %v", test.text, got, test.small)
		}
		if got := l.Varies(c.Args()[0]); got != test.varies {
			t.Errorf("%q: varies %v, want %v", test.text, got, test.varies)
		}
	}
}

func TestClasses(t *testing.T) {
	m := module(t, `
import lightning as L
from torch import nn
from torch.autograd import Function
from transformers import PreTrainedModel
import torch.utils.data as data
class Net(nn.Module):
    def forward(self, x): return self.helper(x)
class Deep(Net): pass
class Lit(L.LightningModule): pass
class Own(PreTrainedModel): pass
class Op(Function): pass
class Set(data.Dataset): pass
class Plain: pass
class Listed(Plain, list): pass
`)
	var got []string
	for _, c := range m.Classes {
		row := c.Name
		for name, is := range map[string]bool{"module": c.IsModule(), "lightning": c.IsLightning(), "function": c.IsFunction(), "dataset": c.IsDataset()} {
			if is {
				row += " " + name
			}
		}
		words := strings.Fields(row)
		slices.Sort(words[1:])
		got = append(got, strings.Join(words, " "))
	}
	want := []string{"Net module", "Deep module", "Lit lightning module", "Own module", "Op function", "Set dataset", "Plain", "Listed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f := m.Classes[1].Method("forward"); f == nil || f.Class != m.Classes[0] {
		t.Error("Deep has no forward from Net")
	}
}

// TestPlaces tells which names mean the same place: rows of line:kind for every place.
func TestPlaces(t *testing.T) {
	tests := []struct{ name, text, place, want string }{
		{"local", "x = 1\ndef f():\n  x = 2\n  x", "x", "1:store"},
		{"global", "x = 1\ndef f():\n  global x\n  x += 2", "x", "1:store 4:augment"},
		{"nonlocal", "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n  return x", "x", "2:store 5:store 6:load"},
		{"nonlocal before its outer name", "def f():\n  def g():\n    nonlocal x\n    x = 2\n  x = 1", "x", "4:store 5:store"},
		{"class", "class A:\n  x = 1\n  def f(self):\n    return self.x", "self.x", "2:store 4:load"},
		{"class's names are not its methods'", "x = 0\nclass A:\n  x = 1\n  def f(self):\n    return x", "x", "1:store 5:load"},
		{"self in a closure", "class A:\n  def f(self):\n    def g():\n      self.x = 1\n    return self.x", "self.x", "4:store 5:load"},
		{"base class", "class A:\n  def f(self):\n    self.x = 1\nclass B(A):\n  def g(self):\n    self.x", "self.x", "3:store 6:load"},
		{"object", "class A:\n  def f(self):\n    self.x = 1\na = A()\na.x = 2", "self.x", "3:store 5:store"},
		{"comprehension", "x = 1\n[x for x in y]\nx", "x", "1:store 3:load"},
		{"item", "x = {}\nx['a'] = 1\nx[\"a\"] += 2", `x["a"]`, "2:store 3:augment"},
		{"what it holds", "x = []\nx.append(1)\nx[k] = 2\ndel x[0]\nx.clear()", "x", "1:store 2:load 2:mutate 3:load 3:mutate 4:load 4:shrink 5:load 5:shrink"},
		{"walrus in a comprehension", "[(x := y) for y in z]\nx", "x", "1:store 2:load"},
		{"except", "try:\n  pass\nexcept E as x:\n  x", "x", "3:store 4:load"},
		{"with", "with f() as (x, y):\n  x", "x", "1:store 2:load"},
		{"import", "import x.y\nx.y.z", "x", "1:store 2:load"},
		{"match", "match v:\n  case [x, *y]:\n    x", "x", "2:store 3:load"},
	}
	kinds := map[RefKind]string{Load: "load", Store: "store", Augment: "augment", Delete: "delete", Mutate: "mutate", Shrink: "shrink"}
	for _, test := range tests {
		m := module(t, test.text)
		var rows []string
		var place *Place
		for _, r := range m.Refs {
			if place == nil && r.Place.String() == test.place {
				place = r.Place
			}
		}
		if place == nil {
			t.Errorf("%s: no place %s", test.name, test.place)
			continue
		}
		for _, r := range place.Refs {
			rows = append(rows, string(rune('0'+m.Line(r.Node)))+":"+kinds[r.Kind])
		}
		if got := strings.Join(rows, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestCalls(t *testing.T) {
	tests := []struct{ text, want string }{
		{"def f(): pass\nf()", "f"},
		{"class A:\n  def f(self): self.g()\n  def g(self): pass", "g"},
		{"class A:\n  def f(self): pass\nA().f()", "f"},
		{"class A:\n  def f(self): pass\na = A().to(d)\na.f()", "f"},
		{"class A:\n  def __init__(self): pass\nA()", "__init__"},
		{"def f(): pass\ng = f\ng()", "f"},
		{"f = lambda: 1\nf()", ""},
		{"def f(): pass\nf = 1\nf()", "f"},
		{"x()", ""},
		{"class A:\n  def f(self): pass\nclass B(A):\n  def g(self): self.f()", "f"},
	}
	for _, test := range tests {
		m := module(t, test.text)
		got := ""
		last := slices.MaxFunc(m.Calls, func(a, b *Call) int { return a.Node.End() - b.Node.End() })
		if f := last.Target; f != nil {
			got = f.Name
		}
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestPhase(t *testing.T) {
	for text, want := range map[string]Phase{
		"def train(): pass":             Train,
		"def f():\n  loss.backward()":   Train,
		"def f():\n  model.eval()":      Eval,
		"def validate(): pass":          Eval,
		"def test_train(): pass":        Eval,
		"def f(): pass":                 AnyPhase,
		"def train():\n  model.eval()":  Train,
		"def eval_f():\n  l.backward()": Train,
	} {
		if got := module(t, text).Functions[0].Phase(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	m := module(t, "f(a, *b, c, k=d, **e)")
	c := m.Calls[0]
	if n := c.Arg(0, "x").Text(); n != "a" {
		t.Errorf("first is %s", n)
	}
	if n := c.Arg(1, "k").Text(); n != "d" {
		t.Errorf("what is behind a star has no known position: %s", n)
	}
	if !c.Open() || c.Keyword("x").Ok() {
		t.Error("keywords")
	}
}
