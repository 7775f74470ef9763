// Package tomlfile reads TOML as values that know their places, so that whoever checks what a
// key means can say on which line it stands. A decoder into structs tells of places in errors
// of its own only, and of the first that it meets.
package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxBytes bounds a file.
const MaxBytes = 256 << 10

// Document is a TOML file as values, and where each key stands.
type Document struct {
	Name string // of the file
	Root map[string]any
	text []byte
	at   map[string]int // offset of a key by its path, as in quota[1].peak
}

// Fault is something in a file that cannot be.
type Fault struct {
	Place string // file:line:column, or the file
	Text  string
}

func (f Fault) String() string { return f.Place + ": " + f.Text }

// Read reads a file. A file that is no TOML has one fault: what follows it can mean anything.
func Read(name string, text []byte) (*Document, *Fault) {
	d := &Document{Name: name, text: text, Root: map[string]any{}, at: map[string]int{}}
	if len(text) > MaxBytes {
		return d, &Fault{name, fmt.Sprintf("the file has %d bytes; at most %d are read", len(text), MaxBytes)}
	}
	if err := toml.Unmarshal(text, &d.Root); err != nil {
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

// locate notes where each key stands.
func (d *Document) locate() {
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
		path = Join(path, string(k.Data))
		if _, ok := l.at[path]; !ok {
			l.at[path] = int(k.Raw.Offset)
		}
		name, last := path, keys.IsLast()
		if row && last {
			l.rows[name]++
		}
		if n := l.rows[name]; n > 0 {
			path = Row(name, n-1)
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
			element := Row(path, i)
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

// Join is the path of a name in a table; the top of a file is "".
func Join(table, name string) string {
	if table == "" {
		return name
	}
	return table + "." + name
}

// Row is the path of a row of a list.
func Row(name string, row int) string { return fmt.Sprintf("%s[%d]", name, row) }

// Offset is where a path stands. What has no place of its own has that of what it is in.
func (d *Document) Offset(path string) int {
	at, ok := d.at[path]
	for !ok && path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		at, ok = d.at[path]
	}
	return at
}

// Place is the line and column of an offset, counted from 1, columns in characters.
func (d *Document) Place(at int) string {
	before := d.text[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%s:%d:%d", d.Name, line, column)
}

// TypeOf names what a value is, for a message that says what was expected in its place.
func TypeOf(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
