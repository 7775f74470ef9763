package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// htmlPage finds the recordings within a web page, as a stream: pages of a
// gigabyte exist, and browsers fail on them.
type htmlPage struct {
	r     *bufio.Reader
	found int
}

// errNoMoreData is what next returns at the end of a page.
var errNoMoreData = errors.New("no more data in the page")

// drawing is the identity of pages that torch wrote before it put the recording
// itself into them.
var drawing = foreign("a drawing made from a recording by torch 2.0; it has sizes and lines of text, but no segments",
	"give the file that the drawing was made from, or draw it with torch 2.1 or newer")

const (
	base64Word  = "base64"
	drawingWord = "_data = {" // let alloc_data = {…}, let trace_data = {…}
	pageOverlap = 32          // bytes that are looked at again, for a word across two windows
)

// next returns a reader of the next recording in the page. It ends where the
// recording's text does, with io.ErrUnexpectedEOF where the page breaks off.
func (h *htmlPage) next() (io.Reader, error) {
	for {
		window, err := h.r.Peek(sniffBytes)
		if h.found == 0 && isDrawing(window) {
			return nil, &NotRecordingError{Identity: drawing}
		}
		i := bytes.Index(window, []byte(base64Word))
		if i < 0 {
			if err != nil {
				return nil, h.end(err)
			}
			i = len(window) - pageOverlap
			_, _ = h.r.Discard(i) // cannot fail: Peek had them
			continue
		}
		_, _ = h.r.Discard(i + len(base64Word))
		if data, ok := h.data(); ok {
			h.found++
			return data, nil
		}
	}
}

// end tells the plain end of the page from a failing source.
func (h *htmlPage) end(err error) error {
	if err == io.EOF {
		return errNoMoreData
	}
	return err
}

func isDrawing(window []byte) bool {
	i := bytes.Index(window, []byte(drawingWord))
	if i < 5 {
		return false
	}
	name := string(window[i-5 : i])
	return name == "alloc" || name == "trace"
}

// data stands just behind the word base64. It tells whether a recording follows:
// the value of a key of that name (quoted or not), or a data URL.
func (h *htmlPage) data() (io.Reader, bool) {
	head, _ := h.r.Peek(64)
	skip := bytes.IndexFunc(head, func(r rune) bool { return !bytes.ContainsRune([]byte("\"'` \t\r\n:,\\"), r) })
	if skip < 1 || !bytes.ContainsAny(head[:skip], ":,") {
		return nil, false
	}
	first := make([]byte, 12)
	n, _ := decodeGroups(first, head[skip:min(skip+16, len(head))])
	if !beginsLikeRecording(first[:n]) {
		return nil, false
	}
	_, _ = h.r.Discard(skip)
	return &base64Reader{r: h.r}, true
}

// beginsLikeRecording tells whether decoded bytes can be a recording: pages hold
// pictures and fonts in the same way.
func beginsLikeRecording(head []byte) bool {
	if len(head) < 2 {
		return false
	}
	for i := range codecs {
		if codecs[i].is(head) {
			return true
		}
	}
	return head[0] == 0x80 && head[1] < 16 || head[0] == '{' || head[0] == '['
}

// plotKind reads the rest of the page: how many more recordings there are, and
// which of torch's plots this is ("" where it does not say).
func (h *htmlPage) plotKind() (more int, kind string) {
	for {
		window, err := h.r.Peek(sniffBytes)
		for title, name := range plotTitles {
			if bytes.Contains(window, []byte(title)) {
				kind = name
			}
		}
		if i := bytes.Index(window, []byte(base64Word)); i >= 0 {
			_, _ = h.r.Discard(i + len(base64Word))
			if data, ok := h.data(); ok {
				more++
				_, _ = io.Copy(io.Discard, data) // whatever is wrong with it, it is not read
			}
			continue
		}
		if err != nil {
			return more, kind
		}
		_, _ = h.r.Discard(len(window) - pageOverlap)
	}
}

