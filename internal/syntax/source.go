package syntax

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Source is the text of a file.
type Source struct {
	Name     string // as given
	Text     []byte // UTF-8, without a byte order mark; a lone CR, which ends a line, is LF
	Encoding string // what the file was in: "utf-8", "latin-1", …
	BOM      bool   // the file began with a byte order mark
	cells    []Cell // of a notebook
	lines    []int  // offset at which each line begins
}

// Cell is a cell of a notebook whose code is in the text.
type Cell struct {
	Number int // among all cells of the notebook, from 1
	Line   int // of the text, from 1, on which it begins
}

// Position is a place in a file as people name it.
type Position struct {
	Cell   int // of a notebook, from 1; 0 in a Python file
	Line   int // from 1; in a notebook, of the cell
	Column int // in characters, from 1
}

// String returns line:column, and of a notebook the cell before it.
func (p Position) String() string {
	if p.Cell > 0 {
		return fmt.Sprintf("cell %d:%d:%d", p.Cell, p.Line, p.Column)
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// Error is a file that is not readable as a source.
type Error struct {
	Name string // of the file
	Line int    // from 1; 0 where no line is meant
	What string
	hint string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.What)
	}
	return e.Name + ": " + e.What
}

// Hint says what may help; empty where nothing is known.
func (e *Error) Hint() string { return e.hint }

// Read makes a source of a file's bytes, of a notebook where the name ends in .ipynb. The
// bytes must not change afterwards. The error is an *Error.
func Read(name string, data []byte) (*Source, error) {
	if strings.EqualFold(path.Ext(name), ".ipynb") {
		return readNotebook(name, data)
	}
	return readPython(name, data)
}

func readPython(name string, data []byte) (*Source, error) {
	src := &Source{Name: name}
	data, src.BOM = bytes.CutPrefix(data, []byte("\xef\xbb\xbf"))
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return nil, &Error{Name: name, Line: lineOf(data, at), What: "has a zero byte; Python sources are text", hint: "save it as UTF-8, not UTF-16"}
	}
	declared := declaredEncoding(data)
	src.Encoding = canonical(declared)
	text, bad := decode(data, src.Encoding)
	if bad >= 0 {
		return nil, undecodable(name, declared, data, bad)
	}
	src.setText(text)
	return src, nil
}

func undecodable(name, declared string, data []byte, at int) *Error {
	e := &Error{Name: name, Line: lineOf(data, at), hint: "save the file as UTF-8"}
	if canonical(declared) == "utf-8" {
		e.What = fmt.Sprintf("byte 0x%02x is not UTF-8, and no other encoding is declared", data[at])
	} else {
		e.What = fmt.Sprintf("byte 0x%02x cannot be read in the declared encoding %.40q", data[at], declared)
	}
	return e
}

func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// setText ends lines as Python does: at LF, CR LF, and CR alone. The last becomes LF, which
// moves nothing.
func (s *Source) setText(text []byte) {
	if loneCR(text) {
		text = slices.Clone(text)
		for k, c := range text {
			if c == '\r' && (k+1 == len(text) || text[k+1] != '\n') {
				text[k] = '\n'
			}
		}
	}
	s.Text = text
	s.lines = append(s.lines[:0], 0)
	for k, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, k+1)
		}
	}
}

func loneCR(text []byte) bool {
	for rest := text; ; {
		at := bytes.IndexByte(rest, '\r')
		if at < 0 {
			return false
		}
		if at+1 == len(rest) || rest[at+1] != '\n' {
			return true
		}
		rest = rest[at+1:]
	}
}

// Cells returns the cells of a notebook that have code; nil for a Python file.
func (s *Source) Cells() []Cell { return s.cells }

// LineCount returns the number of lines of the text, that behind the last line end included.
func (s *Source) LineCount() int { return len(s.lines) }

// Line returns a line of the text, from 1, without its end; empty beyond the text.
func (s *Source) Line(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	end := len(s.Text)
	if line < len(s.lines) {
		end = s.lines[line]
	}
	return string(bytes.TrimRight(s.Text[s.lines[line-1]:end], "\r\n"))
}

