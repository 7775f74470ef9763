package pickle

import (
	"errors"
	"io"

	"github.com/ullage-dev/ullage/internal/value"
)

// Options bounds what Decode accepts. A zero field means its default.
type Options struct {
	MaxString int64 // bytes of one string; default 64 MiB
	MaxDepth  int   // containers within each other; default 1000
	MaxStack  int   // values awaiting their container; default 16 Mi

	// Progress, where it is not nil, is called with the offset reached, about every 256 KiB.
	Progress func(offset int64)
}

// Result is what a pickle held.
type Result struct {
	Root     value.Value // what the Builder made of the outermost container
	Protocol int         // 0 where the pickle does not say: protocols 0 and 1 do not
	Offset   int64       // just after the pickle
}

// Decode reads one pickle from r, which it may read beyond the pickle's end, and
// hands what it holds to b.
//
// Where the input breaks off or turns to nonsense, the error is a TruncatedError or a
// SyntaxError, and Result.Root is what could be built of the data before: open
// lists with the elements they had, open dicts as Builder.CutDict makes them.
// Other errors are a RefusedError, a LimitError, a CycleError, or the Builder's own.
func Decode(r io.Reader, b value.Builder, opt Options) (Result, error) {
	d := newDecoder(r, b, opt)
	root, err := d.run()
	if err != nil && salvageable(err) {
		root = d.unwind()
	}
	return Result{Root: root, Protocol: d.protocol, Offset: d.offset()}, err
}

func salvageable(err error) bool {
	var cut *TruncatedError
	var bad *SyntaxError
	return errors.As(err, &cut) || errors.As(err, &bad)
}

// decoder is the machine that a pickle's opcodes drive.
type decoder struct {
	window
	b    value.Builder
	pool *value.Pool
	opt  Options

	stack []value.Value
	marks []mark
	open  []container // not complete yet, or not known to be
	memo  memo
	lists listCache

	templates templates
	plain     bool // read every opcode by itself: tests compare with that

	protocol int
}

// mark is where MARK left off.
type mark struct {
	at      int  // length of the stack
	open    int  // length of decoder.open
	flushed bool // elements were handed over before the closing opcode came
}

const (
	firstStack = 1 << 10 // values that the stack has room for at first: enough for what CPython writes

	// flushStack is the size from which on a list's elements leave the stack before
	// the list's batch ends.
	flushStack = 1 << 16
)

func newDecoder(r io.Reader, b value.Builder, opt Options) *decoder {
	if opt.MaxString == 0 {
		opt.MaxString = 64 << 20
	}
	if opt.MaxDepth == 0 {
		opt.MaxDepth = 1000
	}
	if opt.MaxStack == 0 {
		opt.MaxStack = 16 << 20
	}
	return &decoder{
		window: newWindow(r, opt.Progress),
		b:      b,
		pool:   b.Pool(),
		opt:    opt,
		stack:  make([]value.Value, 0, min(firstStack, opt.MaxStack)),
		lists:  newListCache(),
	}
}

// floor is the stack position that opcodes must not pop below.
func (d *decoder) floor() int {
	if n := len(d.marks); n > 0 {
		return d.marks[n-1].at
	}
	return 0
}

// syntax returns the error for the opcode that ends at pos.
func (d *decoder) syntax(msg string) error { return &SyntaxError{Offset: d.offset() - 1, Msg: msg} }

// ready makes the next opcode and its fixed argument available.
func (d *decoder) ready() error {
	d.more(2 * slack)
	have := d.end - d.pos
	if have > 0 && have >= 1+int(fixedArg[d.buf[d.pos]]) {
		return nil
	}
	return d.truncated("an opcode")
}

// truncated returns the error for input that ended, or the reader's own if it failed.
func (d *decoder) truncated(reading string) error {
	err := d.window.err
	if err == nil {
		err = io.EOF
	}
	return &TruncatedError{Offset: d.base + int64(d.end), Reading: reading, Err: err}
}
