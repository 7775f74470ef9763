package places

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// tree is a piece of a configuration, whatever language it is written in.
type tree struct {
	text  string // of a scalar
	kind  treeKind
	keys  []pair
	items []*tree
	open  bool // more is put in from elsewhere: a merge, an alias
	at    span
	bytes span // of a scalar, where the file has the text unchanged
}

type treeKind uint8

const (
	scalarTree treeKind = iota
	mapTree
	listTree
)

type pair struct {
	key   *tree
	value *tree
}

// get follows keys; nil where one is missing. A nil tree has none.
func (t *tree) get(path ...string) *tree {
	for _, name := range path {
		if t == nil {
			return nil
		}
		i := slices.IndexFunc(t.keys, func(p pair) bool { return p.key.text == name })
		if i < 0 {
			return nil
		}
		t = t.keys[i].value
	}
	return t
}

// scalar returns the text of a key's value, or "".
func (t *tree) scalar(path ...string) string {
	if v := t.get(path...); v != nil && v.kind == scalarTree {
		return v.text
	}
	return ""
}

// list returns the items of a key's value.
func (t *tree) list(path ...string) []*tree {
	if v := t.get(path...); v != nil {
		return v.items
	}
	return nil
}

// all calls f for the tree and everything in it, parents first.
func (t *tree) all(f func(*tree)) {
	f(t)
	for _, p := range t.keys {
		p.value.all(f)
	}
	for _, i := range t.items {
		i.all(f)
	}
}

// readYAML reads the documents of a file up to the first that is not well-formed, as one
// of a template's is.
func readYAML(text string) []*tree {
	r := &yamlReader{text: text, lines: lineStarts(text), seen: map[*yaml.Node]*tree{}}
	d := yaml.NewDecoder(strings.NewReader(text))
	var all []*tree
	for {
		var n yaml.Node
		if err := d.Decode(&n); err != nil {
			return all
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			all = append(all, r.tree(n.Content[0], 0))
		}
	}
}

// lineStarts are the offsets at which lines begin.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

type yamlReader struct {
	text  string
	lines []int
	seen  map[*yaml.Node]*tree
}

// maxNesting bounds how deep a configuration is followed.
const maxNesting = 200

func (r *yamlReader) tree(n *yaml.Node, depth int) *tree {
	t := &tree{at: r.span(n), open: depth >= maxNesting}
	switch {
	case t.open:
		t.kind = listTree
	case n.Kind == yaml.AliasNode: // what it stands for is looked at where it is
		return r.alias(n, t)
	case n.Kind == yaml.MappingNode:
		t.kind = mapTree
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.pair(t, n.Content[i], n.Content[i+1], depth)
		}
	case n.Kind == yaml.SequenceNode:
		t.kind = listTree
		for _, item := range n.Content {
			t.items = append(t.items, r.tree(item, depth+1))
		}
	default:
		t.text = n.Value
		t.bytes = r.unchanged(n, t.at.start)
	}
	r.seen[n] = t
	return t
}

// alias stands for a scalar only: larger pieces would be reported where they are not.
func (r *yamlReader) alias(n *yaml.Node, t *tree) *tree {
	if known := r.seen[n.Alias]; known != nil && known.kind == scalarTree {
		t.text = known.text
		return t
	}
	t.kind, t.open = mapTree, true
	return t
}

func (r *yamlReader) pair(t *tree, key, value *yaml.Node, depth int) {
	if key.Tag == "!!merge" {
		t.open = true
		return
	}
	t.keys = append(t.keys, pair{r.tree(key, depth+1), r.tree(value, depth+1)})
}

// span is where a node begins, to the end of the line or of a plain text.
func (r *yamlReader) span(n *yaml.Node) span {
	if n.Line < 1 || n.Line > len(r.lines) {
		return span{}
	}
	at := r.lines[n.Line-1]
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRuneInString(r.text[at:])
		at += size
	}
	rest, _, _ := strings.Cut(r.text[at:], "\n")
	end := at + len(strings.TrimRight(rest, " \t\r"))
	if n.Kind == yaml.ScalarNode && strings.HasPrefix(rest, n.Value) && n.Value != "" {
		end = at + len(n.Value)
	}
	return span{at, end}
}

// unchanged is where the text of a scalar stands without escapes.
func (r *yamlReader) unchanged(n *yaml.Node, at int) span {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		at++
	}
	if n.Value == "" || at > len(r.text) || !strings.HasPrefix(r.text[at:], n.Value) {
		return span{}
	}
	return span{at, at + len(n.Value)}
}
