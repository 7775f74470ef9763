package snapshot

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"
)

const (
	// maxLayers is how deep compression may be nested. Two happen (a .gz that a
	// tool compressed again); more is somebody testing us.
	maxLayers = 3

	// maxWindow is the memory that a decoder may take for its history: what the
	// zstd command accepts without --long, twice what xz -9 needs.
	maxWindow = 128 << 20

	// Past ratioFrom bytes out, more than maxRatio bytes for each byte in is a
	// bomb: deflate ends at 1032 to 1, and recordings with a few hundred distinct
	// stacks reach 30 to 1 with xz.
	maxRatio  = 1100
	ratioFrom = 64 << 20

	sniffBytes = 64 << 10 // what is read ahead to tell what a file is
)

// DamagedError reports compressed input that breaks off or is corrupt. The bytes
// before it are good.
type DamagedError struct {
	Compression string // of the layer that is damaged: "gzip"
	Offset      int64  // good bytes that came out
	InOffset    int64  // bytes of compressed input taken, read-ahead included
	Err         error
}

func (e *DamagedError) Error() string {
	what := "is damaged"
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		what = "breaks off"
	}
	return fmt.Sprintf("%s data %s after %d compressed bytes (%d bytes unpacked): %v", e.Compression, what, e.InOffset, e.Offset, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// TooLargeError reports input beyond a limit.
type TooLargeError struct {
	What  string // "unpacked size"
	Limit int64
	Unit  string // "bytes", "layers"
	hint  string // "" where there is none
}

// Hint is advice for the user, or "".
func (e *TooLargeError) Hint() string { return e.hint }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is more than %d %s", e.What, e.Limit, e.Unit)
}

// codec is one kind of compression.
type codec struct {
	name string
	is   func(head []byte) bool
	open func(*bufio.Reader) (io.Reader, func(), error) // with what frees it, or nil
}

var codecs = []codec{
	{"gzip", hasMagic("\x1f\x8b\x08"), openGzip},
	{"zstd", isZstd, openZstd},
	{"xz", hasMagic("\xfd7zXZ\x00"), openXZ},
	{"bzip2", isBzip2, openBzip2},
	{"zip", isZip, openZip},
}

