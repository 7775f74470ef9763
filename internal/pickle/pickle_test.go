package pickle

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ullage-dev/ullage/internal/value"
)

// TestPython reads what CPython wrote in each protocol.
func TestPython(t *testing.T) {
	text, err := os.ReadFile("testdata/python.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		t.Run(f[0]+"-"+f[1], func(t *testing.T) {
			data, err := hex.DecodeString(f[2])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := decode(t, data, Options{}); err != nil || got != f[3] {
				t.Errorf("got %.500s, %v\nwant %.500s", got, err, f[3])
			}
		})
	}
}

// opcodeTests are unusual, but sound, sequences of opcodes, and what they mean; where
// that is nothing, an error.
var opcodeTests = []struct{ name, in, want string }{
	{"nothing but a number", "K\x07.", "7"},
	{"dict in two batches", "}(K\x01Nu(K\x02Nu.", "{1:None 2:None}"},
	{"dict item by item", "}K\x01Ns(K\x02Nus.", ""},
	{"dict batch and item", "}(K\x01NuK\x02Ns.", "{1:None 2:None}"},
	{"list in two batches", "](K\x01e(K\x02K\x03e.", "[1 2 3]"},
	{"list batch and item", "](K\x01eK\x02a.", "[1 2]"},
	{"list batch and item in a list", "]](K\x01eK\x02aa.", "[[1 2]]"},
	{"empty batches", "](e}(ua.", "[{}]"},
	{"batch and a last element", "](K\x01K\x02e}a.", "[1 2 {}]"},
	{"dict memoized before it is filled", "]}q\x00(K\x01K\x02uah\x00a.", "[{1:2} {1:2}]"},
	{"dict memoized after it is filled", "]}(K\x01K\x02uq\x00ah\x00a.", "[{1:2} {1:2}]"},
	{"list memoized twice", "]]q\x00q\x01(K\x01eah\x00ah\x01a.", "[[1] [1] [1]]"},
	{"empty list referenced while open", "](]q\x00h\x00h\x00e.", "[[] [] []]"},
	{"dict referenced while open", "](}q\x00(K\x01K\x02uh\x00]h\x00ae.", "[{1:2} {1:2} [{1:2}]]"},
	{"slot written again", "](]q\x00(K\x01e}q\x00(K\x02Nuh\x00e.", "[[1] {2:None} {2:None}]"},
	{"slot written again while its list is open", "](]q\x00q\x01K\x05q\x00h\x00h\x01e.", "[[] 5 5 []]"},
	{"same bytes after a slot was written again", "(K\x01q\x00](h\x00eK\x02q\x00](h\x00et.", "[1 [1] 2 [2]]"},
	{"list of GETs, extended", "(K\x01q\x00](h\x00h\x00e](h\x00h\x00e(h\x00e](h\x00h\x00et.", "[1 [1 1] [1 1 1] [1 1]]"},
	{"single GET, extended", "(K\x01q\x00]h\x00a]h\x00ah\x00a]h\x00at.", "[1 [1] [1 1] [1]]"},
	{"list that holds the next key", "(U\x01aq\x00U\x01bq\x01}q\x02(h\x00]q\x03h\x01K\x01u}q\x04(h\x00]q\x05h\x01ah\x01K\x01ut.", `["61" "62" {"61":[] "62":1} {"61":["62"] "62":1}]`},
	{"pairs in dicts that are alike", "(U\x01aq\x00U\x01bq\x01}q\x02(h\x00K\x00K\x00\x86q\x03h\x01K\x01u}q\x04(h\x00K\x02K\x03\x86q\x05h\x01h\x05uh\x05t.", `["61" "62" {"61":[0 0] "62":1} {"61":[2 3] "62":[2 3]} [2 3]]`},
	{"a pair in a slot written before", "(U\x01aq\x00U\x01bq\x01}q\x02(h\x00K\x00K\x00\x86q\x03h\x01K\x01u}q\x04(h\x00K\x02K\x03\x86q\x03h\x01K\x01uh\x03t.", `["61" "62" {"61":[0 0] "62":1} {"61":[2 3] "62":1} [2 3]]`},
	{"strings in dicts that are alike", "(U\x01aq\x00}q\x01(h\x00\x8c\x01xq\x02u}q\x03(h\x00\x8c\x01yq\x04u}q\x05(h\x00\x8c\x01zq\x04uh\x04t.", `["61" {"61":"78"} {"61":"79"} {"61":"7a"} "7a"]`},
	{"dicts alike up to their last key", "(U\x01aq\x00U\x01bq\x01U\x01cq\x02}q\x03(h\x00K\x01h\x01K\x02u}q\x04(h\x00K\x03h\x02K\x04u}q\x05(h\x00K\x05h\x02K\x06ut.", `["61" "62" "63" {"61":1 "62":2} {"61":3 "63":4} {"61":5 "63":6}]`},
	{"a dict like an earlier one, and longer", "(U\x01aq\x00U\x01bq\x01}q\x03(h\x00K\x01u}q\x04(h\x00K\x03h\x01K\x04u}q\x05(h\x00K\x05ut.", `["61" "62" {"61":1} {"61":3 "62":4} {"61":5}]`},
	{"a dict like an earlier one that gets more", "(U\x01aq\x00U\x01bq\x01}q\x03(h\x00K\x01u}q\x04(h\x00K\x03uh\x01K\x04s}q\x05(h\x00K\x05ut.", `["61" "62" {"61":1} {"61":3 "62":4} {"61":5}]`},
	{"an integer of nine bytes in dicts that are alike", "(U\x01aq\x00}q\x03(h\x00\x8a\x01\x07u}q\x04(h\x00\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00ut.", `["61" {"61":7} {"61":1}]`},
	{"popped", "](K\x01K\x020e.", "[1]"},
	{"popped container lives in the memo", "](]q\x000h\x00e.", "[[]]"},
	{"popped mark", "]((K\x01K\x021K\x03e.", "[3]"},
	{"duplicated", "](K\x012e.", "[1 1]"},
	{"duplicated container", "](]2e.", "[[] []]"},
	{"old list", "(K\x01K\x02l.", "[1 2]"},
	{"old dict", "(K\x01K\x02d.", "{1:2}"},
	{"old dict, filled later", "(K\x01K\x02dK\x03K\x04s.", "{1:2 3:4}"},
	{"set", "\x8f(K\x01K\x02\x90.", "[1 2]"},
	{"frozenset", "(K\x01\x91.", "[1]"},
	{"long of 4 bytes length", "\x8b\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00.", "9223372036854775808"},
	{"long of no bytes", "\x8a\x00.", "0"},
	{"long of 9 bytes, unsigned", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", "18446744073709551615"},
	{"padded long", "\x8a\x08\x07\x00\x00\x00\x00\x00\x00\x00.", "7"},
	{"negative padded long", "\x8a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff.", "-2"},
	{"strings of Python 2", "(U\x01aT\x01\x00\x00\x00bS'c'\nS\"\\x64\\n\"\nt.", `["61" "62" "63" "640a"]`},
	{"booleans of protocol 0", "(I00\nI01\nI02\nt.", "[False True 2]"},
	{"lines that end as on Windows", "(I5\r\nF0.5\r\nt.", "[5 0.5]"},
	{"get and put in decimal", "(I5\np10\ng10\nt.", "[5 5]"},
	{"invalid UTF-8", "X\x02\x00\x00\x00\xff\xfe.", `"fffe"`},
	{"frame in the middle", "](\x95\x02\x00\x00\x00\x00\x00\x00\x00K\x01e.", "[1]"},
	{"frame after a dict", "](}(K\x01Nu\x95\x02\x00\x00\x00\x00\x00\x00\x00}(K\x02Nue.", "[{1:None} {2:None}]"},
	{"more after STOP", "N.garbage", "None"},
}

// TestOpcodes reads them.
func TestOpcodes(t *testing.T) {
	for _, tt := range opcodeTests {
		t.Run(tt.name, func(t *testing.T) {
			// The short cuts end where the window does: bytes after STOP let them go on.
			for _, after := range []string{"", strings.Repeat("\x00", 2*slack)} {
				got, err := decode(t, []byte(tt.in+after), Options{})
				switch {
				case tt.want == "" && err == nil:
					t.Errorf("got %s, want an error", got)
				case tt.want != "" && (err != nil || got != tt.want):
					t.Errorf("got %s, %v; want %s", got, err, tt.want)
				}
			}
		})
	}
}

// TestRefused pins that code is refused, by name, offset and what it asks for.
func TestRefused(t *testing.T) {
	tests := []struct{ in, opcode, global string }{
		{"cos\nsystem\n(S'x'\ntR.", "GLOBAL", "os.system"},
		{"\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL", "os.system"},
		{"(ios\nsystem\n.", "INST", "os.system"},
		{"NNR.", "REDUCE", ""},
		{"NNb.", "BUILD", ""},
		{"(No.", "OBJ", ""},
		{"NN\x81.", "NEWOBJ", ""},
		{"NNN\x92.", "NEWOBJ_EX", ""},
		{"P5\n.", "PERSID", ""},
		{"NQ.", "BINPERSID", ""},
		{"\x82\x01.", "EXT1", ""},
		{"\x83\x01\x00.", "EXT2", ""},
		{"\x84\x01\x00\x00\x00.", "EXT4", ""},
		{"\x97.", "NEXT_BUFFER", ""},
		{"\x98.", "READONLY_BUFFER", ""},
		{"c" + strings.Repeat("a", 1000) + "\n", "GLOBAL", "."},
	}
	for _, tt := range tests {
		_, err := decode(t, []byte(tt.in), Options{})
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Opcode != tt.opcode || refused.Global != tt.global {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if op := tt.in[refused.Offset]; refusedName(op) != tt.opcode {
			t.Errorf("%q: offset %d is not that of the opcode", tt.in, refused.Offset)
		}
	}
}

func refusedName(op byte) string { return refused[op] }

// TestHostile pins the error for data that no writer of recordings makes.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("](", 1_000_000)
	var cycle *CycleError
	var limit *LimitError
	var bad *SyntaxError
	var cut *TruncatedError
	tests := []struct {
		name, in string
		want     any
	}{
		{"list within itself", "]q\x00(h\x00e.", &cycle},
		{"list within itself, appended", "]q\x00h\x00a.", &cycle},
		{"dict within itself", "}q\x00(K\x01h\x00u.", &cycle},
		{"dict within itself, like an earlier one", "(X\x01\x00\x00\x00kq\x00}(h\x00K\x01u}q\x01(h\x00h\x01ut.", &cycle},
		{"cycle of two", "]q\x00(]q\x01(h\x00ee.", &cycle},
		{"list changed after use", "](]q\x00(K\x01eeh\x00K\x02a.", &cycle},
		{"million containers deep", deep, &limit},
		{"million containers deep, without marks", strings.Repeat("]", 1_000_000) + strings.Repeat("a", 1_000_000) + ".", &limit},
		{"string of 4 GiB", "X\xff\xff\xff\xffabc", &limit},
		{"string of 2^63 bytes", "\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc", &limit},
		{"string longer than the file", "X\x00\x00\x00\x03abc", &cut},
		{"integer of 2 GiB", "\x8b\xff\xff\xff\x7f", &limit},
		{"integer of negative length", "\x8b\xff\xff\xff\xff", &limit},
		{"far memo index", "Nr\xff\xff\xff\xff.", &limit},
		{"far memo index of a dict", "}r\xff\xff\xff\xff(NNu.", &limit},
		{"memo slot never written", "h\x05.", &bad},
		{"unknown opcode", "\x00", &bad},
		{"protocol 6", "\x80\x06N.", &bad},
		{"line without end", "I" + strings.Repeat("1", 1<<20), &limit},
		{"integer of a thousand digits and one", "L" + strings.Repeat("1", 1001) + "L\n.", &bad},
		{"nothing", "", &cut},
		{"nothing on the stack", ".", &bad},
		{"dict without a value", "}(K\x01u.", &bad},
		{"elements for a number", "K\x01(K\x02e.", &bad},
		{"keys for a list", "](K\x01K\x02u.", &bad},
		{"pop past a mark", "K\x01(\x85.", &bad},
		{"tuple of more than there is", "K\x01\x87.", &bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opt := Options{MaxStack: 1 << 18}
			if _, err := decodeOnce([]byte(tt.in), opt); !errors.As(err, tt.want) {
				t.Errorf("error is %T: %v", err, err)
			}
		})
	}
}

