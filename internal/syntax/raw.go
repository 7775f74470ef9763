package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Raw leads from a source's text back to the bytes of the file that it was read from, so that
// a change of the text can be made in the file, and the rest of the file stays as it is.
type Raw struct {
	src  *Source
	data []byte
	bom  int
	same bool       // the text has the file's bytes, behind the mark
	text []rawPiece // else, for each byte of the text, where it is in the file
}

// rawPiece is where a byte of the text is in the file: more than one byte where it is
// escaped there. What was added when the file was read has no length.
type rawPiece struct{ start, end int }

// nowhere is the place of a byte that the file has no place for.
const nowhere = -1

// Edit replaces the bytes of a text from Start to End.
type Edit struct {
	Start, End int
	Text       string
}

// NewRaw needs the bytes that src was read from. It returns an error where the way back is
// not known: the characters of encodings of Chinese and Korean are not kept.
func NewRaw(src *Source, data []byte) (*Raw, error) {
	r := &Raw{src: src, data: data}
	if src.BOM {
		r.bom = len("\xef\xbb\xbf")
	}
	switch {
	case src.cells != nil:
		return r, r.readNotebook()
	case len(src.Text) == len(data)-r.bom:
		r.same = true
	case src.Encoding == "latin-1", src.Encoding == "iso-8859-15", src.Encoding == "cp1252":
		r.readSingleBytes()
	default:
		return nil, fmt.Errorf("%s: has text in %s, which can be read but not written", src.Name, src.Encoding)
	}
	return r, nil
}

// readSingleBytes notes places in an encoding in which each character has one byte.
func (r *Raw) readSingleBytes() {
	r.text = make([]rawPiece, 0, len(r.src.Text))
	at := r.bom
	for text := r.src.Text; len(text) > 0; at++ {
		_, size := utf8.DecodeRune(text)
		for range size {
			r.text = append(r.text, rawPiece{at, at + 1})
		}
		text = text[size:]
	}
}

// span is where a piece of the text is in the file.
func (r *Raw) span(start, end int) (rawPiece, bool) {
	if r.same {
		return rawPiece{start + r.bom, end + r.bom}, end+r.bom <= len(r.data)
	}
	from := rawPiece{len(r.data), len(r.data)}
	if start < len(r.text) {
		from = r.text[start]
	}
	if end == start {
		return rawPiece{from.start, from.start}, from.start != nowhere
	}
	to := r.text[end-1]
	return rawPiece{from.start, to.end}, from.start != nowhere && to.end != nowhere
}

// Position is where an offset of the text is in the file as it is stored: in a notebook, a
// line of its JSON.
func (r *Raw) Position(offset int) Position {
	at, ok := r.span(offset, offset)
	if !ok || r.src.cells == nil {
		return r.src.Position(offset)
	}
	before := r.data[:at.start]
	return Position{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
}

// Rewrite returns the file with edits made, which are in the order of the text, none within
// another. What they add gets the encoding and the line ends of the file.
func (r *Raw) Rewrite(edits []Edit) ([]byte, error) {
	var out []byte
	done := 0
	for _, e := range edits {
		if e.Start > e.End || e.End > len(r.src.Text) {
			return nil, fmt.Errorf("%s: an edit of bytes %d to %d of %d", r.src.Name, e.Start, e.End, len(r.src.Text))
		}
		at, ok := r.span(e.Start, e.End)
		if !ok || at.start < done || at.end < at.start {
			return nil, fmt.Errorf("%s: %s: the file has no place for a change here", r.src.Name, r.src.Position(e.Start))
		}
		text, err := r.encode(e.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.src.Name, r.src.Position(e.Start), err)
		}
		out = append(append(out, r.data[done:at.start]...), text...)
		done = at.end
	}
	return append(out, r.data[done:]...), nil
}

// encode gives a text the form of the file.
func (r *Raw) encode(text string) ([]byte, error) {
	switch {
	case r.src.cells != nil:
		return escapeJSON(text), nil
	case r.src.Encoding != "utf-8" && !ascii(text):
		return nil, errors.New("the change has characters that the file's encoding may not have")
	}
	return bytes.ReplaceAll([]byte(text), []byte("\n"), r.lineEnd()), nil
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lineEnd is what the first line of the file ends in.
func (r *Raw) lineEnd() []byte {
	at := bytes.IndexAny(r.data, "\r\n")
	switch {
	case at < 0 || r.data[at] == '\n':
		return []byte("\n")
	case at+1 < len(r.data) && r.data[at+1] == '\n':
		return []byte("\r\n")
	}
	return []byte("\r")
}
