package snapshot

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ullage-dev/ullage/internal/value"
)

const (
	// maxJSONDepth is far above the seven levels of a recording, so that unknown
	// keys may hold what they like.
	maxJSONDepth = 64

	jsonBatch  = 1024 // items of a list that are handed over at once
	jsonBuffer = 128 << 10
)

// decodeJSON reads one JSON value and hands its containers to b. Where the input
// breaks off, or stops being JSON, it returns what was complete by then and a
// Truncation; an error is returned only where b, a limit or the reader gave one.
func decodeJSON(r io.Reader, b value.Builder) (value.Value, *Truncation, error) {
	d := &jsonDecoder{s: newJSONScanner(r, jsonBuffer), b: b, pool: b.Pool()}
	d.skipBOM()
	err := d.run()
	if err == nil {
		return d.root, nil, nil
	}
	reason, ok := cutReason(err)
	if !ok {
		return value.Nothing, nil, err
	}
	cut := &Truncation{Offset: d.s.offset(), Reason: reason}
	if cut.Reason == "" {
		cut.Reason = d.reading()
	}
	err = d.cut()
	return d.root, cut, err
}

// cutReason tells whether err means that the input is bad from here on, which is
// survivable, and why; "" stands for its plain end.
func cutReason(err error) (string, bool) {
	var bad *jsonError
	var damaged *DamagedError
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return "", true
	case errors.As(err, &bad), errors.As(err, &damaged):
		return err.Error(), true
	}
	return "", false
}

// jsonDecoder is a stack machine: recursion would let input choose our stack.
type jsonDecoder struct {
	s     *jsonScanner
	b     value.Builder
	pool  *value.Pool
	open  []jsonContainer
	items []value.Value // of all open containers, outermost first
	ids   value.Place
	root  value.Value

	keepCut bool // hand over a dict that breaks off even if it is an element of a list
}

type jsonContainer struct {
	dict  bool
	place value.Place
	list  value.Value // what List returned for the items handed over so far
	first int         // index of its first item in items
}

func (d *jsonDecoder) skipBOM() {
	if c, ok := d.s.peek(); ok && c == 0xef {
		_ = d.s.word("\xef\xbb\xbf") // what else begins with 0xef fails at the first token
	}
}

// run reads until the outermost value is complete. What may come next is told by
// the innermost container and by whether a value, a comma or a key came last.
func (d *jsonDecoder) run() error {
	if err := d.value(); err != nil {
		return err
	}
	for len(d.open) > 0 {
		if err := d.member(); err != nil {
			return err
		}
	}
	return nil
}

// member reads the next item of the innermost container, or its end.
func (d *jsonDecoder) member() error {
	c := &d.open[len(d.open)-1]
	tok, err := d.s.next()
	if err != nil {
		return earlyEnd(err)
	}
	if tok == c.closer() {
		return d.close()
	}
	if len(d.items) > c.first || c.list != value.Nothing {
		if tok != ',' {
			return d.unexpected(tok, "a comma or "+string(c.closer()))
		}
		if tok, err = d.s.next(); err != nil {
			return earlyEnd(err)
		}
	}
	if c.dict {
		if err := d.key(tok); err != nil {
			return err
		}
		return d.value()
	}
	return d.valueOf(tok)
}

func (c *jsonContainer) closer() byte {
	if c.dict {
		return '}'
	}
	return ']'
}

func (d *jsonDecoder) key(tok byte) error {
	if tok != jsonString {
		return d.unexpected(tok, "a key")
	}
	d.items = append(d.items, d.pool.String(d.s.text))
	tok, err := d.s.next()
	if err == nil && tok != ':' {
		err = d.unexpected(tok, "a colon")
	}
	return earlyEnd(err)
}

func (d *jsonDecoder) value() error {
	tok, err := d.s.next()
	if err != nil {
		return earlyEnd(err)
	}
	return d.valueOf(tok)
}

func (d *jsonDecoder) valueOf(tok byte) error {
	switch tok {
	case '{', '[':
		return d.begin(tok == '{')
	case jsonString:
		return d.push(d.pool.String(d.s.text))
	case jsonNumber:
		v, err := d.number()
		if err != nil {
			return err
		}
		return d.push(v)
	case jsonTrue:
		return d.push(value.True)
	case jsonFalse:
		return d.push(value.False)
	case jsonNull:
		return d.push(value.None)
	case jsonNaN:
		return d.push(d.pool.Float(math.NaN()))
	case jsonInfinity:
		return d.push(d.pool.Float(math.Inf(1 - 2*len(d.s.text)))) // the text is a minus sign or nothing
	}
	return d.unexpected(tok, "a value")
}

