package settings

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds the file: some thousand quotas fit.
const maxFile = 256 << 10

// document is a TOML file as values, and where each key stands.
type document struct {
	name string
	text []byte
	root map[string]any
	at   map[string]int // offset of a key by its path, as in quota[1].peak
}

// readDocument reads a file. A file that is no TOML has one fault: what follows it can mean
// anything.
func readDocument(name string, text []byte) (*document, *Fault) {
	d := &document{name: name, text: text, root: map[string]any{}, at: map[string]int{}}
	if len(text) > maxFile {
		return d, &Fault{name, fmt.Sprintf("the file has %d bytes; at most %d are read", len(text), maxFile)}
	}
	if err := toml.Unmarshal(text, &d.root); err != nil {
		var at *toml.DecodeError
		if !errors.As(err, &at) {
			return d, &Fault{name, strings.TrimPrefix(err.Error(), "toml: ")}
		}
		line, column := at.Position()
		return d, &Fault{fmt.Sprintf("%s:%d:%d", name, line, column), strings.TrimPrefix(at.Error(), "toml: ")}
	}
	d.locate()
	return d, nil
}

// locate notes where each key stands. The decoder tells of places in errors only, and of the
// first one that it meets.
func (d *document) locate() {
	l := locator{at: d.at, rows: map[string]int{}}
	var p unstable.Parser
	p.Reset(d.text)
	table := ""
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = l.follow("", e.Key(), false)
		case unstable.ArrayTable:
			table = l.follow("", e.Key(), true)
		case unstable.KeyValue:
			l.value(l.follow(table, e.Key(), false), e.Value())
		}
	}
}

// locator fills in the places of keys.
type locator struct {
	at   map[string]int
	rows map[string]int // how many rows an array of tables has by now
}

// follow goes along a dotted key and returns its path. A name of an array of tables is its
// last row; in the header of a row it begins the next.
func (l *locator) follow(path string, keys unstable.Iterator, row bool) string {
	for keys.Next() {
		k := keys.Node()
		path = joinPath(path, string(k.Data))
		if _, ok := l.at[path]; !ok {
			l.at[path] = int(k.Raw.Offset)
		}
		name, last := path, keys.IsLast()
		if row && last {
			l.rows[name]++
		}
		if n := l.rows[name]; n > 0 {
			path = rowPath(name, n-1)
		}
		if row && last {
			l.at[path] = int(k.Raw.Offset)
		}
	}
	return path
}

// value notes the places within a value.
func (l *locator) value(path string, v *unstable.Node) {
	switch v.Kind {
	case unstable.Array:
		inside := v.Children()
		for i := 0; inside.Next(); i++ {
			element := rowPath(path, i)
			if n := inside.Node(); n.Raw.Length > 0 {
				l.at[element] = int(n.Raw.Offset)
			}
			l.value(element, inside.Node())
		}
	case unstable.InlineTable:
		inside := v.Children()
		for inside.Next() {
			l.value(l.follow(path, inside.Node().Key(), false), inside.Node().Value())
		}
	}
}

func joinPath(table, name string) string {
	if table == "" {
		return name
	}
	return table + "." + name
}

func rowPath(name string, row int) string { return fmt.Sprintf("%s[%d]", name, row) }

// offset is where a path stands. What has no place of its own has that of what it is in.
func (d *document) offset(path string) int {
	at, ok := d.at[path]
	for !ok && path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		at, ok = d.at[path]
	}
	return at
}

// place is the line and column of an offset, counted from 1, columns in characters.
func (d *document) place(at int) string {
	before := d.text[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%s:%d:%d", d.name, line, column)
}
