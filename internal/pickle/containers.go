package pickle

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/value"
)

// container is a list or dict that may still get elements. On the stack and in the
// memo stands a KindReader value with its index in decoder.open, until it closes.
type container struct {
	state  value.Value   // a list so far; after closing, the container's value
	items  []value.Value // elements not handed over: all of a dict that may get more, the last few of a list
	at     int64         // offset of its creation + 1: its value.Place
	slot   uint32        // memo slot + 1, 0 for none
	more   []uint32      // further memo slots: no known writer makes any
	isList bool
	closed bool
	cut    bool // the input broke off within it
	shared bool // it stands on the stack a second time
}

// forget takes memo slot i from the container: something else was put there.
func (c *container) forget(i uint32) {
	if c.slot == i+1 {
		c.slot = 0
	}
	c.more = slices.DeleteFunc(c.more, func(slot uint32) bool { return slot == i })
}

// push puts a new container on the stack.
func (d *decoder) push(isList bool) {
	d.stack = append(d.stack, value.Of(value.KindReader, uint64(len(d.open))))
	d.open = append(d.open, container{at: d.offset(), isList: isList})
}

// top returns the container at stack position i, which an opcode is about to change.
func (d *decoder) top(i int, isList bool) (*container, error) {
	if i < d.floor() || i >= len(d.stack) {
		return nil, d.syntax("container missing on the stack")
	}
	v := d.stack[i]
	if v.Kind() != value.KindReader {
		if v.IsObject() {
			return nil, &CycleError{Offset: d.offset() - 1, Created: -1}
		}
		return nil, d.syntax("elements for what is no container")
	}
	c := &d.open[v.Payload()]
	if c.closed {
		return nil, &CycleError{Offset: d.offset() - 1, Created: c.at - 1}
	}
	if c.isList != isList {
		return nil, d.syntax("elements of the wrong kind for the container")
	}
	return c, nil
}

// popMark takes the innermost mark off.
func (d *decoder) popMark() (mark, error) {
	n := len(d.marks)
	if n == 0 {
		return mark{}, d.syntax("no mark on the stack")
	}
	m := d.marks[n-1]
	d.marks = d.marks[:n-1]
	return m, nil
}

// next returns the next opcode but for FRAME, which can come between any two.
func (d *decoder) next() byte {
	op := d.buf[d.pos]
	if op == opFrame {
		op = d.buf[d.pos+1+8]
	}
	return op
}

// setItems is SETITEMS: elements above the mark for the dict below it.
func (d *decoder) setItems() error {
	m, err := d.popMark()
	if err != nil {
		return err
	}
	c, err := d.top(m.at-1, false)
	if err != nil {
		return err
	}
	return d.addItems(c, m.at)
}

// setItem is SETITEM: one key and value for the dict below them.
func (d *decoder) setItem() error {
	at := len(d.stack) - 2
	c, err := d.top(at-1, false)
	if err != nil {
		return err
	}
	return d.addItems(c, at)
}

// addItems gives the dict below stack position at the keys and values from there on.
func (d *decoder) addItems(c *container, at int) error {
	items := d.stack[at:]
	if len(items)%2 != 0 {
		return d.syntax("dict with a key that has no value")
	}
	if err := d.resolve(items, c); err != nil {
		return err
	}
	self := d.stack[at-1].Payload()
	d.stack = d.stack[:at]
	if !c.shared {
		d.open = d.open[:self+1] // what was opened after it stood among items
	}
	if c.items != nil || c.shared || !completesDict[d.next()] {
		c.items = append(c.items, items...)
		if c.items == nil {
			c.items = []value.Value{}
		}
		return d.checkItems(c)
	}
	v, err := d.b.Dict(d.place(at-1), items)
	if err != nil {
		return err
	}
	d.settle(c, v)
	d.stack[at-1] = v
	d.open = d.open[:self]
	return nil
}

func (d *decoder) checkItems(c *container) error {
	if len(c.items) > d.opt.MaxStack {
		return &LimitError{What: "dict size", Value: int64(len(c.items) / 2), Limit: int64(d.opt.MaxStack / 2), Offset: d.offset()}
	}
	return nil
}

// place names the container that the value at stack position i will go into, as far
// as one can tell before the opcode that puts it there.
func (d *decoder) place(i int) value.Place {
	floor := d.floor()
	if i > floor && d.stack[i-1].Kind() == value.KindReader {
		if c := &d.open[d.stack[i-1].Payload()]; c.isList {
			return value.Place(c.at) // APPEND comes next
		}
	}
	if floor > 0 && d.stack[floor-1].Kind() == value.KindReader {
		return value.Place(d.open[d.stack[floor-1].Payload()].at)
	}
	return 0
}

// appendItems is APPENDS: elements above the mark for the list below it.
func (d *decoder) appendItems() error {
	m, err := d.popMark()
	if err != nil {
		return err
	}
	c, err := d.top(m.at-1, true)
	if err != nil {
		return err
	}
	return d.extend(c, m.at)
}

// appendItem is APPEND: one element for the list below it.
func (d *decoder) appendItem() error {
	at := len(d.stack) - 1
	c, err := d.top(at-1, true)
	if err != nil {
		return err
	}
	return d.extend(c, at)
}

