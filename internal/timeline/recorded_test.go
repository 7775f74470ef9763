package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/ullage-dev/ullage/snapshot"
)

// readRecording reads a recording of the repository's testdata.
func readRecording(tb testing.TB, path ...string) *snapshot.Recording {
	tb.Helper()
	name := filepath.Join(append([]string{"..", "..", "testdata"}, path...)...)
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f, snapshot.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return rec
}

// busiest replays the device that has the most events.
func busiest(tb testing.TB, rec *snapshot.Recording) *Timeline {
	tb.Helper()
	if len(rec.Devices) == 0 {
		tb.Fatal("the recording has no device")
	}
	dev := rec.Devices[0]
	for _, d := range rec.Devices {
		if d.Events.Len() > dev.Events.Len() {
			dev = d
		}
	}
	return Build(rec, dev)
}

// counted is what torch.cuda.memory_stats() said at the end of a recorded run.
type counted struct {
	Recording      string
	Complete       bool
	PeakRequested  int64 `json:"peak_requested"`
	PeakAllocated  int64 `json:"peak_allocated"`
	PeakActive     int64 `json:"peak_active"`
	PeakReserved   int64 `json:"peak_reserved"`
	FinalAllocated int64 `json:"final_allocated"`
	FinalReserved  int64 `json:"final_reserved"`
}

// elsewhere lists the recordings in which some allocations are not where the simulated
// allocator would put them: graph trees restore the state of a pool from a checkpoint,
// of which a recording says nothing (graphs_compiled). Blocks are put at the recorded
// address all the same, so that the counters are right. Private pools that were given
// back before the dump, of which torch before 2.12 says nothing either, are found
// (own_pool).
var elsewhere = map[string]int{"graphs_compiled": 3}

// TestCountersOfRecordedRuns holds the replay against what PyTorch counted in
// the recorded process itself: every peak to the byte, and every address.
func TestCountersOfRecordedRuns(t *testing.T) {
	rows := 0
	for _, want := range readCounted(t) {
		name, _ := strings.CutSuffix(want.Recording, ".pickle.xz")
		rows++
		t.Run(name, func(t *testing.T) {
			tl := busiest(t, readRecording(t, "gpu", want.Recording))
			if got := tl.End; got.Allocated != want.FinalAllocated || got.Reserved != want.FinalReserved {
				t.Errorf("at the end %+v, torch counted allocated %d, reserved %d", got, want.FinalAllocated, want.FinalReserved)
			}
			if missed := tl.Replay.Allocs - tl.Replay.Equal; missed != elsewhere[name] {
				t.Errorf("%d of %d allocations elsewhere, want %d; the first at e%d", missed, tl.Replay.Allocs, elsewhere[name], tl.Replay.First)
			}
			if tl.Replay.Odd != (Odd{}) {
				t.Errorf("inconsistent: %+v", tl.Replay.Odd)
			}
			if tl.Replay.FromCold != want.Complete {
				t.Errorf("begins before the first allocation: %v, want %v", tl.Replay.FromCold, want.Complete)
			}
			if want.Complete {
				wantPeaks(t, tl.Peak, want)
			}
			dumpReached(t, tl)
		})
	}
	if rows < 30 {
		t.Errorf("only %d recordings were held against torch's counters", rows)
	}
}

func readCounted(t *testing.T) []counted {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "gpu", "recorded.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []counted
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var row counted
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func wantPeaks(t *testing.T, p Peak, want counted) {
	t.Helper()
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"requested", p.Requested.Bytes, want.PeakRequested},
		{"allocated", p.Allocated.Bytes, want.PeakAllocated},
		{"active", p.Active.Bytes, want.PeakActive},
		{"reserved", p.Reserved.Bytes, want.PeakReserved},
	} {
		if c.got != c.want {
			t.Errorf("peak %s %d, torch counted %d", c.name, c.got, c.want)
		}
	}
}

// dumpReached compares the state after the last event with the dump, block by block.
func dumpReached(t *testing.T, tl *Timeline) {
	t.Helper()
	if diff := cmp.Diff(dumpSpans(tl.Dev), stateSpans(tl.StateAt(tl.Dev.Events.Len()-1))); diff != "" {
		t.Errorf("state at the end (-dump +replay):\n%s", diff)
	}
}

// span is a block of a dump, or of a state, or free memory.
type span struct {
	Addr      uint64
	SizeBytes int64
	State     snapshot.BlockState
}

func dumpSpans(dev *snapshot.Device) []span {
	var list []span
	for _, b := range dev.Blocks {
		list = append(list, span{b.Addr, b.SizeBytes, b.State})
	}
	return sorted(list)
}

func stateSpans(s *State) []span {
	var list []span
	for i := range s.Segments {
		for _, p := range s.Segments[i].Spans {
			list = append(list, span{p.Addr, p.SizeBytes, p.State})
		}
	}
	return sorted(list)
}

