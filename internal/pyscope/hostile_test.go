package pyscope

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are texts whose names, loops or calls depend on each other in as many ways as a few
// thousand lines can. Each must be answered in about the time that it takes to parse.
var hostile = map[string]func(n int) string{
	"chain of attributes":   func(n int) string { return "x" + strings.Repeat(".a", n) + "\n" },
	"sum":                   func(n int) string { return "x = 1" + strings.Repeat(" + x", n) + "\n" },
	"many stores":           func(n int) string { return strings.Repeat("x = x + y\ny = x\n", n) },
	"many branches":         func(n int) string { return strings.Repeat("if a:\n  x = y\nelif b:\n  y = x\n", n) + "f(x)\n" },
	"nested branches":       func(n int) string { return nest(min(n, 90), "if x:\n", "x = x\n") },
	"nested loops":          func(n int) string { return nest(min(n, 90), "for x in x:\n", "x += x\n") },
	"nested functions":      func(n int) string { return nest(min(n, 90), "def f(x):\n", "x = f(x)\n") },
	"calls of each other":   func(n int) string { return each(n, "def f%d(x):\n  return f%d(x), f%d(x)\n") },
	"callers of all":        func(n int) string { return "def f(x):\n  return x\n" + each(n, "def g%d():\n  f(g%d())\n  f(g%d())\n") },
	"classes of each other": func(n int) string { return each(n, "class C%d(C%d, C%d):\n  def f(self): self.x = self.x + 1\n") },
	"names of each other":   func(n int) string { return each(n, "x%d = x%d + x%d\n") },
	"lists of each other":   func(n int) string { return "xs = []\n" + each(n, "x%d = []\nx%d.append(x%d)\n") },
	"comprehensions": func(n int) string {
		return "x = " + strings.Repeat("[x for x in ", min(n, 90)) + "x" + strings.Repeat("]", min(n, 90)) + "\n"
	},
	"lambdas": func(n int) string { return "f = " + strings.Repeat("lambda x: ", min(n, 900)) + "f(x)\n" },
}

func nest(n int, open, last string) string {
	var b strings.Builder
	for k := range n {
		b.WriteString(strings.Repeat(" ", k) + open)
	}
	return b.String() + strings.Repeat(" ", n) + last
}

// each writes a line for each number, with the two before it.
func each(n int, format string) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, format, k, (k+1)%n, (k*7+3)%n)
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) { ask(module(t, text(400))) })
	}
}

// Budget: 5 MB/s a core, beside the parser's 2.3. It takes 16 MB/s here, and 50 over the packages that
// come with torch.
func BenchmarkNew(b *testing.B) {
	text := strings.Repeat(valuePrelude+"class A:\n  def f(self, x):\n    for y in self.xs:\n      self.total += model(y).sum().item()\n    return [z.a for z in x if z]\n", 500)
	m := module(b, text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		New(m.Tree)
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile {
		b.Run(name, func(b *testing.B) {
			m := module(b, text(2000))
			b.SetBytes(int64(len(m.Tree.Source.Text)))
			for b.Loop() {
				ask(New(m.Tree))
			}
		})
	}
}
