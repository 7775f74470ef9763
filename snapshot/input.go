package snapshot

import (
	"fmt"
	"io"
)

// Input is a file that was opened and looked at: unpacked, and known for what it
// begins with.
type Input struct {
	Identity    Identity
	Compression string // "gzip", "gzip, xz" (outermost first), or ""

	s    *stream
	opt  Options
	head []byte
	err  error // met within head
}

// Open looks at what r holds and prepares to read it. The caller must Close the
// Input, which does not close r, and may then call Recording or Text, once.
//
//	in, err := snapshot.Open(file, opt)
//	…
//	defer in.Close()
//	if in.IsText() {
//		return readLog(in.Text())
//	}
//	rec, err := in.Recording()
func Open(r io.Reader, opt Options) (*Input, error) {
	s, err := newStream(r, opt.MaxBytes, opt.ReadAhead)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.name(), err)
	}
	in := &Input{Compression: s.Compression, s: s, opt: opt}
	in.head, in.err = s.Peek(IdentifyBytes)
	if in.err == io.EOF {
		in.err = nil
	}
	if len(in.head) == 0 && in.err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", opt.name(), in.err)
	}
	in.Identity = Identify(in.head)
	return in, nil
}

// IsText tells whether the file is for the reader of texts.
func (in *Input) IsText() bool {
	return in.Identity.Content == ContentText || in.Identity.Content == ContentStats
}

// Text returns the text in UTF-8.
func (in *Input) Text() io.Reader { return textReader(in.s, in.Identity.encoding) }

// Close ends what runs in the background.
func (in *Input) Close() { in.s.Close() }

// PassedOver says, of a file that was read to its end, what was packed beside it and is
// not read, a line each. It closes the input. Recording has these lines among its warnings.
func (in *Input) PassedOver() []string {
	in.Close()
	return in.s.passedOver()
}

// SizeBytes is how much of the file was read, before unpacking.
func (in *Input) SizeBytes() int64 { return in.s.in.n }