// plotTitles are what torch.cuda._memory_viz gives the viewer to open with.
// profile_plot uses the title of trace_plot.
var plotTitles = map[string]string{
	"'Active Memory Timeline'":        "trace_plot",
	"'Active Cached Memory Timeline'": "trace_plot of segments",
	"'Allocator State History'":       "segment_plot",
}

// base64Reader decodes up to the first byte that cannot belong to base64.
type base64Reader struct {
	r   *bufio.Reader
	in  [4]byte // digits of a group that is not complete
	nIn int
	out []byte // decoded, not yet taken
	buf []byte
	err error
}

func (b *base64Reader) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.more()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// more decodes what the reader has buffered, or the next of its reads.
func (b *base64Reader) more() {
	if b.buf == nil {
		b.buf = make([]byte, sniffBytes)
	}
	_, err := b.r.Peek(1)
	if err != nil {
		b.finish(earlyEnd(err))
		return
	}
	window, _ := b.r.Peek(min(b.r.Buffered(), sniffBytes))
	n, used, ended := 0, 0, false
	for used < len(window) {
		if b.nIn == 0 {
			k, taken := decodeGroups(b.buf[n:], window[used:])
			n, used = n+k, used+taken
			if used == len(window) {
				break
			}
		}
		if ended = !b.digit(window[used]); ended {
			break
		}
		used++
		if b.nIn == 4 {
			n += decodeGroup(b.buf[n:], b.in[:])
			b.nIn = 0
		}
	}
	_, _ = b.r.Discard(used) // cannot fail: Peek had them
	b.out = b.buf[:n]
	if ended {
		b.finish(io.EOF)
	}
}

// digit takes one byte; it tells whether the byte belongs to the text.
func (b *base64Reader) digit(c byte) bool {
	switch v := base64Value[c]; {
	case v < 64:
		b.in[b.nIn] = c
		b.nIn++
	case v == base64End:
		return false
	}
	return true
}

// finish decodes an incomplete last group and notes why there is no more.
func (b *base64Reader) finish(err error) {
	if b.nIn > 1 {
		var last [3]byte
		n := decodeGroup(last[:], b.in[:b.nIn])
		b.out = append(b.out, last[:n]...)
	}
	b.nIn = 0
	b.err = err
}

const (
	base64Skip = 64 // blanks, padding, and the backslash of an escaped slash
	base64End  = 65
)

// base64Value is the value of each digit, of the usual alphabet and of the one for URLs.
var base64Value = func() (t [256]byte) {
	for i := range t {
		t[i] = base64End
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['-'], t['_'] = 62, 63
	for _, c := range []byte(" \t\r\n=\\") {
		t[c] = base64Skip
	}
	return t
}()

// decodeGroups decodes whole groups of four digits for as long as nothing else
// lies between them.
func decodeGroups(dst, src []byte) (n, used int) {
	for len(src)-used >= 4 && len(dst)-n >= 3 {
		s := src[used : used+4]
		a, b, c, d := base64Value[s[0]], base64Value[s[1]], base64Value[s[2]], base64Value[s[3]]
		if (a|b|c|d)&0xc0 != 0 {
			break
		}
		v := uint32(a)<<18 | uint32(b)<<12 | uint32(c)<<6 | uint32(d)
		dst[n], dst[n+1], dst[n+2] = byte(v>>16), byte(v>>8), byte(v)
		n, used = n+3, used+4
	}
	return n, used
}

// decodeGroup decodes up to four digits.
func decodeGroup(dst, digits []byte) int {
	var v uint32
	for i := range 4 {
		v <<= 6
		if i < len(digits) {
			v |= uint32(base64Value[digits[i]])
		}
	}
	n := len(digits) * 6 / 8
	for i := range n {
		dst[i] = byte(v >> (16 - 8*i))
	}
	return n
}