// number takes the short way for what nearly all numbers are.
func (d *jsonDecoder) number() (value.Value, error) {
	text := d.s.text
	if len(text) <= 18 {
		n, ok := int64(0), true
		for _, c := range text {
			if c < '0' || c > '9' {
				ok = false
				break
			}
			n = n*10 + int64(c-'0')
		}
		if ok {
			return d.pool.Int(n), nil
		}
	}
	v, ok := d.pool.Decimal(string(text))
	if !ok {
		return v, &jsonError{offset: d.s.offset() - int64(len(text)), found: fmt.Sprintf("%q", text), want: "a number"}
	}
	return v, nil
}

func (d *jsonDecoder) begin(dict bool) error {
	if len(d.open) == maxJSONDepth {
		return &TooLargeError{What: fmt.Sprintf("the nesting at byte %d", d.s.offset()), Limit: maxJSONDepth, Unit: "levels"}
	}
	d.ids++
	d.open = append(d.open, jsonContainer{dict: dict, place: d.ids, first: len(d.items)})
	return nil
}

// push adds a complete value to the innermost container.
func (d *jsonDecoder) push(v value.Value) error {
	if len(d.open) == 0 {
		d.root = v
		return nil
	}
	d.items = append(d.items, v)
	c := &d.open[len(d.open)-1]
	if c.dict || len(d.items)-c.first < jsonBatch {
		return nil
	}
	return d.flush(c)
}

// flush hands the items of a list over, possibly none.
func (d *jsonDecoder) flush(c *jsonContainer) (err error) {
	c.list, err = d.b.List(c.list, d.items[c.first:])
	d.items = d.items[:c.first]
	return err
}

// close completes the innermost container.
func (d *jsonDecoder) close() (err error) {
	c := d.open[len(d.open)-1]
	var v value.Value
	if c.dict {
		v, err = d.b.Dict(d.parent(), d.items[c.first:])
		d.items = d.items[:c.first]
	} else {
		if len(d.items) > c.first || c.list == value.Nothing {
			err = d.flush(&c)
		}
		v = c.list
	}
	if err != nil {
		return err
	}
	d.open = d.open[:len(d.open)-1]
	return d.push(v)
}

// parent names the container around the innermost one.
func (d *jsonDecoder) parent() value.Place {
	if len(d.open) < 2 {
		return 0
	}
	return d.open[len(d.open)-2].place
}

// cut completes every open container with what it has, innermost first.
func (d *jsonDecoder) cut() error {
	for len(d.open) > 0 {
		c := &d.open[len(d.open)-1]
		if !c.dict {
			if err := d.close(); err != nil {
				return err
			}
			continue
		}
		items := d.items[c.first:]
		items = items[:len(items)&^1] // less a key whose value is missing
		d.items = d.items[:c.first]
		d.open = d.open[:len(d.open)-1]
		if d.inList() && !d.keepCut {
			continue // one event or segment of many: what is left of it may look like something else
		}
		v := d.b.CutDict(items)
		if v == value.Nothing {
			continue
		}
		if err := d.push(v); err != nil {
			return err
		}
	}
	return nil
}

func (d *jsonDecoder) inList() bool { return len(d.open) > 0 && !d.open[len(d.open)-1].dict }

// reading tells what was being read, for a person: "a list in a dict".
func (d *jsonDecoder) reading() string {
	if len(d.open) == 0 {
		return "the file ends before its first value"
	}
	n := len(d.open)
	c := d.open[n-1]
	what := "a list"
	if c.dict {
		what = "a dict"
		if items := d.items[c.first:]; len(items)%2 == 1 {
			what = fmt.Sprintf("the value of %q", d.pool.Text(items[len(items)-1]))
		}
	}
	return fmt.Sprintf("the JSON ends within %s, at depth %d", what, n)
}

func (d *jsonDecoder) unexpected(tok byte, want string) error {
	found := string(tok)
	switch tok {
	case jsonString:
		found = fmt.Sprintf("the string %.40q", d.s.text)
	case jsonNumber:
		found = fmt.Sprintf("the number %s", d.s.text)
	}
	return &jsonError{offset: d.s.offset(), found: found, want: want}
}