// TestMaxStack holds what waits for its container to the limit: on the stack, or in a dict
// that may still get more.
func TestMaxStack(t *testing.T) {
	for name, in := range map[string]string{
		"stack size": "(" + strings.Repeat("N", 5000) + "t.",
		"dict size":  "}" + strings.Repeat("(K\x01Nu", 3000) + ".",
	} {
		var limit *LimitError
		if _, err := decodeOnce([]byte(in), Options{MaxStack: 4096}); !errors.As(err, &limit) || limit.What != name {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := decodeOnce([]byte(in), Options{}); err != nil {
			t.Errorf("%s, within the default limit: %v", name, err)
		}
	}
}

func decodeOnce(data []byte, opt Options) (string, error) {
	b := &treeBuilder{}
	res, err := Decode(bytes.NewReader(data), b, opt)
	return b.show(res.Root), err
}

// TestEveryOpcodeAlone gives every opcode to an empty stack, to one with a mark and to
// one with a few values: errors, never a crash.
func TestEveryOpcodeAlone(t *testing.T) {
	for _, before := range []string{"", "(", "K\x01", "]", "}", "](", "}(", "]q\x00K\x01", "}K\x01K\x02", "(((("} {
		for op := range 256 {
			for _, after := range []string{"", ".", "\x00\x00\x00\x00\x00\x00\x00\x00.", "\x01a.", "1\n1\n."} {
				_, _ = decode(t, []byte(before+string([]byte{byte(op)})+after), Options{})
			}
		}
	}
}

// TestBreaksOff pins what is left of a pickle that ends early.
func TestBreaksOff(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"in a list", "](K\x01K\x02", "[1 2]"},
		{"in a list of two batches", "](K\x01e(K\x02", "[1 2]"},
		{"in a list in a list", "](](K\x01e](K\x02", "[[1] [2]]"},
		{"in a list after an empty list", "](]](K\x02", "[[] [2]]"},
		{"in a list of one", "]](K\x02", "[[2]]"},
		{"in a dict", "}(K\x01K\x02K\x03", "{1:2!}"},
		{"in a dict in a list", "](}(K\x01K\x02u}(K\x03K\x04", "[{1:2} {3:4!}]"},
		{"after a dict in a list", "](}(K\x01K\x02u}(K\x03K\x04u", "[{1:2} {3:4!}]"},
		{"in a list in a dict", "}(U\x01aK\x01U\x01b](K\x02", `{"61":1 "62":[2]!}`},
		{"in a list of one in a dict", "}(U\x01aK\x01U\x01b]](K\x02", `{"61":1 "62":[[2]]!}`},
		{"in a dict of one", "}U\x01a](K\x02", `{"61":[2]!}`},
		{"in a tuple", "](K\x01(K\x02", "[1]"},
		{"in a key", "}(U\x05a", "{!}"},
		{"in a number", "](K\x01J\x00", "[1]"},
		{"in a list of GETs", "](K\x01q\x00](h\x00h\x00", "[1 [1 1]]"},
		{"while the outer list is named", "]q\x00(K\x01]h\x00K\x02", "[1 [] None 2]"},
		{"at a bad opcode", "](K\x01\x00", "[1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(t, []byte(tt.in), Options{})
			if !salvageable(err) || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// TestReaderFails pins that a failing source is told from an early end.
func TestReaderFails(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Decode(io.MultiReader(strings.NewReader("](K\x01"), iotest.ErrReader(broken)), &treeBuilder{}, Options{})
	if !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	_, err = Decode(strings.NewReader("](K\x01"), &treeBuilder{}, Options{})
	if !errors.Is(err, io.EOF) {
		t.Errorf("error is %v", err)
	}
	_, err = Decode(idle{}, &treeBuilder{}, Options{})
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error is %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestLongString reads strings that do not fit into the window, whatever the reader gives at a time.
func TestLongString(t *testing.T) {
	for _, n := range []int{255, windowBytes - 6, windowBytes, windowBytes + 1, 3*windowBytes + 5} {
		text := strings.Repeat("é", n/2+1)[:n]
		in := append([]byte("](X"), binary.LittleEndian.AppendUint32(nil, uint32(n))...)
		in = append(in, text+"K\x07e."...)
		if got, err := decodeOnce(in, Options{}); err != nil || got != fmt.Sprintf(`["%x" 7]`, text) {
			t.Errorf("%d bytes: %d bytes, %v", n, len(got), err)
		}
	}
}

// TestOneBatch reads a list that was written without batches, much larger than the stack.
func TestOneBatch(t *testing.T) {
	const n = 3*flushStack + 17
	in := []byte("](")
	in = append(in, bytes.Repeat([]byte("}(K\x01K\x02u"), n)...)
	b := &counter{}
	if _, err := Decode(bytes.NewReader(append(in, "e."...)), b, Options{}); err != nil || b.dicts != n || b.items != n {
		t.Errorf("%d dicts, %d items, %v; want %d of each", b.dicts, b.items, err, n)
	}
	if _, err := Decode(bytes.NewReader(append(in, "t."...)), &counter{}, Options{}); err == nil {
		t.Error("no error for a tuple of what went into a list")
	}
	if b.places != 1 {
		t.Errorf("the dicts of one list stood in %d places", b.places)
	}
}

// counter is a Builder that only counts.
type counter struct {
	pool                        value.Pool
	dicts, lists, items, places int
	place                       value.Place
}

func (b *counter) Pool() *value.Pool { return &b.pool }

func (b *counter) Dict(in value.Place, items []value.Value) (value.Value, error) {
	b.dicts++
	if in != b.place {
		b.place = in
		b.places++
	}
	return value.Of(value.KindObject, uint64(b.dicts)), nil
}

func (b *counter) List(_ value.Value, items []value.Value) (value.Value, error) {
	b.lists++
	b.items += len(items)
	return value.Of(value.KindObject, uint64(b.lists)), nil
}

func (b *counter) Tuple(items []value.Value) (value.Value, error) {
	return value.Of(value.KindObject, 0), nil
}

func (b *counter) CutDict([]value.Value) value.Value { return value.Nothing }