// extend gives the list below stack position at the elements from there on.
func (d *decoder) extend(c *container, at int) error {
	items := d.stack[at:]
	if err := d.resolve(items, c); err != nil {
		return err
	}
	self := d.stack[at-1].Payload()
	d.stack = d.stack[:at]
	if !c.shared {
		d.open = d.open[:self+1]
	}
	done := completes[d.next()] && !c.shared
	if c.items != nil || !done && len(items) < listBatch {
		c.items = append(c.items, items...)
		if !done && len(c.items) < listBatch {
			return nil
		}
		items, c.items = c.items, nil
	}
	var err error
	if c.state, err = d.b.List(c.state, items); err != nil {
		return err
	}
	if done {
		d.settle(c, c.state)
		d.stack[at-1] = c.state
		d.open = d.open[:self]
	}
	return nil
}

// listBatch elements of a list are handed over at once, whatever batches the pickle
// has: a Builder may take time in proportion to what a list has already. CPython's
// batches are of 1000.
const listBatch = 1000

// settle gives the memo a container's final value.
func (d *decoder) settle(c *container, v value.Value) {
	if c.slot != 0 {
		d.memo.set(c.slot-1, v)
	}
	for _, slot := range c.more {
		d.memo.set(slot, v)
	}
}

// resolve replaces open containers among items, which are about to go into the
// container into, or into a tuple where into is nil, by their values.
func (d *decoder) resolve(items []value.Value, into *container) error {
	for i, v := range items {
		if v.Kind() != value.KindReader {
			continue
		}
		c := &d.open[v.Payload()]
		if c == into {
			return &CycleError{Offset: d.offset() - 1, Created: c.at - 1}
		}
		place := value.Place(0)
		if into != nil {
			place = value.Place(into.at)
		}
		closed, err := d.close(c, place)
		if err != nil {
			return err
		}
		items[i] = closed
	}
	return nil
}

// close ends a container: nothing can be added to it afterwards.
func (d *decoder) close(c *container, in value.Place) (value.Value, error) {
	if c.closed {
		return c.state, nil
	}
	var err error
	switch {
	case !c.isList:
		c.state, err = d.b.Dict(in, c.items)
	case c.state == value.Nothing || c.items != nil:
		c.state, err = d.b.List(c.state, c.items)
	}
	if err != nil {
		return value.Nothing, err
	}
	c.closed, c.items = true, nil
	d.settle(c, c.state)
	return c.state, nil
}

// tuple is TUPLE and FROZENSET, with the elements from stack position at on.
func (d *decoder) tuple(at int) error {
	if at < d.floor() {
		return d.syntax("elements missing on the stack")
	}
	items := d.stack[at:]
	if err := d.resolve(items, nil); err != nil {
		return err
	}
	v, err := d.b.Tuple(items)
	if err != nil {
		return err
	}
	d.stack = append(d.stack[:at], v)
	return nil
}

// markedTuple is tuple for the elements above the mark.
func (d *decoder) markedTuple() error {
	m, err := d.popMark()
	if err != nil {
		return err
	}
	if m.flushed {
		return d.syntax("tuple larger than the stack")
	}
	err = d.tuple(m.at)
	d.open = d.open[:m.open]
	return err
}

// marked is LIST and DICT of protocol 0: a container of the elements above the mark.
func (d *decoder) marked(isList bool) error {
	m, err := d.popMark()
	if err != nil {
		return err
	}
	if m.flushed {
		return d.syntax("container larger than the stack")
	}
	items := append([]value.Value(nil), d.stack[m.at:]...)
	if err := d.resolve(items, nil); err != nil {
		return err
	}
	d.stack, d.open = d.stack[:m.at], d.open[:m.open]
	d.push(isList)
	c := &d.open[len(d.open)-1]
	switch {
	case len(items) == 0:
	case !isList && len(items)%2 != 0:
		err = d.syntax("dict with a key that has no value")
	default:
		c.items = items
	}
	return err
}

// grow makes room on a full stack. Writers that do not batch leave a whole list of
// events there: what is known to go into a list is handed over early.
func (d *decoder) grow() error {
	if cap(d.stack) >= flushStack {
		if flushed, err := d.flush(); flushed || err != nil {
			return err
		}
	}
	if cap(d.stack) >= d.opt.MaxStack {
		return &LimitError{What: "stack size", Value: int64(len(d.stack)) + 1, Limit: int64(d.opt.MaxStack), Offset: d.offset()}
	}
	bigger := make([]value.Value, len(d.stack), min(2*cap(d.stack), d.opt.MaxStack))
	copy(bigger, d.stack)
	d.stack = bigger
	return nil
}

// flush hands the elements of the longest unfinished batch of a list to the Builder
// if they fill half the stack.
func (d *decoder) flush() (bool, error) {
	for i := range d.marks {
		m := &d.marks[i]
		end := len(d.stack) - 3 // a container and its next key and value may follow without a mark
		if i+1 < len(d.marks) {
			end = d.marks[i+1].at - 1
		}
		if m.at == 0 || end-m.at < cap(d.stack)/2 || d.stack[m.at-1].Kind() != value.KindReader {
			continue
		}
		c := &d.open[d.stack[m.at-1].Payload()]
		if !c.isList || c.closed {
			continue
		}
		items := d.stack[m.at:end]
		if err := d.resolve(items, c); err != nil {
			return false, err
		}
		var err error
		if c.state, err = d.b.List(c.state, append(c.items, items...)); err != nil {
			return false, err
		}
		c.items = nil
		d.stack = append(d.stack[:m.at], d.stack[end:]...)
		m.flushed = true
		for j := i + 1; j < len(d.marks); j++ {
			d.marks[j].at -= len(items)
		}
		return true, nil
	}
	return false, nil
}
