package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/pickle"
	"github.com/ullage-dev/ullage/internal/value"
)

// Options says how to read. The zero Options reads anything within the default limits.
type Options struct {
	Name string // for Source.Name and for errors: a path, or "-"

	MaxBytes       int64 // of the unpacked file; 0 is no limit
	MaxStringBytes int64 // of one string; 0 is 64 MiB

	// ReadAhead reads the file in a goroutine of its own, as compressed ones always are.
	// Close waits for a read under way: not for input that may keep it waiting.
	ReadAhead bool

	// Progress, where it is not nil, is called now and then with how many bytes of the
	// unpacked file were read.
	Progress func(bytes int64)

	// OnEvents, where it is not nil, gets every trace's events while the file is
	// being read: in order, once each, a few thousand at a time. trace counts the
	// lists of events in the order in which their first event was read; Device.Trace
	// tells afterwards which one became that device's. The calls come from
	// one goroutine at a time, not the caller's, and all of them return before Read
	// does. The batch is valid during the call; of the Recording nothing is there yet.
	OnEvents func(trace int, b *Batch)
}

// Errors of pickles: what they mean is said in package pickle.
type (
	RefusedError = pickle.RefusedError
	LimitError   = pickle.LimitError
	CycleError   = pickle.CycleError
)

// Read reads one recording from r, in whatever form it is: see docs/formats/recording.md.
// It reads r to the end of the recording, and perhaps beyond.
//
// Input that breaks off, or is damaged from some byte on, gives what came before, with
// Recording.Truncated set and no error, if that is enough to tell that it is a recording.
// A *NotRecordingError names input that is something else; a *TooLargeError or a
// *LimitError tells a limit, a *RefusedError code in a pickle, a *CycleError data that
// holds itself.
func Read(r io.Reader, opt Options) (*Recording, error) {
	in, err := Open(r, opt)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return in.Recording()
}

// Recording reads the recording, as Read does.
func (in *Input) Recording() (*Recording, error) {
	if in.err != nil && len(in.head) == 0 {
		return nil, named(in.opt, in.err)
	}
	rec, err := readContent(in.s, in.Identity, in.opt)
	if err != nil {
		return nil, named(in.opt, err)
	}
	if rec.Truncated == nil {
		if err := in.s.trailing(); err != nil {
			rec.Warnings = append(rec.Warnings, err.Error())
		}
	}
	in.Close()
	rec.Warnings = append(rec.Warnings, in.s.passedOver()...)
	rec.Source.Name, rec.Source.Compression, rec.Source.SizeBytes = in.opt.Name, in.Compression, in.SizeBytes()
	return rec, nil
}

// name is what errors call the file.
func (o *Options) name() string {
	if o.Name == "" || o.Name == "-" {
		return "standard input"
	}
	return o.Name
}

// named puts the file's name before an error that has none.
func named(opt Options, err error) error {
	var other *NotRecordingError
	if errors.As(err, &other) {
		other.Name = opt.name()
		return err
	}
	return fmt.Errorf("%s: %w", opt.name(), err)
}

// readContent reads a recording of which compression was taken off.
func readContent(s *stream, id Identity, opt Options) (*Recording, error) {
	switch id.Content {
	case ContentPickle:
		return readPickle(s, opt)
	case ContentJSON:
		return readJSON(textReader(s.Reader, id.encoding), opt)
	case ContentHTML:
		return readHTML(textReader(s.Reader, id.encoding), id, opt)
	default:
		head, _ := s.Peek(IdentifyBytes)
		return nil, refusal(id, head, opt)
	}
}

// refusal returns the error for what is no recording. A pickle that asks for code is
// told by both: what it probably is, and the opcode.
func refusal(id Identity, head []byte, opt Options) error {
	not := &NotRecordingError{Identity: id, Name: opt.name()}
	if !beginsPickle(head) {
		return not
	}
	b := newBuilder(Options{})
	defer b.abort()
	var refused *pickle.RefusedError
	if _, err := pickle.Decode(bytes.NewReader(head), b, pickle.Options{}); errors.As(err, &refused) {
		return fmt.Errorf("%w (%w)", not, refused)
	}
	return not
}

