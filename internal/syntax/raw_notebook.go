package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// readNotebook notes where in the JSON each byte of the cells' code is.
func (r *Raw) readNotebook() error {
	w := jsonWalk{dec: json.NewDecoder(bytes.NewReader(r.data[r.bom:])), data: r.data[r.bom:]}
	if err := w.notebook(); err != nil {
		return fmt.Errorf("%s: %w", r.src.Name, err)
	}
	for _, cell := range append(w.cells, w.sheets...) {
		if cell.kind == "code" {
			r.text = append(r.text, r.readCell(append(cell.source, cell.input...))...)
		}
	}
	if len(r.text) != len(r.src.Text) { // a key twice, or in capitals
		return fmt.Errorf("%s: the code of its cells is not where it should be", r.src.Name)
	}
	return nil
}

// readCell does what reading the notebook did to a cell, with places for bytes.
func (r *Raw) readCell(literals []rawPiece) []rawPiece {
	var text []byte
	var places []rawPiece
	end := nowhere
	for _, l := range literals {
		t, p := unescapeJSON(r.data[r.bom:], l)
		text, places = append(text, t...), append(places, p...)
		end = l.end - 1
	}
	kept := places[:0]
	last := byte(0)
	for k, c := range text {
		switch {
		case c == '\n' && last == '\r': // the pair is one line end
			kept[len(kept)-1].end = places[k].end
		default:
			kept = append(kept, places[k])
		}
		last = c
	}
	if last != '\n' && last != '\r' {
		kept = append(kept, rawPiece{end, end})
	}
	for k := range kept {
		if kept[k].start != nowhere {
			kept[k].start += r.bom
			kept[k].end += r.bom
		}
	}
	return kept
}

// jsonWalk goes through a notebook, and notes where the texts of its cells are.
type jsonWalk struct {
	dec    *json.Decoder
	data   []byte
	cells  []rawCell
	sheets []rawCell // of format 3
}

// rawCell is a cell with the places of its texts, quotes included.
type rawCell struct {
	kind          string
	source, input []rawPiece
}

func (w *jsonWalk) notebook() error {
	return w.object(func(key string) error {
		switch key {
		case "cells":
			return w.list(func() error { return w.cell(&w.cells) })
		case "worksheets":
			return w.list(func() error {
				return w.object(func(key string) error {
					if key == "cells" {
						return w.list(func() error { return w.cell(&w.sheets) })
					}
					return w.skip()
				})
			})
		}
		return w.skip()
	})
}

func (w *jsonWalk) cell(to *[]rawCell) error {
	var cell rawCell
	err := w.object(func(key string) (err error) {
		switch key {
		case "cell_type":
			var kind json.Token
			kind, err = w.dec.Token()
			cell.kind, _ = kind.(string)
		case "source":
			cell.source, err = w.texts()
		case "input":
			cell.input, err = w.texts()
		default:
			err = w.skip()
		}
		return err
	})
	*to = append(*to, cell)
	return err
}

// texts reads a text, or a list of texts.
func (w *jsonWalk) texts() ([]rawPiece, error) {
	if w.next() == '[' {
		var all []rawPiece
		err := w.list(func() error {
			one, err := w.texts()
			all = append(all, one...)
			return err
		})
		return all, err
	}
	start := w.at()
	t, err := w.dec.Token()
	if _, ok := t.(string); err != nil || !ok {
		return nil, err
	}
	return []rawPiece{{start, int(w.dec.InputOffset())}}, nil
}

// at is where the next token begins.
func (w *jsonWalk) at() int {
	at := int(w.dec.InputOffset())
	for at < len(w.data) && bytes.IndexByte([]byte(" \t\r\n,:"), w.data[at]) >= 0 {
		at++
	}
	return at
}

func (w *jsonWalk) next() byte {
	if at := w.at(); at < len(w.data) {
		return w.data[at]
	}
	return 0
}

// object calls read for each key, which reads its value. What is no object is passed over.
func (w *jsonWalk) object(read func(key string) error) error {
	if w.next() != '{' {
		return w.skip()
	}
	return w.inside(func() error {
		t, err := w.dec.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		return read(key)
	})
}

func (w *jsonWalk) list(read func() error) error {
	if w.next() != '[' {
		return w.skip()
	}
	return w.inside(read)
}

// inside reads what is between two brackets.
func (w *jsonWalk) inside(read func() error) error {
	if _, err := w.dec.Token(); err != nil {
		return err
	}
	for w.dec.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

func (w *jsonWalk) skip() error {
	var value json.RawMessage
	return w.dec.Decode(&value)
}

// unescapeJSON reads a text as encoding/json does, with the place of each byte.
func unescapeJSON(data []byte, literal rawPiece) (text []byte, places []rawPiece) {
	at, end := literal.start+1, literal.end-1
	for at < end {
		r, size := utf8.DecodeRune(data[at:end])
		if r == '\\' {
			r, size = unescape(data[at:end])
		}
		before := len(text)
		text = utf8.AppendRune(text, r)
		for range len(text) - before {
			places = append(places, rawPiece{at, at + size})
		}
		at += size
	}
	return text, places
}

// unescape reads what begins with a backslash.
func unescape(raw []byte) (r rune, size int) {
	if len(raw) < 2 {
		return utf8.RuneError, 1
	}
	switch c := raw[1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r = hexRune(raw)
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(raw) > 6 {
			if pair := utf16.DecodeRune(r, hexRune(raw[6:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	default:
		return rune(c), 2
	}
}

// hexRune reads \uXXXX.
func hexRune(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// escapeJSON writes a text as it stands between quotes.
func escapeJSON(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a text can be written
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes()[1:], []byte("\"\n"))
}
