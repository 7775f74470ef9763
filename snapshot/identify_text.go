package snapshot

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a text is encoded.
type encoding uint8

// Encodings. PowerShell's ">" writes UTF-16.
const (
	utf8Text encoding = iota
	utf16LE
	utf16BE
)

// identifyText looks at what may be text: JSON, HTML, or a log.
func identifyText(head []byte) (Identity, bool) {
	enc := encodingOf(head)
	text := head
	if enc != utf8Text {
		text, _ = io.ReadAll(textReader(bytes.NewReader(head[:len(head)&^1]), enc))
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if !textual(text) {
		return Identity{}, false
	}
	id := Identity{Content: ContentText, What: "text"}
	switch {
	case len(trimmed) == 0:
		id.What = "a text of nothing but blanks"
	case trimmed[0] == '{' || trimmed[0] == '[':
		id = identifyJSON(trimmed)
	case trimmed[0] == '<':
		id = identifyMarkup(trimmed)
	}
	id.encoding = enc
	return id, true
}

// encodingOf goes by the byte order mark, else by the zeros that Latin letters
// have in UTF-16.
func encodingOf(head []byte) encoding {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return utf16LE
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return utf16BE
	}
	n := min(len(head), 512) &^ 1
	var zeros [2]int
	for i, c := range head[:n] {
		if c == 0 {
			zeros[i&1]++
		}
	}
	switch {
	case n >= 8 && zeros[1] > n*2/5 && zeros[0] <= n/64:
		return utf16LE
	case n >= 8 && zeros[0] > n*2/5 && zeros[1] <= n/64:
		return utf16BE
	}
	return utf8Text
}

// textual tells text from binary data: no zeros, hardly a control character but
// those that logs have (tabs, line ends, the escapes of colours, backspaces of
// progress bars), and mostly UTF-8. A log may hold a few bytes of anything.
func textual(text []byte) bool {
	var control, invalid int
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == 0:
			return false
		case r == utf8.RuneError && n == 1 && utf8.FullRune(text[i:]):
			invalid++
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\b' && r != 0x1b && r != 0x07:
			control++
		}
		i += n
	}
	return control <= len(text)/100 && invalid <= len(text)/10
}

func identifyMarkup(text []byte) Identity {
	lower := bytes.ToLower(text[:min(1024, len(text))])
	switch {
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.Contains(lower, []byte("<html")), bytes.Contains(lower, []byte("<script")):
		id := Identity{
			Content: ContentHTML, What: "a web page without a recording in it",
			Advice: "a page that torch.cuda._memory_viz wrote holds the recording; the page of the viewer at pytorch.org does not: give the file that it was given",
		}
		switch {
		case bytes.Contains(text, []byte(base64Word)), isDrawing(text):
			id.holds = doesHold
		case len(text) < sniffBytes/2: // the whole page: even in UTF-16, more would have been seen of a longer one
			id.holds = holdsNot
		}
		return id
	case bytes.HasPrefix(lower, []byte("<?xml")), bytes.HasPrefix(lower, []byte("<svg")):
		return foreign("an XML or SVG document", "a flame graph is drawn from a recording: give the recording")
	}
	return Identity{Content: ContentText, What: "text"}
}

// textReader reads text in any encoding as UTF-8, without its byte order mark.
// What cannot be decoded becomes U+FFFD.
func textReader(r io.Reader, enc encoding) io.Reader {
	br := bufio.NewReader(r)
	if enc == utf8Text {
		if head, _ := br.Peek(3); string(head) == "\xef\xbb\xbf" {
			_, _ = br.Discard(3) // cannot fail: they are in the buffer
		}
		return br
	}
	return &utf16Reader{r: br, big: enc == utf16BE}
}

type utf16Reader struct {
	r     *bufio.Reader
	big   bool
	begun bool
	high  rune   // the first half of a pair, waiting for the second
	out   []byte // decoded, not yet taken
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.out = u.out[:0]
		for len(u.out) < 4096 && u.err == nil {
			u.step()
		}
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// step decodes one unit of 16 bits.
func (u *utf16Reader) step() {
	var b [2]byte
	n, err := io.ReadFull(u.r, b[:])
	if err != nil {
		if n == 1 || u.high != 0 {
			u.out = utf8.AppendRune(u.out, utf8.RuneError)
			u.high = 0
		}
		if u.err = err; err == io.ErrUnexpectedEOF {
			u.err = io.EOF
		}
		return
	}
	r := rune(b[0]) | rune(b[1])<<8
	if u.big {
		r = rune(b[1]) | rune(b[0])<<8
	}
	first := !u.begun
	u.begun = true
	if first && r == 0xfeff {
		return
	}
	u.add(r)
}

func (u *utf16Reader) add(r rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, r)
		u.high = 0
		u.out = utf8.AppendRune(u.out, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	switch {
	case r >= 0xd800 && r < 0xdc00:
		u.high = r
	default:
		u.out = utf8.AppendRune(u.out, r)
	}
}
