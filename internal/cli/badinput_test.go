package cli

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ulikunitz/xz"
)

// badFile is a file that is no sound recording, and what explain makes of it.
type badFile struct {
	name    string
	content []byte
	code    int
}

// p4 is a pickle of protocol 4.
func p4(ops ...string) []byte { return []byte("\x80\x04" + strings.Join(ops, "")) }

// word is a short string of a pickle, number a 64-bit integer.
func word(s string) string { return "\x8c" + string(rune(len(s))) + s }

func number(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// event is an event of a trace.
func event(action string, addr, size int64) string {
	return "}(" + word("action") + word(action) + word("addr") + number(addr) + word("size") + number(size) + word("stream") + "K\x00" + word("frames") + "]u"
}

// tracePickle is a recording of one device.
func tracePickle(events ...string) []byte {
	return p4("}(", word("segments"), "]", word("device_traces"), "](](", strings.Join(events, ""), "eeu.")
}

const oomMessage = "Traceback (most recent call last):\r\n  File \"train.py\", line 12, in <module>\r\n" +
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 12.44 MiB is free. " +
	"Including non-PyTorch memory, this process has 79.13 GiB memory in use. Of the allocated memory 77.21 GiB is allocated by PyTorch, " +
	"and 1.25 GiB is reserved by PyTorch but unallocated.\r\n"

func utf16Of(s string, order binary.AppendByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func checkpoint() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"archive/data.pkl", "archive/version", "archive/data/0"} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(p4("}."))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b) //nolint:errcheck // a buffer takes everything
	w.Close()
	return out.Bytes()
}

// wholeRecording is a sound recording, as it is and packed.
func wholeRecording(t *testing.T) (plain, packed []byte) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("..", "..", "testdata", "gpu", "train_mlp_adamw.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain, packed
}

func badFiles(t *testing.T) []badFile {
	plain, packed := wholeRecording(t)
	tooLong := string(binary.LittleEndian.AppendUint32(nil, 1<<32-1))
	absurd := string(binary.LittleEndian.AppendUint64(nil, 1<<62))
	return []badFile{
		{"empty", nil, 4},
		{"one byte", []byte("\x80"), 4},
		{"zeros", make([]byte, 5000), 4},
		{"no-events.pickle", tracePickle(), 4},
		{"empty-dict.pickle", p4("}."), 4},
		{"a-number.pickle", p4("K\x05."), 4},

		{"negative.pickle", tracePickle(event("alloc", 1<<40, -1), event("segment_alloc", 1<<40, -1<<62)), 0},
		{"absurd.pickle", tracePickle(event("segment_alloc", 1<<40, 1<<62), event("alloc", 1<<40, 1<<61)), 0},
		{"frees-only.pickle", tracePickle(event("free_completed", 1<<40, 512), event("free_requested", 1<<41, 512)), 0},
		{"overlap.pickle", tracePickle(event("segment_alloc", 1<<40, 20<<20), event("alloc", 1<<40, 8<<20), event("alloc", 1<<40+4096, 8<<20)), 0},
		{"bad-utf8.pickle", tracePickle(event("segment_alloc", 1<<40, 20<<20), event("alloc", 1<<40, 8<<20), event("\xff\xfe", 1, 1)), 0},

		{"list-in-itself.pickle", []byte("\x80\x04]\x94h\x00a."), 4},
		{"dict-in-itself.pickle", []byte("\x80\x04}\x94(" + word("segments") + "h\x00u."), 4},
		{"trace-in-itself.pickle", []byte("\x80\x04}\x94(" + word("segments") + "]" + word("device_traces") + "]\x94h\x01au."), 4},
		{"nested-lists.pickle", p4(strings.Repeat("]", 1_000_000), strings.Repeat("a", 999_999), "."), 4},
		{"nested-tuples.pickle", p4(strings.Repeat("(", 1_000_000), strings.Repeat("t", 1_000_000), "."), 4},
		{"string-of-4GiB.pickle", p4("X", tooLong, "abc"), 4},
		{"string-of-4EiB.pickle", p4("\x8d", absurd, "abc"), 4},
		{"frame-of-4EiB.pickle", p4("\x95", absurd, "]."), 4},
		{"code.pickle", p4(word("posix"), word("system"), "\x93", word("id"), "\x85R."), 4},
		{"code-protocol-0.pickle", []byte("cos\nsystem\n(S'id'\ntR."), 4},
		{"code-in-trace.pickle", p4("}(", word("segments"), "]", word("device_traces"), "](](", event("alloc", 1, 1), "cos\nsystem\n", word("id"), "\x85Reeu."), 4},

		{"code-later.pickle", p4("}(", word("segments"), "]", word("device_traces"), "](](", strings.Repeat(event("free_completed", 1<<40, 1), 3000), "cos\nsystem\n", word("id"), "\x85Reeu."), 4},

		{"model.pt", checkpoint(), 4},
		{"state-dict.pkl", []byte("\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01."), 4},
		{"picture.png", []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 100)), 4},
		{"trace.json", []byte(`{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2}]}`), 4},
		{"config.json", []byte(`{"batch_size": 4, "lr": 0.1}`), 4},
		{"page.html", []byte("<!doctype html><html><body>hello</body></html>"), 4},

		{"cut.pickle", plain[:len(plain)/2], 0},
		{"cut-early.pickle", plain[:200], 4},
		{"cut-at-once.pickle", plain[:10], 4},
		{"cut.pickle.gz", gzipped(plain)[:9000], 0},
		{"cut.pickle.xz", packed[:len(packed)/2], 0},
		{"damaged.pickle", slices.Concat(plain[:len(plain)/2], make([]byte, 100), plain[len(plain)/2+100:]), 0},
		{"cut.json", []byte(`{"segments": [], "device_traces": [[{"action": "segment_alloc", "addr": 1099511627776, "size": 20971520, "stream": 0, "frames": []}, {"action": "al`), 0},

		{"crlf.log", []byte(oomMessage), 0},
		{"utf16.log", utf16Of(oomMessage, binary.LittleEndian, true), 0},
		{"utf16-big-endian.log", utf16Of(oomMessage, binary.BigEndian, true), 0},
		{"long-line.log", []byte(strings.Repeat("x", 20<<20) + "\n" + oomMessage), 0},
		{"nothing.log", []byte("epoch 1, loss 0.5\nepoch 2, loss 0.4\n"), 0},
		{"commas.csv", []byte("a,b\n1,2\n"), 0},
	}
}

