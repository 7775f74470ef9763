package snapshot

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONString bounds one string: the longest in a recording are the FX traces
// of frames, some KiB each.
const maxJSONString = 16 << 20

// Tokens of JSON: punctuation stands for itself.
const (
	jsonString   = '"'
	jsonNumber   = '0'
	jsonTrue     = 't'
	jsonFalse    = 'f'
	jsonNull     = 'n'
	jsonNaN      = 'N'
	jsonInfinity = 'I' // its text is "-" or empty
)

var minus = []byte("-")

// jsonError is a place where a file is not JSON. It becomes the reason of a Truncation.
type jsonError struct {
	offset      int64
	found, want string
}

func (e *jsonError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: found %s, expected %s", e.offset, e.found, e.want)
}

// jsonScanner cuts a stream into tokens. It is the standard library's job, but
// encoding/json's streaming decoder makes a Go value of every token, which is
// several times slower than the disk, and does not know NaN.
type jsonScanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64  // offset of buf[0]
	text     []byte // of the last string or number; valid until the next token
	scratch  []byte
	err      error // met after buf[:end]
}

func newJSONScanner(r io.Reader, size int) *jsonScanner {
	return &jsonScanner{r: r, buf: make([]byte, size)}
}

// offset is where the next byte lies.
func (s *jsonScanner) offset() int64 { return s.base + int64(s.pos) }

// fill reads on once everything in buf has been used.
func (s *jsonScanner) fill() bool {
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for idle := 0; s.end == 0 && s.err == nil; idle++ {
		s.end, s.err = s.r.Read(s.buf)
		if idle > 100 && s.err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return s.end > 0
}

// next returns the next token; io.EOF where the input ends between two of them.
func (s *jsonScanner) next() (byte, error) {
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c > ' ' {
				return s.token(c)
			}
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return 0, s.wrong("a value")
			}
			s.pos++
		}
		if !s.fill() {
			return 0, s.err
		}
	}
}

func (s *jsonScanner) token(c byte) (byte, error) {
	switch {
	case c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',':
		s.pos++
		return c, nil
	case c == '"':
		s.pos++
		return jsonString, s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return jsonTrue, s.word("true")
	case c == 'f':
		return jsonFalse, s.word("false")
	case c == 'n':
		return jsonNull, s.word("null")
	case c == 'N':
		return jsonNaN, s.word("NaN")
	case c == 'I':
		s.text = nil
		return jsonInfinity, s.word("Infinity")
	}
	return 0, s.wrong("a value")
}

// peek returns the next byte without taking it.
func (s *jsonScanner) peek() (byte, bool) {
	if s.pos == s.end && !s.fill() {
		return 0, false
	}
	return s.buf[s.pos], true
}

func (s *jsonScanner) word(w string) error {
	for i := range len(w) {
		c, ok := s.peek()
		if !ok {
			return earlyEnd(s.err)
		}
		if c != w[i] {
			return s.wrong(w)
		}
		s.pos++
	}
	return nil
}

// number takes every byte that a number can have; what it makes of them is the
// caller's to find out.
func (s *jsonScanner) number() (byte, error) {
	start := s.pos
	for i := s.pos; i < s.end; i++ {
		if !isNumberByte(s.buf[i]) {
			s.text, s.pos = s.buf[start:i], i
			if i == start+1 && s.buf[start] == '-' && s.buf[i] == 'I' {
				s.text = minus // word may read on, over buf
				return jsonInfinity, s.word("Infinity")
			}
			return jsonNumber, nil
		}
	}
	return s.longNumber(start)
}

// longNumber is a number that crosses the end of the buffer.
func (s *jsonScanner) longNumber(start int) (byte, error) {
	s.scratch = append(s.scratch[:0], s.buf[start:s.end]...)
	s.pos = s.end
	for {
		c, ok := s.peek()
		if !ok {
			return 0, earlyEnd(s.err) // digits may be missing
		}
		if !isNumberByte(c) {
			s.text = s.scratch
			if c == 'I' && string(s.text) == "-" {
				return jsonInfinity, s.word("Infinity")
			}
			return jsonNumber, nil
		}
		if len(s.scratch) > 1000 {
			return 0, &TooLargeError{What: fmt.Sprintf("the number at byte %d", s.offset()), Limit: 1000, Unit: "digits"}
		}
		s.scratch = append(s.scratch, c)
		s.pos++
	}
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// str reads a string after its opening quote. Most strings lie within the buffer
// and have no escapes: their text is not copied.
func (s *jsonScanner) str() error {
	for i := s.pos; i < s.end; i++ {
		switch s.buf[i] {
		case '"':
			s.text, s.pos = s.buf[s.pos:i], i+1
			return nil
		case '\\':
			s.scratch = append(s.scratch[:0], s.buf[s.pos:i]...)
			s.pos = i
			return s.longStr()
		}
	}
	s.scratch = append(s.scratch[:0], s.buf[s.pos:s.end]...)
	s.pos = s.end
	return s.longStr()
}

// longStr goes on with a string that has escapes or crosses the end of the buffer.
func (s *jsonScanner) longStr() error {
	for {
		c, ok := s.peek()
		if !ok {
			return earlyEnd(s.err)
		}
		if len(s.scratch) > maxJSONString {
			return &TooLargeError{What: fmt.Sprintf("the string that ends after byte %d", s.offset()), Limit: maxJSONString, Unit: "bytes"}
		}
		s.pos++
		switch c {
		case '"':
			s.text = s.scratch
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			s.scratch = append(s.scratch, c)
		}
	}
}

func (s *jsonScanner) escape() error {
	c, ok := s.peek()
	if !ok {
		return earlyEnd(s.err)
	}
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		s.pos++
		return s.unicode()
	default:
		return s.wrong("an escape")
	}
	s.pos++
	s.scratch = append(s.scratch, c)
	return nil
}

// unicode reads \uXXXX, and the second half of a surrogate pair. A half alone,
// which Python writes for file names that are not UTF-8, becomes U+FFFD.
func (s *jsonScanner) unicode() error {
	r, err := s.hex4()
	for err == nil && utf16.IsSurrogate(r) {
		if c, ok := s.peek(); !ok || c != '\\' {
			break
		}
		s.pos++
		if c, ok := s.peek(); !ok || c != 'u' {
			s.scratch = utf8.AppendRune(s.scratch, utf8.RuneError)
			return s.escape()
		}
		s.pos++
		var low rune
		if low, err = s.hex4(); err != nil {
			break
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			r = pair
			break
		}
		s.scratch = utf8.AppendRune(s.scratch, utf8.RuneError)
		r = low
	}
	if err != nil {
		return err
	}
	s.scratch = utf8.AppendRune(s.scratch, r) // a surrogate becomes U+FFFD here
	return nil
}

func (s *jsonScanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		c, ok := s.peek()
		if !ok {
			return 0, earlyEnd(s.err)
		}
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, s.wrong("four hexadecimal digits")
		}
		s.pos++
	}
	return r, nil
}

// wrong reports the byte at hand.
func (s *jsonScanner) wrong(want string) error {
	return &jsonError{offset: s.offset(), found: fmt.Sprintf("%q", s.buf[s.pos:min(s.pos+1, s.end)]), want: want}
}
