package tune

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// testdata is the folder of recordings that packages share.
var testdata = filepath.Join("..", "..", "testdata")

// recorded reads a recording below testdata and replays its first device.
func recorded(tb testing.TB, name string) *timeline.Timeline {
	tb.Helper()
	f, err := os.Open(filepath.Join(testdata, filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	in, err := snapshot.Open(f, snapshot.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Recording()
	if err != nil {
		tb.Fatal(err)
	}
	return timeline.Build(rec, rec.Devices[0])
}

func compiled(tb testing.TB, tl *timeline.Timeline, died int) *Program {
	tb.Helper()
	p, err := Compile(tl, died)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// parsed reads a configuration as the newest release does.
func parsed(tb testing.TB, conf string) Setting {
	tb.Helper()
	s, err := ParseSetting(allocator.Newest, conf)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// trace builds a recording from events. Every event gets the stack of its own name in
// stacks, if it has one there; a stack is one frame in torch/x.py.
type trace struct {
	rec    *snapshot.Recording
	dev    *snapshot.Device
	stacks map[string]snapshot.StackID
}

func newTrace() *trace {
	dev := &snapshot.Device{Kind: snapshot.GPU, Events: new(snapshot.Events)}
	rec := &snapshot.Recording{Devices: []*snapshot.Device{dev}, Streams: []uint64{0, 1}, Settings: &snapshot.Settings{MaxSplitBytes: -1}}
	return &trace{rec: rec, dev: dev, stacks: map[string]snapshot.StackID{}}
}

// add appends an event whose stack is one function.
func (t *trace) add(a snapshot.Action, addr uint64, sizeBytes int64, function string) *trace {
	var id snapshot.StackID
	if function != "" {
		var ok bool
		if id, ok = t.stacks[function]; !ok {
			t.rec.Frames = append(t.rec.Frames, snapshot.Frame{Name: function, Filename: "torch/x.py", Line: 1})
			id = t.rec.Stacks.Add([]snapshot.FrameID{snapshot.FrameID(len(t.rec.Frames) - 1)})
			t.stacks[function] = id
		}
	}
	t.dev.Events.Append(snapshot.Event{Action: a, Addr: addr, SizeBytes: sizeBytes, Stack: id, TimeUS: int64(t.dev.Events.Len() + 1)})
	return t
}

func (t *trace) timeline() *timeline.Timeline { return timeline.Build(t.rec, t.dev) }

// lines reads a file of JSON objects.
func lines[T any](tb testing.TB, name string) (all []T) {
	tb.Helper()
	f, err := os.Open(filepath.Join(testdata, filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	if err := s.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%s: no lines: %v", name, err)
	}
	return all
}

// diedAt returns the last failure of a run that ended with one.
func diedAt(tl *timeline.Timeline, oom bool) int {
	died := -1
	for i := range tl.Dev.Events.Len() {
		if oom && tl.Dev.Events.At(i).Action == snapshot.OOM {
			died = i
		}
	}
	return died
}
