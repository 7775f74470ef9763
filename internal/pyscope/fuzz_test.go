package pyscope

import (
	"context"
	"testing"

	"github.com/ullage-dev/ullage/internal/syntax"
	"pgregory.net/rapid"
)

// words make Python of all kinds when they are strung together, most of it wrong.
var words = []string{
	"x", "y", "self", "model", "loss", "torch", " = ", " += ", ".", ".append(", ".backward()", "(", ")", "[", "]", "{", "}", ", ", ": ", ":\n", "\n", "\n    ", "\n        ",
	"for x in ", "while True", "if x", "elif y", "else", "def f(self, x=y, *a, **k)", "class A(B)", "class B(A)", "return ", "yield ", "lambda x: ", "with torch.no_grad()", "with x as y",
	"try", "except E as x", "finally", "import torch", "from . import *", "from x import (y as z)", "global x", "nonlocal y", "del x", "x[0]", "x['a']", "self.x", "f(", "A(", "@f\n",
	" in ", " and ", " not ", "*", "**", ":=", "match x", "case A(x=y)", "case [x, *y]", "async ", "await ", "'", "\"\"\"", "f'{x}'", "1", "None", "#", "\\\n", "\t", "x = y = ", "(x, (y, z)) = ", "[x for x in y if x]",
}

// TestAnyPython asks everything of texts of any kind.
func TestAnyPython(t *testing.T) {
	p, err := parser()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, w := range rapid.SliceOfN(rapid.SampledFrom(words), 0, 80).Draw(t, "words") {
			text += w
		}
		askText(t, p, []byte(text))
	})
}

func FuzzModule(f *testing.F) {
	for _, seed := range []string{
		valuePrelude, "class A(A): pass", "x = x", "def f(): return f()\nf()", "a, b = b, a", "class A(B): pass\nclass B(A): pass\nA().x.y",
		"x: int", "for x in x: x = x.x", "def f(x, y=f(x)): f(y)", "self.x.self.x = x", "x[0][0]['a'].b += x", "f = lambda: f\nf()()",
		"try: pass\nexcept* E as e: raise", "with (a as b, c): pass", "match x:\n case {'a': y}: pass", "def f[T](x: T): ...", "print x", "=", "def (",
	} {
		f.Add([]byte(seed))
	}
	p, err := parser()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) { askText(t, p, text) })
}

func askText(t interface{ Fatal(...any) }, p *syntax.Parser, text []byte) {
	src, err := syntax.Read("a.py", text)
	if err != nil {
		return
	}
	tree, err := p.Parse(context.Background(), src)
	if err != nil {
		return
	}
	ask(New(tree))
}
