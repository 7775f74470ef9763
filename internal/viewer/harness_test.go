package viewer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// page is a page of three files.
var page = fstest.MapFS{
	"index.html":      {Data: []byte("<!doctype html><title>ullage</title><script src=app.js></script>")},
	"app.js":          {Data: []byte(strings.Repeat("console.log('a page');", 100))},
	"standalone.html": {Data: []byte("<!doctype html><head><title>ullage</title></head>" + dataMark + "<script>console.log('a page')</script>")},
	"secret.txt":      {Data: []byte("not of the page")},
}

// testdata is a file of the repository's recordings, as a File.
func testdata(name string) File {
	return File{Name: name, Rank: rankOf(name), Read: func(context.Context, func(Stage, float64)) (*Read, error) {
		f, err := os.Open(filepath.Join("..", "..", "testdata", filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readRecording(f, name)
	}}
}

func rankOf(name string) int { return snapshot.RanksOf([]string{name, "x"})[0] }

// readRecording reads and explains what the command line does, without what stands beside it.
func readRecording(r io.Reader, name string) (*Read, error) {
	rec, err := snapshot.Read(r, snapshot.Options{Name: name})
	if err != nil {
		return nil, err
	}
	rec.Source.Rank = rankOf(name)
	sites := analyze.NewSites(rec)
	out := &Read{Rec: rec, ID: []byte(name)}
	for _, dev := range rec.Devices {
		x, err := analyze.Explain(timeline.Build(rec, dev), sites, analyze.Options{Top: 10})
		if err != nil {
			return nil, err
		}
		out.Devices = append(out.Devices, Explained{Explanation: x})
	}
	return out, nil
}

// newServer makes a server of files that are not read yet.
func newServer(t testing.TB, files ...File) *Server {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	s, err := New(Config{Version: "v1.2.3", Files: files, Page: page, Now: now, Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loaded are servers that tests share: what they serve does not change.
var loaded sync.Map

// serve returns a server that has read files of testdata.
func serve(t testing.TB, names ...string) *Server {
	t.Helper()
	once, _ := loaded.LoadOrStore(strings.Join(names, " "), sync.OnceValue(func() *Server {
		var files []File
		for _, name := range names {
			files = append(files, testdata(name))
		}
		s := newServer(t, files...)
		for _, err := range s.Load(context.Background()) {
			t.Fatal(err)
		}
		return s
	}))
	return once.(func() *Server)()
}

// reply is what a server answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a GET for a path from the root, as a page of the server does. change may be nil.
func ask(s *Server, target string, change func(*http.Request)) reply {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7070/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.Bytes()}
}

// answerTo returns the answer to a path below the API. It must be good.
func answerTo(t testing.TB, s *Server, path string) []byte {
	t.Helper()
	r := ask(s, api+path, nil)
	if r.status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, r.status, r.body)
	}
	return r.body
}

// answerJSON decodes the answer to a path below the API.
func answerJSON[T any](t testing.TB, s *Server, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(answerTo(t, s, path), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// first is the path of the first device of the first recording.
func first(t testing.TB, s *Server) string {
	t.Helper()
	return "rec/" + answerJSON[sessionJSON](t, s, "session").Recordings[0].ID + "/0"
}

// golden compares an answer, spread over lines, with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	file := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs; if that is wanted, rewrite it with -update (-want +got):\n%s", file, diff)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// readMessages returns what a stream of events sends, message by message, to its end.
func readMessages(r io.Reader) <-chan string {
	messages := make(chan string)
	go func() {
		defer close(messages)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				messages <- data
			}
		}
	}()
	return messages
}
