package viewer

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	training "github.com/ullage-dev/ullage/internal/made"
)

// maxFuzzBytes bounds inputs and seeds: the engine tries thousands of times more of them
// when they are small.
const maxFuzzBytes = 32 << 10

// FuzzRecording shows any bytes that can be read as a recording, and asks every question
// about it. Each must have an answer or a reason why not, and nothing may panic.
func FuzzRecording(f *testing.F) {
	for _, seed := range recordingSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzBytes {
			return
		}
		read, err := readRecording(bytes.NewReader(data), "fuzz")
		if err != nil || len(read.Devices) == 0 {
			return
		}
		s := newServer(t, File{Name: "fuzz", Rank: -1, Read: func(context.Context, func(Stage, float64)) (*Read, error) { return read, nil }})
		if errs := s.Load(t.Context()); len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, target := range seeds(t, s) {
			if r := ask(s, target, nil); r.status != http.StatusOK && (r.status < 400 || r.status >= 500) {
				t.Errorf("%s: status %d: %s", target, r.status, r.body)
			}
		}
	})
}

// recordingSeeds are short recordings, of real runs where they are short enough.
func recordingSeeds(t testing.TB) (list [][]byte) {
	for _, events := range []int{1, 40, 200} {
		var b bytes.Buffer
		if _, err := (training.Run{Events: events, Leak: true}).WritePickle(&b); err != nil {
			t.Fatal(err)
		}
		list = append(list, b.Bytes())
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := xz.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if head, err := io.ReadAll(io.LimitReader(r, maxFuzzBytes+1)); err == nil && len(head) <= maxFuzzBytes {
			list = append(list, head)
		}
	}
	text := `{"segments": [{"device": 0, "address": 140000000000, "total_size": 2097152, "stream": 0, "segment_type": "small", "allocated_size": 512,
 "active_size": 512, "blocks": [{"address": 140000000000, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": []},
 {"address": 140000000512, "size": 2096640, "requested_size": 0, "state": "inactive", "frames": []}]}],
 "device_traces": [[{"action": "segment_alloc", "addr": 140000000000, "size": 2097152, "stream": 0, "frames": [], "time_us": 5},
 {"action": "alloc", "addr": 140000000000, "size": 500, "stream": 0, "frames": [{"name": "f", "filename": "a.py", "line": 3}], "time_us": 6}]]}`
	return append(list, []byte(strings.ReplaceAll(text, "\n", "")))
}
