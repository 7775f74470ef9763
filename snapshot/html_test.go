package snapshot

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// pageOf writes a page as torch.cuda._memory_viz does, around what begins like a pickle.
func pageOf(data []byte, title string) string {
	padded := append(bytes.Clone(data), make([]byte, 3-len(data)%3)...)
	return "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n" +
		"import {add_local_files} from \"https://cdn.example/MemoryViz.js\"\n" +
		"const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"" + base64.StdEncoding.EncodeToString(padded) + "\"}]\n" +
		"add_local_files(local_files, '" + title + "')\n</script>\n</body>\n"
}

// fakePickle is n bytes that begin like a pickle.
func fakePickle(n int) []byte {
	b := append([]byte("\x80\x04\x95"), sample(n)...)
	return b[:n]
}

func newPage(r io.Reader) *htmlPage { return &htmlPage{r: bufio.NewReaderSize(r, sniffBytes)} }

func TestHTMLPage(t *testing.T) {
	data := fakePickle(300_001)
	b64 := base64.StdEncoding.EncodeToString(data)
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))
	long := strings.Repeat("<p>some text with base64 in it, and \"base64\": null</p>\n", 5000)
	tests := []struct {
		name, page string
		want       []byte // less the writer's padding
		more       int
		kind       string
	}{
		{"trace_plot", pageOf(data, "Active Memory Timeline"), data, 0, "trace_plot"},
		{"segment_plot", pageOf(data, "Allocator State History"), data, 0, "segment_plot"},
		{"trace_plot of segments", pageOf(data, "Active Cached Memory Timeline"), data, 0, "trace_plot of segments"},
		{"after much text", long + pageOf(data, "") + long, data, 0, ""},
		{"after a picture", `<img src="data:image/png;base64,` + png + `">` + pageOf(data, ""), data, 0, ""},
		{"data URL", `<a href="data:application/octet-stream;base64,` + b64 + `">save</a>`, data, 0, ""},
		{"JavaScript, unquoted key", `let f = {name:'a.pickle', base64:'` + b64 + `'};`, data, 0, ""},
		{"alphabet for URLs", `{"base64":"` + base64.RawURLEncoding.EncodeToString(data) + `"}`, data, 0, ""},
		{"lines of 76", `{"base64":"` + lines(b64, 76, "\n") + `"}`, data, 0, ""},
		{"escaped slashes", `{"base64":"` + strings.ReplaceAll(b64, "/", `\/`) + `"}`, data, 0, ""},
		{"two files", `[{"name": "a", "base64": "` + b64 + `"}, {"name": "b", "base64": "` + b64 + `"}]`, data, 1, ""},
		{"gzip within", `{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\x1f\x8b\x08 and so on")) + `"}`, []byte("\x1f\x8b\x08 and so on"), 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.page), iotest.HalfReader(strings.NewReader(tt.page))} {
				page := newPage(r)
				in, err := page.next()
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(in)
				if err != nil || !bytes.Equal(bytes.TrimRight(got, "\x00"), bytes.TrimRight(tt.want, "\x00")) {
					t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(tt.want))
				}
				if more, kind := page.plotKind(); more != tt.more || kind != tt.kind {
					t.Errorf("%d more, kind %q; want %d, %q", more, kind, tt.more, tt.kind)
				}
			}
		})
	}
}

func lines(s string, width int, end string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + end)
		s = s[width:]
	}
	return b.String() + s
}

