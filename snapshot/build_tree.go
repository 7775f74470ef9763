package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/value"
)

// tree holds the dicts and lists that are neither events nor anything else with
// a table of its own: settings, lists of traces, what unknown keys hold.
type tree struct {
	nodes [][]value.Value // elements of a list, keys and values of a dict; node 0 is the empty list
	items int
}

// maxTreeItems bounds what unknown keys can make us keep: 8 MB. A recording's own
// trees are a few dozen items. Beyond it only what has become a table stays.
const maxTreeItems = 1 << 20

func (t *tree) empty() value.Value {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, nil)
	}
	return object(objList, 0)
}

func (t *tree) list(items []value.Value) value.Value { return t.add(objList, items) }
func (t *tree) dict(items []value.Value) value.Value { return t.add(objDict, items) }

func (t *tree) add(kind int, items []value.Value) value.Value {
	t.empty()
	if t.items+len(items)+1 > maxTreeItems {
		return object(objDropped, 0)
	}
	t.items += len(items) + 1
	t.nodes = append(t.nodes, append([]value.Value(nil), items...))
	return object(kind, len(t.nodes)-1)
}

// extend adds items to list id. The empty list is shared, so it is not changed.
func (t *tree) extend(id int, items []value.Value) value.Value {
	if id == 0 {
		return t.list(items)
	}
	if t.items+len(items) > maxTreeItems {
		return object(objList, id) // the beginning of a long list tells what it is
	}
	t.items += len(items)
	t.nodes[id] = append(t.nodes[id], items...)
	return object(objList, id)
}

// elements returns the elements of a list of the tree.
func (t *tree) elements(v value.Value) []value.Value {
	if kind, id := asObject(v); kind == objList && id < len(t.nodes) {
		return t.nodes[id]
	}
	return nil
}

// pairs returns the keys and values, in turn, of a dict of the tree.
func (t *tree) pairs(v value.Value) []value.Value {
	if kind, id := asObject(v); kind == objDict {
		return t.nodes[id]
	}
	return nil
}

// maxText bounds the text of a value that stands where text is expected.
const maxText = 1 << 10

// text returns a value as text: strings as they are, anything else much as Python prints it.
func (b *builder) text(v value.Value) string {
	if v.IsString() {
		return b.clean(v)
	}
	var out strings.Builder
	b.write(&out, v, 0)
	return out.String()
}

func (b *builder) write(out *strings.Builder, v value.Value, depth int) {
	if out.Len() > maxText || depth > 8 {
		if !strings.HasSuffix(out.String(), "…") {
			out.WriteString("…")
		}
		return
	}
	switch v.Kind() {
	case value.KindConst:
		out.WriteString(map[value.Value]string{value.True: "True", value.False: "False"}[v])
	case value.KindInt:
		out.WriteString(strconv.FormatInt(v.Small(), 10))
	case value.KindNumber:
		f, _ := b.pool.Float64(v)
		out.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	case value.KindString, value.KindBytes:
		fmt.Fprintf(out, "%q", b.pool.Text(v))
	default:
		b.writeObject(out, v, depth)
	}
}

func (b *builder) writeObject(out *strings.Builder, v value.Value, depth int) {
	switch kind, id := asObject(v); kind {
	case objPair:
		fmt.Fprintf(out, "(%d, %d)", b.events.pools[id][0], b.events.pools[id][1])
	case objDict:
		items := b.tree.pairs(v)
		out.WriteString("{")
		for i := 0; i+1 < len(items); i += 2 {
			if i > 0 {
				out.WriteString(", ")
			}
			b.write(out, items[i], depth+1)
			out.WriteString(": ")
			b.write(out, items[i+1], depth+1)
		}
		out.WriteString("}")
	case objList:
		out.WriteString("[")
		for i, x := range b.tree.elements(v) {
			if i > 0 {
				out.WriteString(", ")
			}
			b.write(out, x, depth+1)
		}
		out.WriteString("]")
	}
}
