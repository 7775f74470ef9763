package pickle

import "github.com/ullage-dev/ullage/internal/value"

// unwind builds what it can of the data before an error, from the innermost container
// out. The opcodes that would have put open containers into one another are missing,
// so where a value belongs has to be told from what stands below it.
func (d *decoder) unwind() value.Value {
	if n := len(d.stack); n > 0 && d.isOpen(d.stack[n-1], false) {
		d.open[d.stack[n-1].Payload()].cut = true
	}
	for len(d.stack) > 0 {
		switch n := len(d.stack); {
		case d.cutInto():
		case len(d.marks) > 0:
			d.unwindMark()
		case n > 1:
			d.stack = d.stack[:n-1] // a key without its value
		default:
			return d.cut(d.stack[0])
		}
	}
	return value.Nothing
}

// cutInto puts the value on top of the stack into the container right below it, as
// APPEND and SETITEM would: CPython has these for containers of one element.
func (d *decoder) cutInto() bool {
	n, floor := len(d.stack), d.floor()
	if n-2 >= floor && d.isOpen(d.stack[n-2], true) && d.wantsTop() {
		v := d.cutFor(d.stack[n-2], d.stack[n-1])
		d.addCut(d.stack[n-2], []value.Value{v})
		d.stack = d.stack[:n-1]
		return true
	}
	if n-3 >= floor && d.isOpen(d.stack[n-3], false) && d.stack[n-2].IsString() && !d.inDict() {
		v := d.cutFor(d.stack[n-3], d.stack[n-1])
		d.addCut(d.stack[n-3], []value.Value{d.stack[n-2], v})
		d.stack = d.stack[:n-2]
		return true
	}
	return false
}

// inDict tells whether the innermost mark is a dict's.
func (d *decoder) inDict() bool {
	floor := d.floor()
	return floor > 0 && d.isOpen(d.stack[floor-1], false)
}

// wantsTop tells whether the list below the value on top is to get it, rather than
// being its neighbour in a larger container.
func (d *decoder) wantsTop() bool {
	n, floor := len(d.stack), d.floor()
	switch {
	case floor == 0:
		return true
	case d.inDict():
		return (n-1-floor)%2 == 0 && !d.stack[n-1].IsString() // the place of a key, which no container can be
	}
	if d.stack[n-2].Payload() <= d.stack[floor-1].Payload() {
		return false // it surrounds both
	}
	below := &d.open[d.stack[n-2].Payload()]
	return below.state == value.Nothing && below.items == nil && !d.isOpen(d.stack[n-1], true)
}

// unwindMark ends the innermost batch.
func (d *decoder) unwindMark() {
	m := d.marks[len(d.marks)-1]
	d.marks = d.marks[:len(d.marks)-1]
	items := d.stack[m.at:]
	d.stack = d.stack[:m.at]
	if m.at == 0 {
		return
	}
	into := d.stack[m.at-1]
	for i, v := range items {
		items[i] = d.cutFor(into, v)
	}
	d.addCut(into, items)
}

// cutFor is cut for an element of into. A damaged pickle can name a container that
// surrounds into: that one is still to be finished.
func (d *decoder) cutFor(into, v value.Value) value.Value {
	if v.Kind() == value.KindReader && into.Kind() == value.KindReader && v.Payload() <= into.Payload() {
		return value.None
	}
	return d.cut(v)
}

func (d *decoder) isOpen(v value.Value, isList bool) bool {
	if v.Kind() != value.KindReader {
		return false
	}
	c := &d.open[v.Payload()]
	return !c.closed && c.isList == isList
}

func (d *decoder) addCut(into value.Value, items []value.Value) {
	switch {
	case d.isOpen(into, true):
		kept := items[:0]
		for _, v := range items {
			if v != value.Nothing {
				kept = append(kept, v)
			}
		}
		c := &d.open[into.Payload()]
		c.items = append(c.items, kept...)
	case d.isOpen(into, false):
		c := &d.open[into.Payload()]
		c.cut = true
		c.items = append(c.items, items[:len(items)&^1]...)
	}
}

// cut returns the value of what may be an unfinished container.
func (d *decoder) cut(v value.Value) value.Value {
	if v.Kind() != value.KindReader {
		return v
	}
	c := &d.open[v.Payload()]
	switch {
	case c.closed:
	case !c.isList && (c.cut || c.items == nil):
		c.state = d.b.CutDict(c.items)
	case !c.isList:
		c.state, _ = d.b.Dict(0, c.items)
	case c.state == value.Nothing || c.items != nil:
		c.state, _ = d.b.List(c.state, c.items)
	}
	c.closed = true
	return c.state
}