// TestBadInput gives explain what is no sound recording. Its exit code and everything
// that it says on standard error are kept, and the first lines of what it prints.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	var all bytes.Buffer
	for _, f := range badFiles(t) {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.content, 0o600); err != nil {
			t.Fatal(err)
		}
		all.Write(badOutput(t, dir, f.name, f.code))
	}
	for _, name := range []string{"nosuch.pickle", "folder", "folder of other things"} {
		if strings.HasPrefix(name, "folder") {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if name == "folder of other things" {
			if err := os.WriteFile(filepath.Join(dir, name, "readme.txt"), []byte("hello\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		all.Write(badOutput(t, dir, name, 4))
	}
	golden(t, filepath.Join("testdata", "bad_input.golden"), all.Bytes())
}

// badOutput runs explain on one file, in a folder.
func badOutput(t *testing.T, dir, name string, want int) []byte {
	t.Helper()
	o := new(outside)
	app := o.app()
	app.Files = beside{dir}
	if code := Run(t.Context(), app, []string{"explain", name}); code != want {
		t.Errorf("%s: exit code %d, want %d", name, code, want)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "== %s: exit code %d\n", name, want)
	b.Write(o.stderr.Bytes())
	head, _, _ := strings.Cut(o.stdout.String(), "\n\n")
	b.WriteString(head)
	if head != "" && !strings.HasSuffix(head, "\n") {
		b.WriteByte('\n')
	}
	if want != 0 && o.stdout.Len() > 0 || o.stderr.Len() == 0 && o.stdout.Len() == 0 {
		t.Errorf("%s: printed %q, and said %q", name, o.stdout.String(), o.stderr.String())
	}
	return []byte(strings.ReplaceAll(b.String(), notFound(), "no such file or directory"))
}

// notFound is how this system says that a file is not there.
func notFound() string {
	_, err := os.Stat("no such file")
	return strings.TrimPrefix(fmt.Sprint(fileError("no such file", err)), "no such file: ")
}

// TestTruncatedJSON: a file that breaks off says so in JSON too, on every device.
func TestTruncatedJSON(t *testing.T) {
	plain, _ := wholeRecording(t)
	o := &outside{stdin: string(plain[:len(plain)/2])}
	if code := o.run(t, "explain", "--json", "-"); code != 0 {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	var got struct {
		Devices []struct {
			File      string
			Events    int
			Truncated bool
		}
	}
	if err := json.Unmarshal(o.stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Devices) != 1 || !got.Devices[0].Truncated || got.Devices[0].Events < 500 || got.Devices[0].File != "standard input" {
		t.Errorf("%+v", got.Devices)
	}
	if !strings.HasPrefix(o.stderr.String(), "ullage: warning: standard input breaks off after ") {
		t.Errorf("standard error: %s", o.stderr.String())
	}
}

// TestDenied: a file that may not be read is named, with the reason.
func TestDenied(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "locked.pickle")
	if err := os.WriteFile(name, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	o := new(outside)
	app := o.app()
	app.Files = denying{beside{dir}}
	code := Run(t.Context(), app, []string{"explain", "locked.pickle"})
	if got := o.stderr.String(); code != 4 || got != "ullage: error: locked.pickle: permission denied\n" {
		t.Errorf("exit code %d: %s", code, got)
	}
}