// TestWholeRuns does the same for runs of common models. Their peaks are what
// torch.cuda.memory_stats() said in the recorded process.
func TestWholeRuns(t *testing.T) {
	for _, want := range []counted{
		{Recording: "bert_varlen-lim16", Complete: true, PeakRequested: 16_051_612_840, PeakAllocated: 16_095_481_856, PeakReserved: 17_167_286_272},
		{Recording: "cudagraph", Complete: true, PeakRequested: 327_196_688, PeakAllocated: 327_197_696, PeakReserved: 440_401_920},
		{Recording: "leak_eval_outputs-oom", Complete: true, PeakRequested: 4_018_845_352, PeakAllocated: 4_018_890_752, PeakReserved: 4_290_772_992},
		{Recording: "resnet50", Complete: true, PeakRequested: 5_830_299_792, PeakAllocated: 5_854_787_584, PeakReserved: 7_029_653_504},
		{Recording: "vit", Complete: true, PeakRequested: 5_749_363_552, PeakAllocated: 5_777_472_000, PeakReserved: 6_255_804_416},
		{Recording: "bert_varlen-ring"}, // the ring lost the beginning, and with it the peaks
	} {
		t.Run(want.Recording, func(t *testing.T) {
			tl := busiest(t, readRecording(t, "recordings", want.Recording+".pickle.xz"))
			if tl.Replay.Equal != tl.Replay.Allocs || tl.Replay.Allocs == 0 || tl.Replay.Odd != (Odd{}) || tl.Replay.FromCold != want.Complete {
				t.Errorf("replay: %+v", tl.Replay)
			}
			if want.Complete {
				want.PeakActive = tl.Peak.Active.Bytes // not kept of these runs
				wantPeaks(t, tl.Peak, want)
			}
			dumpReached(t, tl)
		})
	}
}

// TestEveryDevice replays every device of every recording: all lead to their dump.
func TestEveryDevice(t *testing.T) {
	for _, folder := range []string{"leaks", "recordings"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", folder, "*.pickle.xz"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no recordings in %s: %v", folder, err)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				rec := readRecording(t, folder, filepath.Base(path))
				for _, dev := range rec.Devices {
					tl := Build(rec, dev)
					if tl.Replay.Equal != tl.Replay.Allocs || tl.Replay.Odd != (Odd{}) {
						t.Errorf("device %d: %+v", dev.Index, tl.Replay)
					}
					dumpReached(t, tl)
				}
			})
		}
	}
}

// TestFilesThatBreakOff cuts recordings at many places. Their segments come first in the
// file and are of the end of the run, which the events do not reach: a recording that
// begins before the first allocation is replayed without them, and counts at each of its
// events what the whole file counts there. Of others the start is known to be a guess.
func TestFilesThatBreakOff(t *testing.T) {
	for _, c := range []struct {
		name string
		cold bool
	}{{"train_varying_expandable", true}, {"oom_batch_too_large", true}, {"leak_every_tenth", true}, {"own_pool", true}, {"late_start", false}, {"ring_cut", false}} {
		t.Run(c.name, func(t *testing.T) {
			text := unpacked(t, filepath.Join("..", "..", "testdata", "gpu", c.name+".pickle.xz"))
			whole := busiest(t, mustRead(t, text))
			for part := range 12 {
				rec := mustRead(t, text[:len(text)*(part+13)/25])
				tl := busiest(t, rec)
				if rec.Truncated == nil || !tl.Dev.Cut || tl.Replay.Guessed == c.cold || tl.Replay.FromCold != c.cold {
					t.Fatalf("%d bytes: cut %v, %+v", len(text)*(part+13)/25, tl.Dev.Cut, tl.Replay)
				}
				if c.cold {
					samePrefix(t, tl, whole)
				}
			}
		})
	}
}

// samePrefix checks that part counts after each of its events what whole counts.
func samePrefix(t *testing.T, part, whole *Timeline) {
	t.Helper()
	n := part.Dev.Events.Len()
	if n == 0 || n >= whole.Dev.Events.Len() || part.Replay.Odd != (Odd{}) {
		t.Fatalf("%d of %d events, %+v", n, whole.Dev.Events.Len(), part.Replay)
	}
	want := make([]Totals, n)
	whole.Walk(0, n, func(i int, now Totals) { want[i] = now })
	part.Walk(0, n, func(i int, now Totals) {
		if now != want[i] {
			t.Fatalf("of %d events, after e%d: %+v, the whole file has %+v", n, i, now, want[i])
		}
	})
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := xz.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func mustRead(t *testing.T, text []byte) *snapshot.Recording {
	t.Helper()
	rec, err := snapshot.Read(bytes.NewReader(text), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