func hasMagic(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// isZstd also knows skippable frames, with which pzstd begins its files.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

func isBzip2(head []byte) bool {
	return len(head) >= 10 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9' && string(head[4:10]) == "1AY&SY"
}

func openGzip(r *bufio.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	z.Multistream(false)
	return &members{z, r}, nil, nil
}

// members reads the members of a gzip file as one stream and, as gzip(1) does,
// ignores what follows the last of them.
type members struct {
	z *gzip.Reader
	r *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if err != io.EOF {
		return n, err
	}
	if head, _ := m.r.Peek(3); !hasMagic("\x1f\x8b\x08")(head) {
		return n, io.EOF
	}
	if err := m.z.Reset(m.r); err != nil {
		return n, earlyEnd(err)
	}
	m.z.Multistream(false)
	return n, nil
}

// openZstd decodes in the calling goroutine: one core is left to the parser.
func openZstd(r *bufio.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// openXZ uses a package chosen for its speed, see docs/decisions/compression.md.
func openXZ(r *bufio.Reader) (io.Reader, func(), error) {
	z, err := xz.NewReader(r, maxWindow)
	return xzReader{z}, nil, err
}

func openBzip2(r *bufio.Reader) (io.Reader, func(), error) { return bzip2.NewReader(r), nil, nil }

// xzReader gives a stream that ends early the error that the other codecs give.
type xzReader struct{ z *xz.Reader }

func (x xzReader) Read(p []byte) (int, error) {
	n, err := x.z.Read(p)
	if errors.Is(err, xz.ErrBuf) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// stream is a recording's bytes with every layer of compression taken off.
type stream struct {
	*bufio.Reader
	Compression string // "gzip, zstd": outermost first; "" where there is none
	in          *countingReader
	ahead       *readAhead // nil where the caller's goroutine reads
	zips        []*zipReader
}

// newStream looks at what r begins with and takes off compression. limit bounds
// the unpacked bytes. What is compressed is read in a goroutine of its own, with
// ahead everything is. The caller must Close the stream, which does not close r.
func newStream(r io.Reader, limit int64, ahead bool) (*stream, error) {
	s := &stream{in: &countingReader{r: r}}
	s.Reader = bufio.NewReaderSize(s.in, sniffBytes)
	var names []string
	var frees []func()
	for {
		c := sniffCodec(s.Reader)
		if c == nil {
			break
		}
		if len(names) == maxLayers {
			runAll(frees)
			return nil, &TooLargeError{What: "nested compression", Limit: maxLayers, Unit: "layers"}
		}
		names = append(names, c.name)
		z, free, err := c.open(s.Reader)
		if err != nil {
			runAll(frees)
			return nil, s.in.blame(&DamagedError{Compression: c.name, InOffset: s.in.n, Err: earlyEnd(err)})
		}
		if free != nil {
			frees = append(frees, free)
		}
		if zip, ok := z.(*zipReader); ok {
			s.zips = append(s.zips, zip)
		}
		d := &decoded{z: z, codec: c.name, in: s.in, limit: limit}
		s.Reader = bufio.NewReaderSize(d, sniffBytes)
	}
	if len(names) > 0 || ahead {
		s.Compression = strings.Join(names, ", ")
		s.ahead = startReadAhead(s.Reader, func() { runAll(frees) })
		s.Reader = bufio.NewReaderSize(s.ahead, sniffBytes)
	}
	return s, nil
}

// Close ends the goroutine that unpacks, and waits for it: nobody reads from the
// source afterwards.
func (s *stream) Close() {
	if s.ahead != nil {
		s.ahead.close()
	}
}

// passedOver says what was packed beside the recording and not read. It is complete
// once all was read, and to be asked after Close: until then another goroutine reads.
func (s *stream) passedOver() []string {
	var list []string
	for _, z := range s.zips {
		if text := z.passedOver(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func sniffCodec(r *bufio.Reader) *codec {
	head, _ := r.Peek(512) // a zip archive has a name in it
	for i := range codecs {
		if codecs[i].is(head) {
			return &codecs[i]
		}
	}
	return nil
}

func runAll(fs []func()) {
	for _, f := range fs {
		f()
	}
}

func earlyEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// countingReader counts what is read of the source and remembers how it failed,
// so that a disk's error is not taken for damaged data.
type countingReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// blame returns the source's own error if it had one, else err.
func (c *countingReader) blame(err error) error {
	if c.err != nil {
		return c.err
	}
	return err
}

// decoded reads one layer, within limits, and dresses its errors.
type decoded struct {
	z     io.Reader
	codec string
	in    *countingReader
	out   int64
	limit int64
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.z.Read(p)
	d.out += int64(n)
	switch {
	case d.limit > 0 && d.out > d.limit:
		return 0, &TooLargeError{What: "the unpacked file", Limit: d.limit, Unit: "bytes", hint: "raise the limit if the file is trusted"}
	case d.out > ratioFrom && d.out/maxRatio > d.in.n:
		return 0, &TooLargeError{What: "the unpacked file, for each byte of the packed one,", Limit: maxRatio, Unit: "bytes"}
	case err == nil || err == io.EOF:
		return n, err
	}
	var inner *DamagedError
	var large *TooLargeError
	if errors.As(err, &inner) || errors.As(err, &large) {
		return n, err // of the layer outside this one
	}
	return n, d.in.blame(&DamagedError{Compression: d.codec, Offset: d.out, InOffset: d.in.n, Err: earlyEnd(err)})
}

// trailing reads a little past the end of the recording, so that a checksum over
// all of it is looked at. It returns what is wrong, or nil; bytes that follow
// the recording are nothing wrong.
func (s *stream) trailing() error {
	if s.ahead == nil {
		return nil
	}
	_, err := io.CopyN(io.Discard, s.Reader, 1<<20)
	var bad *DamagedError
	if errors.As(err, &bad) {
		return bad
	}
	return nil
}