// readPickle reads a pickle of any protocol.
func readPickle(r io.Reader, opt Options) (*Recording, error) {
	b := newBuilder(opt)
	defer b.abort()
	res, err := pickle.Decode(r, b, pickle.Options{MaxString: opt.MaxStringBytes, Progress: opt.Progress})
	cut, err := cutPickle(err)
	if err != nil {
		return nil, err
	}
	form := fmt.Sprintf("pickle protocol %d", res.Protocol)
	if res.Protocol == 0 {
		form = "pickle protocol 0 or 1"
	}
	return b.result(res.Root, form, cut)
}

// cutPickle tells input that is bad from some byte on, which is survivable, from other errors.
func cutPickle(err error) (*Truncation, error) {
	var cut *pickle.TruncatedError
	var bad *pickle.SyntaxError
	var damaged *DamagedError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &bad):
		return &Truncation{Offset: bad.Offset, Reason: "damaged: " + bad.Msg}, nil
	case !errors.As(err, &cut):
		return nil, err
	case errors.As(cut.Err, &damaged):
		return &Truncation{Offset: cut.Offset, Reason: damaged.Error()}, nil
	case errors.Is(cut.Err, io.EOF), errors.Is(cut.Err, io.ErrUnexpectedEOF):
		return &Truncation{Offset: cut.Offset, Reason: "the file ends while reading " + cut.Reading}, nil
	}
	return nil, cut.Err // of the source, or a limit
}

// readJSON reads the same value as JSON.
func readJSON(r io.Reader, opt Options) (*Recording, error) {
	b := newBuilder(opt)
	defer b.abort()
	root, cut, err := decodeJSON(&progressReader{r: r, report: opt.Progress}, b)
	if err != nil {
		return nil, err
	}
	return b.result(root, "JSON", cut)
}

// progressReader reports what was read.
type progressReader struct {
	r      io.Reader
	n      int64
	report func(int64)
}

func (p *progressReader) Read(buf []byte) (int, error) {
	n, err := p.r.Read(buf)
	p.n += int64(n)
	if p.report != nil {
		p.report(p.n)
	}
	return n, err
}

// readHTML reads the recording within a page that torch's own plotters wrote.
func readHTML(r io.Reader, id Identity, opt Options) (*Recording, error) {
	page := &htmlPage{r: bufio.NewReaderSize(r, sniffBytes)}
	data, err := page.next()
	if err == errNoMoreData {
		return nil, &NotRecordingError{Identity: id}
	}
	if err != nil {
		return nil, err
	}
	rec, err := readWithin(data, opt)
	if err != nil {
		return nil, err
	}
	more, kind := page.plotKind()
	rec.Source.Form = "HTML"
	if kind != "" {
		rec.Source.Form = "HTML (" + kind + ")"
	}
	if more > 0 {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("the page holds %s more; only the first is read", plural(more, "recording")))
	}
	return rec, nil
}

// readWithin reads what a page holds, packed or not. A page within the page is
// refused: pages within each other could go on for ever.
func readWithin(data io.Reader, opt Options) (*Recording, error) {
	s, err := newStream(data, opt.MaxBytes, false)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	head, _ := s.Peek(IdentifyBytes)
	id := Identify(head)
	if id.Content == ContentHTML {
		return nil, &NotRecordingError{Identity: foreign("a web page within a web page", howToRecord)}
	}
	return readContent(s, id, opt)
}

// result makes the Recording of a decoded value, or the error that says what it is instead.
func (b *builder) result(root value.Value, form string, cut *Truncation) (*Recording, error) {
	rec, ok := b.finish(root)
	switch {
	case ok:
		rec.Source.Form = form
		rec.Truncated = cut
		return rec, nil
	case cut != nil:
		return nil, fmt.Errorf("nothing of a recording could be read: %s, at offset %d", cut.Reason, cut.Offset)
	}
	what := form + " without the keys of a recording"
	if kind, _ := asObject(root); kind == objRecording {
		what = form + " that has the keys of a recording, and neither segments nor events under them"
	}
	if keys := b.topKeys(root); len(keys) > 0 {
		what = form + " with the keys " + keyList(keys)
	}
	return nil, &NotRecordingError{Identity: foreign(what, howToRecord)}
}

// topKeys returns the keys of a dict that is no recording.
func (b *builder) topKeys(root value.Value) []string {
	var keys []string
	items := b.tree.pairs(root)
	for i := 0; i+1 < len(items) && len(keys) < maxShapeKeys; i += 2 {
		keys = append(keys, b.text(items[i]))
	}
	return keys
}