func TestHTMLWithout(t *testing.T) {
	disk := errors.New("input/output error")
	tests := []struct {
		name string
		page io.Reader
		want string
	}{
		{"no data", strings.NewReader("<html><body>sign in</body></html>"), errNoMoreData.Error()},
		{"empty", strings.NewReader(""), errNoMoreData.Error()},
		{"only a picture", strings.NewReader(`<html><img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA">`), errNoMoreData.Error()},
		{"remote files", strings.NewReader(`<html><script>add_remote_files([{"name": "a", "url": "a.pickle"}])</script>`), errNoMoreData.Error()},
		{"torch 2.0 trace_plot", strings.NewReader("<html><script>\nlet alloc_data = {\"actions\": [0, 1], \"elements_size\": [512, 512]"), "a drawing made from a recording by torch 2.0"},
		{"nightly segment_plot", strings.NewReader("<html>" + strings.Repeat(" ", 70_000) + "<script>\nlet trace_data = {\"string_table\": [\"alloc\"]"), "a drawing made from a recording by torch 2.0"},
		{"failing source", io.MultiReader(strings.NewReader("<html>"), iotest.ErrReader(disk)), disk.Error()},
	}
	for _, tt := range tests {
		if _, err := newPage(tt.page).next(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestHTMLBreaksOff(t *testing.T) {
	data := fakePickle(100_000)
	page := pageOf(data, "Active Memory Timeline")
	in, err := newPage(strings.NewReader(page[:70_000])).next()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	if err != io.ErrUnexpectedEOF || !bytes.HasPrefix(data, got) || len(got) < 52_000 {
		t.Errorf("%d bytes, error %v; want most of 52,500 and unexpected EOF", len(got), err)
	}
}

// TestBase64LikeStandard compares with encoding/base64, with blanks put anywhere
// and the text handed over in pieces of any size.
func TestBase64LikeStandard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
		text := base64.StdEncoding.EncodeToString(data)
		for range rapid.IntRange(0, 5).Draw(t, "blanks") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + "\n" + text[at:]
		}
		r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text+`"rest`)), 16)
		got, err := io.ReadAll(&base64Reader{r: r})
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%q: got %q, %v; want %q", text, got, err, data)
		}
		if rest, _ := io.ReadAll(r); string(rest) != `"rest` {
			t.Fatalf("%q is left of the page", rest)
		}
	})
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte(pageOf(fakePickle(50), "Active Memory Timeline")), 16)
	f.Add([]byte(`<img src="data:image/png;base64,iVBORw0KGgo="> "base64": "gASV`), 17)
	f.Add([]byte("let alloc_data = {"), 1)
	f.Fuzz(func(t *testing.T, page []byte, step int) {
		p := newPage(&stepReader{page, max(step, 1)})
		for {
			in, err := p.next()
			if err != nil {
				var not *NotRecordingError
				if err != errNoMoreData && !errors.As(err, &not) {
					t.Fatal(err)
				}
				return
			}
			n, err := io.Copy(io.Discard, in)
			if err != nil && err != io.ErrUnexpectedEOF || n > int64(len(page)) {
				t.Fatalf("%d bytes out of %d, %v", n, len(page), err)
			}
		}
	})
}

// stepReader gives at most step bytes at a time.
type stepReader struct {
	data []byte
	step int
}

func (s *stepReader) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), s.step)], s.data)
	s.data = s.data[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// BenchmarkHTML budget: 500 MB/s of text, three times what the pickle reader takes.
func BenchmarkHTML(b *testing.B) {
	page := pageOf(fakePickle(8<<20), "Active Memory Timeline")
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		in, err := newPage(strings.NewReader(page)).next()
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, in); err != nil || n < 8<<20 {
			b.Fatal(n, err)
		}
	}
}

func ExampleNotRecordingError() {
	err := &NotRecordingError{Name: "model.pt", Identity: Identify([]byte(torchZipHead))}
	fmt.Println(err)
	// Output: model.pt: not a recording of GPU memory: this is a PyTorch checkpoint (torch.save)
}

// TestPageWithinPage: pages within each other could go on for ever.
func TestPageWithinPage(t *testing.T) {
	inner := packers["gzip"](t, []byte(pageOf(fakePickle(100), "")))
	_, err := Read(strings.NewReader(pageOf(inner, "")), Options{Name: "viz.html"})
	var not *NotRecordingError
	if !errors.As(err, &not) || !strings.Contains(err.Error(), "viz.html: not a recording of GPU memory: this is a web page within a web page") {
		t.Errorf("error is %v", err)
	}
}