// TextLine returns the line of the text, from 1, that an offset is on.
func (s *Source) TextLine(offset int) int {
	return sort.Search(len(s.lines), func(k int) bool { return s.lines[k] > offset })
}

// Position returns where an offset of the text is in the file.
func (s *Source) Position(offset int) Position {
	offset = min(max(offset, 0), len(s.Text))
	line := s.TextLine(offset)
	pos := Position{Line: line, Column: 1 + utf8.RuneCount(s.Text[s.lines[line-1]:offset])}
	if k := sort.Search(len(s.cells), func(k int) bool { return s.cells[k].Line > line }); k > 0 {
		pos.Cell = s.cells[k-1].Number
		pos.Line = line - s.cells[k-1].Line + 1
	}
	return pos
}

// codingLine is Python's own rule for a declared encoding, from PEP 263.
var codingLine = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)

var blankLine = regexp.MustCompile(`^[ \t\f]*(?:[#\r\n]|$)`)

// declaredEncoding looks at the first line, and at the second where the first has no code.
func declaredEncoding(data []byte) string {
	for range 2 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if m := codingLine.FindSubmatch(line); m != nil {
			return string(m[1])
		}
		if !blankLine.Match(line) {
			break
		}
		data = rest
	}
	return "utf-8"
}

// canonical returns the one name of an encoding that is read; others stay as they are.
func canonical(encoding string) string {
	e := strings.ReplaceAll(strings.ToLower(encoding), "_", "-")
	switch {
	case e == "utf-8", e == "utf8", strings.HasPrefix(e, "utf-8-"):
		return "utf-8"
	case slices.Contains([]string{"latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso-latin-1", "l1"}, e), strings.HasPrefix(e, "latin-1-"):
		return "latin-1"
	case slices.Contains([]string{"iso-8859-15", "iso8859-15", "latin-9", "latin9"}, e):
		return "iso-8859-15"
	case slices.Contains([]string{"cp1252", "windows-1252", "1252"}, e):
		return "cp1252"
	case slices.Contains([]string{"gbk", "gb2312", "cp936", "gb18030", "big5", "euc-kr", "euc-cn", "cp949"}, e):
		return e
	}
	return e
}

// decode returns UTF-8, or the offset of the first byte that cannot be read; -1 if there is
// none.
func decode(data []byte, encoding string) ([]byte, int) {
	if encoding == "utf-8" {
		return data, invalidUTF8(data)
	}
	high := slices.IndexFunc(data, func(c byte) bool { return c >= utf8.RuneSelf })
	if high < 0 {
		return data, -1 // all encodings that Python takes for sources agree on ASCII
	}
	switch encoding {
	case "latin-1", "iso-8859-15", "cp1252":
		return decodeBytes(data, encoding)
	case "gbk", "gb2312", "cp936", "gb18030", "big5", "euc-kr", "euc-cn", "cp949":
		return maskPairs(data)
	}
	return nil, high
}

func invalidUTF8(data []byte) int {
	for at := 0; !utf8.Valid(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return -1
}

func decodeBytes(data []byte, encoding string) ([]byte, int) {
	out := make([]byte, 0, len(data)+len(data)/8)
	for at, c := range data {
		r := rune(c)
		switch {
		case encoding == "iso-8859-15" && latin9[c] != 0:
			r = latin9[c]
		case encoding == "cp1252" && c >= 0x80 && c < 0xa0:
			if r = cp1252[c-0x80]; r == 0 {
				return nil, at
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, -1
}

// latin9 is where ISO 8859-15 is not ISO 8859-1.
var latin9 = map[byte]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'}

// cp1252 is what the bytes from 0x80 to 0x9f mean; 0 is nothing.
var cp1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// maskPairs puts U+FFFD for each character that is not ASCII in an encoding of Chinese or
// Korean. They stand in comments and strings, where no rule reads them; what matters is
// that the second byte, which may look like a quote or a backslash, does not act as one.
func maskPairs(data []byte) ([]byte, int) {
	out := make([]byte, 0, len(data)*3/2)
	for k := 0; k < len(data); k++ {
		c := data[k]
		if c < utf8.RuneSelf {
			out = append(out, c)
			continue
		}
		if k+1 == len(data) || data[k+1] < 0x30 {
			return nil, k
		}
		k++
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out, -1
}
