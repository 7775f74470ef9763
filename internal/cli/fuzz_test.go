package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ullage-dev/ullage/internal/made"
)

// maxFuzzBytes bounds inputs and seeds: the engine tries thousands of times more of them
// when they are small.
const maxFuzzBytes = 16 << 10

// FuzzExplain gives any bytes to explain, for JSON and in one of the other forms, whole or
// in a window. It must not crash, must take memory in proportion to the input, and what
// it prints must add up.
func FuzzExplain(f *testing.F) {
	for _, seed := range explainSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzBytes {
			return
		}
		before := allocated()
		whole := explainBytes(t, data, "--json", "--by", "tree", "--top", "-1")
		explainBytes(t, data, otherForms[len(data)%len(otherForms)]...)
		if took, room := allocated()-before, uint64(64<<20+1000*len(data)); took > room {
			t.Errorf("%d bytes of input took %d of memory, more than %d", len(data), took, room)
		}
		if whole != nil {
			checkSums(t, whole)
		}
	})
}

var otherForms = [][]string{
	{"-v"},
	{"--markdown", "--redact", "--since", "e1", "--at", "end"},
	{"--json", "--until", "peak", "--by", "stack", "--device-memory", "1GiB"},
}

// allocated counts all that was ever allocated: bounds on it are bounds on what is held
// at once too, and on time.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// explainBytes runs explain on standard input and returns what it printed, or nil where
// it refused the input. It runs the command by itself: the root's flags are remembered
// by cobra for the life of the process, 0.3 MB each time.
func explainBytes(t *testing.T, data []byte, flags ...string) []byte {
	o := &outside{stdin: string(data)}
	app := o.app()
	app.start(context.Background())
	cmd := newExplain(app)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(slices.Clone(flags), "-"))
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		app.printError(err, false)
	}
	switch code := exitCode(err); code {
	case exitDone:
		return o.stdout.Bytes()
	case exitInput, exitUsage: // not a recording, or the window is not in it
		if o.stderr.Len() == 0 {
			t.Errorf("%v: exit code %d without a word", flags, code)
		}
	default:
		t.Errorf("%v: exit code %d: %s", flags, code, o.stderr.String())
	}
	return nil
}

// sums is the part of the JSON whose amounts add up.
type sums struct {
	Devices []struct {
		Events     int
		Accounting struct {
			Requested int64 `json:"requested_bytes"`
			Rounding  int64 `json:"rounding_bytes"`
			Pending   int64 `json:"pending_free_bytes"`
			Cached    int64 `json:"cached_bytes"`
			Reserved  int64 `json:"reserved_bytes"`
			Free      []struct {
				Free    int64 `json:"free_bytes"`
				Pending int64 `json:"pending_free_bytes"`
			}
		}
		Peak struct {
			Requested int64 `json:"requested_bytes"`
			Allocated int64 `json:"allocated_bytes"`
			Reserved  int64 `json:"reserved_bytes"`
		}
		Replay  struct{ Allocs, Equal int }
		Holders struct {
			Allocated  int64 `json:"allocated_bytes"`
			Categories []struct{ Bytes int64 }
			Tree       *treeNode
		}
	}
}

type treeNode struct {
	Bytes    int64
	Children []treeNode
}

// checkSums holds the amounts of every device against each other.
func checkSums(t *testing.T, text []byte) {
	var s sums
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for i, d := range s.Devices {
		a := d.Accounting
		if a.Requested+a.Rounding+a.Pending+a.Cached != a.Reserved || min(a.Requested, a.Rounding, a.Pending, a.Cached) < 0 {
			t.Errorf("device %d: accounting %+v", i, a)
		}
		var free, pending, held int64
		for _, g := range a.Free {
			free, pending = free+g.Free, pending+g.Pending
		}
		for _, c := range d.Holders.Categories {
			held += c.Bytes
		}
		switch {
		case free != a.Cached, pending != a.Pending:
			t.Errorf("device %d: free memory %+v", i, a)
		case d.Holders.Allocated != a.Requested+a.Rounding, held != d.Holders.Allocated, d.Holders.Tree != nil && d.Holders.Tree.Bytes != held:
			t.Errorf("device %d: %d bytes held by categories, of %d; %d are accounted for", i, held, d.Holders.Allocated, a.Requested+a.Rounding)
		case d.Peak.Allocated < a.Requested+a.Rounding, d.Peak.Reserved < a.Reserved, d.Replay.Equal > d.Replay.Allocs, d.Replay.Allocs > d.Events:
			t.Errorf("device %d: peaks %+v, replay %+v, accounting %+v", i, d.Peak, d.Replay, a)
		}
	}
}

// explainSeeds are small recordings in several forms, texts, and hand-made pickles of
// memory that does not fit together.
func explainSeeds(f *testing.F) [][]byte {
	var seeds [][]byte
	for _, name := range []string{"no_stacks", "oom_expandable", "oom_stranded_in_graph_pool", "oom_stranded_on_stream", "state_only"} {
		packed, err := os.ReadFile(filepath.Join("..", "..", "testdata", "gpu", name+".pickle.xz"))
		if err != nil {
			f.Fatal(err)
		}
		r, err := xz.NewReader(bytes.NewReader(packed))
		if err != nil {
			f.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, plain[:min(len(plain), maxFuzzBytes)])
	}
	for _, run := range []made.Run{{Events: 90, Leak: true}, {Events: 60, LastFirst: true}} {
		var b bytes.Buffer
		if _, err := run.WritePickle(&b); err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, b.Bytes()[:min(b.Len(), maxFuzzBytes)])
	}
	for _, e := range []string{
		event("segment_alloc", 1<<40, 20<<20) + event("alloc", 1<<40, 8<<20) + event("free_requested", 1<<40, 8<<20) + event("free_completed", 1<<40, 8<<20) + event("oom", 1<<30, 30<<20),
		event("segment_map", 1<<40, 20<<20) + event("alloc", 1<<40, 8<<20) + event("segment_unmap", 1<<40, 4<<20) + event("segment_map", 1<<40+8<<20, 20<<20),
		event("free_completed", 1<<40, 8<<20) + event("segment_free", 1<<40, 20<<20) + event("alloc", 1<<40, -1) + event("segment_alloc", 1<<40, -5),
	} {
		seeds = append(seeds, tracePickle(e))
	}
	return append(seeds, []byte(oomMessage), []byte(`{"segments": [{"address": 1099511627776, "total_size": 2097152, "blocks": [{"address": 1099511627776, "size": 512, "state": "active_allocated"}]}], "device_traces": [[]]}`),
		[]byte(strings.Repeat("epoch 1\n", 5)), p4("}(", word("segments"), "]u."))
}
