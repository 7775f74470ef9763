package places

import (
	"maps"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/tomlfile"
)

// readJSON reads JSON as the YAML that it is, with what editors let pass in it: comments
// in lines of their own.
func readJSON(text string) []*tree {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "//") {
			body := strings.TrimRight(line, "\r\n")
			line = strings.Repeat(" ", len(body)) + line[len(body):]
		}
		b.WriteString(line)
	}
	return readYAML(b.String())
}

// readTOML reads a file of TOML. One that is not well-formed has nothing.
func readTOML(name, text string) []*tree {
	d, fault := tomlfile.Read(name, []byte(text))
	if fault != nil {
		return nil
	}
	r := tomlReader{d, text}
	return []*tree{r.tree("", d.Root, span{})}
}

type tomlReader struct {
	*tomlfile.Document
	text string
}

// tree makes a tree of a value at a path; at is the line of its key.
func (r *tomlReader) tree(path string, value any, at span) *tree {
	t := &tree{at: at}
	switch v := value.(type) {
	case map[string]any:
		t.kind = mapTree
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := tomlfile.Join(path, name)
			line := r.lineFrom(r.Offset(inner))
			t.keys = append(t.keys, pair{&tree{text: name, at: line}, r.tree(inner, v[name], line)})
		}
	case []any:
		t.kind = listTree
		for i, item := range v {
			inner := tomlfile.Row(path, i)
			t.items = append(t.items, r.tree(inner, item, r.lineFrom(r.Offset(inner))))
		}
	case string:
		t.text = v
		if i := strings.Index(r.text[at.start:at.end], v); i >= 0 && v != "" {
			t.bytes = span{at.start + i, at.start + i + len(v)}
		}
	}
	return t
}

// lineFrom is an offset to the end of its line.
func (r *tomlReader) lineFrom(at int) span {
	rest, _, _ := strings.Cut(r.text[at:], "\n")
	return span{at, at + len(strings.TrimRight(rest, " \t\r"))}
}
