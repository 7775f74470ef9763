package syntax

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newParser(t testing.TB) *Parser {
	t.Helper()
	p, err := New(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func parse(t testing.TB, p *Parser, name, text string) *Tree {
	t.Helper()
	src, err := Read(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.Parse(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The module can spend memory and steps, and has nothing else to misuse.
func TestModuleImportsNothing(t *testing.T) {
	p := newParser(t)
	for _, f := range p.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		t.Errorf("imports %s.%s", module, name)
	}
}

func TestNode(t *testing.T) {
	tree := parse(t, newParser(t), "a.py", "import torch as T, os  # é\nfor x in y:\n    é.f(x, k=1)\n")
	imp := tree.Root().Child(0)
	var names []string
	for n := range imp.Fields("name") {
		names = append(names, n.Kind()+" "+n.Text())
	}
	if diff := cmp.Diff([]string{"aliased_import torch as T", "dotted_name os"}, names); diff != "" {
		t.Error(diff)
	}
	var call Node
	for n := range tree.Root().Descendants() {
		if n.Is("call") {
			call = n
		}
	}
	loop := call.Enclosing("for_statement", "while_statement")
	if !loop.Ok() || !call.In(loop) || loop.In(call) || loop.Field("left").Text() != "x" {
		t.Errorf("the loop around the call is %q", loop.Text())
	}
	argument := call.Field("arguments").Child(1)
	if got := fmt.Sprint(argument.Kind(), argument.Position(), " ", argument.Field("value").FieldName()); got != "keyword_argument"+"3:12 value" {
		t.Error(got)
	}
	if got := tree.Covering(argument.Start(), argument.End()); got != argument {
		t.Errorf("covering: %s", got.Text())
	}
	if none := call.Field("no such").Field("left").Parent().Child(3); none.Ok() || none.Kind()+none.Text() != "" || none.Is("") {
		t.Error("a path that ends nowhere is something")
	}
	if tree.At(call.Index()) != call || tree.Len() < 20 {
		t.Error("index")
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ text, at string }{
		{"x = 1\n", ""},
		{"x = 1\ny = = 2\nz = 3\n", "2:5"},
		{"def f(:\n    pass\n", "1:7"},
		{"print(1\n", "1:1"},
	}
	p := newParser(t)
	for _, test := range tests {
		tree := parse(t, p, "a.py", test.text)
		var at []string
		for _, n := range tree.Errors() {
			at = append(at, n.Position().String())
		}
		if got := strings.Join(at, " "); got != test.at {
			t.Errorf("%q: errors at %q, want %q", test.text, got, test.at)
		}
		if tree.Root().HasError() != (test.at != "") {
			t.Errorf("%q: HasError", test.text)
		}
	}
}

func TestEncodings(t *testing.T) {
	tests := []struct{ name, in, want, wrong string }{
		{"plain", "a = 'é'\n", "a = 'é'\n", ""},
		{"mark", "\xef\xbb\xbfa = 1\n", "a = 1\n", ""},
		{"line ends", "a\r\nb\rc\n", "a\r\nb\nc\n", ""},
		{"latin-1", "# -*- coding: latin-1 -*-\n'\xe9'\n", "# -*- coding: latin-1 -*-\n'é'\n", ""},
		{"second line", "#!/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'\n", "#!/bin/python\n# vim: set fileencoding=cp1252 :\n'€'\n", ""},
		{"not after code", "a = 1\n# coding: latin-1\n'\xe9'\n", "", "x.py:3: byte 0xe9 is not UTF-8, and no other encoding is declared"},
		{"second byte is a backslash", "# coding: gbk\n'\x95\\'\n", "# coding: gbk\n'\ufffd'\n", ""},
		{"unknown, ASCII", "# coding: koi8-r\na\n", "# coding: koi8-r\na\n", ""},
		{"unknown", "# coding: koi8-r\n'\xf0'\n", "", `x.py:2: byte 0xf0 cannot be read in the declared encoding "koi8-r"`},
		{"zero", "a\n\x00", "", "x.py:2: has a zero byte; Python sources are text"},
	}
	for _, test := range tests {
		src, err := Read("x.py", []byte(test.in))
		if test.wrong != "" {
			if err == nil || err.Error() != test.wrong {
				t.Errorf("%s: error %v, want %s", test.name, err, test.wrong)
			}
			continue
		}
		if err != nil || string(src.Text) != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, src.Text, err, test.want)
		}
	}
}

func TestLimits(t *testing.T) {
	p := newParser(t)
	for name, text := range map[string]string{
		"long": strings.Repeat("#\n", MaxSourceBytes/2+1),
		"deep": strings.Repeat("(", 2*MaxDepth) + strings.Repeat(")", 2*MaxDepth),
	} {
		src, err := Read(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var limit *LimitError
		if _, err := p.Parse(t.Context(), src); !errors.As(err, &limit) {
			t.Errorf("%s: error %v, want a *LimitError", name, err)
		}
	}
	parse(t, p, "a.py", "x = 1\n") // a parser survives what it refused
}

func TestParallel(t *testing.T) {
	p := newParser(t)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			text := strings.Repeat("f(x)\n", 100*(k+1))
			src, err := Read("a.py", []byte(text))
			if err != nil {
				t.Error(err)
				return
			}
			tree, err := p.Parse(context.Background(), src)
			if err != nil || len(tree.Errors()) > 0 || tree.Root().End() != len(text) {
				t.Errorf("%d: %v", k, err)
			}
		})
	}
	wg.Wait()
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		p, err := New(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		parse(t, p, "a.py", "x = 1\n")
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzParse: any bytes make a tree or a typed error, and the tree fits the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"x = 1\n", "def f(:\n", "# coding: gbk\n\x95\\", "f'{a!r:{b}}'", "\xef\xbb\xbfif a:\n\tb\r\n  c", `{"cells":[{"cell_type":"code","source":["%%time\n","!ls \\\n"," x\n"]}]}`} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	p := newParser(f)
	f.Fuzz(func(t *testing.T, data []byte, notebook bool) {
		name := "a.py"
		if notebook {
			name = "a.ipynb"
		}
		src, err := Read(name, data)
		if err != nil {
			if wrong := (*Error)(nil); !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			return
		}
		tree, err := p.Parse(context.Background(), src)
		if err != nil {
			if limit := (*LimitError)(nil); !errors.As(err, &limit) {
				t.Fatal(err)
			}
			return
		}
		for n := range tree.Root().Descendants() {
			if n.Start() > n.End() || n.End() > len(src.Text) || n.Parent().Ok() && !n.In(n.Parent()) {
				t.Fatalf("%s from %d to %d", n.Kind(), n.Start(), n.End())
			}
			n.Position()
		}
	})
}

// BenchmarkParse has a budget of 1 MB/s on one core, for code that is as dense as this: 1.3
// measured. The standard library has 2.3.
func BenchmarkParse(b *testing.B) {
	p := newParser(b)
	text := strings.Repeat(`
class Net(nn.Module):
    def forward(self, x: torch.Tensor, *, mask=None) -> torch.Tensor:
        for layer in self.layers:  # each in turn
            x = layer(x, mask=mask) + self.scale[0] * x
        return F.relu(self.out(x)) if mask is None else {"x": x, "mask": mask}
`, 1000)
	src, err := Read("a.py", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), src); err != nil {
			b.Fatal(err)
		}
	}
}
