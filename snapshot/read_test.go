package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/internal/pickle"
)

func madeRecording(t testing.TB, run made.Run) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := run.WritePickle(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestReadCodeInPickle pins that code is refused by opcode and offset wherever it
// stands, and that a pickle of something else is named.
func TestReadCodeInPickle(t *testing.T) {
	data := madeRecording(t, made.Run{Events: 3000})
	reduce := slices.Concat(data[:len(data)-1], []byte("cos\nsystem\nX\x02\x00\x00\x00ls\x85R."))
	_, err := Read(bytes.NewReader(reduce), Options{Name: "evil.pickle"})
	var refused *pickle.RefusedError
	if !errors.As(err, &refused) || refused.Opcode != "GLOBAL" || refused.Offset != int64(len(data)-1) || refused.Global != "os.system" {
		t.Errorf("after the data: %v", err)
	}
	_, err = Read(strings.NewReader("\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."), Options{Name: "evil.pickle"})
	var not *NotRecordingError
	if !errors.As(err, &refused) || refused.Opcode != "STACK_GLOBAL" || !errors.As(err, &not) {
		t.Errorf("at the beginning: %v", err)
	}
}

// TestReadCut reads a recording cut at many places: the events are those of the whole,
// up to one fewer than were written out, and the offset is that of the cut.
func TestReadCut(t *testing.T) {
	for _, run := range []made.Run{{Events: 2500}, {Events: 2500, LastFirst: true}} {
		data := madeRecording(t, run)
		whole := readBytes(t, data).Devices[0].Events
		for cut := len(data) / 5; cut < len(data); cut += 997 {
			rec, err := Read(bytes.NewReader(data[:cut]), Options{})
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if rec.Truncated == nil || rec.Truncated.Offset != int64(cut) {
				t.Fatalf("cut at %d: %+v", cut, rec.Truncated)
			}
			events := rec.Devices[0].Events
			complete := bytes.Count(data[:cut], []byte("}\x94(h")) // begun, frames and segments included
			if events.Len() > complete {
				t.Fatalf("cut at %d: %d events of at most %d", cut, events.Len(), complete)
			}
			for i := range events.Len() {
				got, want := events.At(i), whole.At(i)
				got.Stack, want.Stack = 0, 0 // ids follow the order of the file, in which segments may come first
				if got != want {
					t.Fatalf("cut at %d: event %d is %+v, want %+v", cut, i, got, want)
				}
			}
		}
	}
}

// TestReadDamaged overwrites the middle of a recording: what came before is kept.
func TestReadDamaged(t *testing.T) {
	data := madeRecording(t, made.Run{Events: 5000})
	at := len(data) * 3 / 4
	for i := range 4096 {
		data[at+i] = 0
	}
	rec, err := Read(bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Truncated == nil || rec.Truncated.Offset < int64(at) || rec.Truncated.Offset > int64(at)+100 || rec.Devices[0].Events.Len() < 3000 {
		t.Errorf("truncated %+v, %d events", rec.Truncated, rec.Devices[0].Events.Len())
	}
}

// TestReadFailingSource pins that a disk's error is an error, not a short recording.
func TestReadFailingSource(t *testing.T) {
	data := madeRecording(t, made.Run{Events: 5000})
	broken := errors.New("disk on fire")
	_, err := Read(io.MultiReader(bytes.NewReader(data[:300_000]), iotest.ErrReader(broken)), Options{Name: "x"})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "x: ") {
		t.Errorf("error is %v", err)
	}
}

// TestProgress pins that progress grows to the size of the file.
func TestProgress(t *testing.T) {
	data := madeRecording(t, made.Run{Events: 20_000})
	var seen []int64
	if _, err := Read(bytes.NewReader(data), Options{Progress: func(n int64) { seen = append(seen, n) }}); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 3 || !slices.IsSorted(seen) || seen[len(seen)-1] != int64(len(data)) {
		t.Errorf("progress %v of %d bytes", seen, len(data))
	}
}

// TestOnEvents pins that the hook gets every event once and in order, and can tell its device.
func TestOnEvents(t *testing.T) {
	const n = 3*EventsChunk + 100
	data := madeRecording(t, made.Run{Events: n})
	var batches []Batch
	rec, err := Read(bytes.NewReader(data), Options{OnEvents: func(trace int, b *Batch) {
		if trace != 0 {
			t.Errorf("trace %d", trace)
		}
		batches = append(batches, Batch{
			First: b.First, Action: slices.Clone(b.Action), Addr: slices.Clone(b.Addr), Size: slices.Clone(b.Size),
			Stream: slices.Clone(b.Stream), Stack: slices.Clone(b.Stack), Time: slices.Clone(b.Time), Pool: slices.Clone(b.Pool),
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, b := range batches {
		if b.First != i {
			t.Fatalf("batch begins at %d, want %d", b.First, i)
		}
		for k := range b.Action {
			got := Event{Action(b.Action[k]), b.Addr[k], int64(b.Size[k]), StreamID(b.Stream[k]), StackID(b.Stack[k]), int64(b.Time[k]), 0, 0, uint32(b.Pool[k])}
			if want := rec.Devices[0].Events.At(i); got != want {
				t.Fatalf("event %d is %+v, want %+v", i, got, want)
			}
			i++
		}
	}
	if i != n || rec.Devices[0].Trace != 0 {
		t.Errorf("%d events of trace %d, want %d of trace 0", i, rec.Devices[0].Trace, n)
	}
}

const frame = `{"name": "f", "filename": "a.py", "line": 7}`

// oddRecordings are such as no version of torch writes quite so, and what describe says
// of them. They are JSON for legibility; every form takes the same way from there.
var oddRecordings = []struct{ name, in, want string }{
	{
		"empty", `{"segments": [], "device_traces": [[]]}`, ``,
	},
	{
		"wrapped", `{"rank": 3, "snapshot": {"x": [{"segments": [], "device_traces": [[{"action": "alloc", "addr": 512, "size": 1}]]}]}}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x200 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" `,
	},
	{
		"things among the events", `{"segments": [], "device_traces": [[null, {"action": "alloc", "addr": 512, "size": 1}, "x", {}, 3, {"action": "alloc", "addr": 1024, "size": 1}]]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x200 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x400 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
warning 1 list holds things of different kinds; the rest of it was left out`,
	},
	{
		"two recordings", `[{"device_traces": [[{"action": "alloc"}]], "segments": []}, {"device_traces": [[{"action": "oom"}]], "segments": []}]`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x0 size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
warning the file holds 2 recordings; this is the first of them`,
	},
	{
		"events of one device without the list of devices", `{"segments": [], "device_traces": [{"action": "alloc", "addr": 512, "size": 1, "stream": 0}]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x200 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" `,
	},
	{
		"numbers of every kind", `{"segments": [], "device_traces": [[
				{"action": "alloc", "addr": 18446744073709551615, "size": 12.9, "stream": -1},
				{"action": "alloc", "addr": "0x7f00", "size": "512", "stream": 1e3},
				{"action": "alloc", "addr": 1e30, "size": null, "stream": [1, 2, 3]},
				{"action": "alloc", "addr": -512, "size": -5, "stream": true},
				{"action": "alloc", "addr": 0, "size": 9223372036854775807, "stream": 0},
				{"action": "alloc", "addr": 0, "size": -9223372036854775808, "stream": 0}]]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0xffffffffffffffff size=12 stream=0xffffffffffffffff t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x7f00 size=512 stream=0x3e8 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0xffffffffffffffff size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0xfffffffffffffe00 size=-5 stream=0x1 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x0 size=140737488355328 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x0 size=-140737488355328 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
warning 2 numbers are fractions where whole numbers belong; they were rounded toward zero; the first is before the first event
warning 1 value is no number where a number belongs; it was taken as 0; the first is near event 2 of the file
warning 1 number does not fit into 64 bits; the nearest that does was taken; the first is near event 2 of the file
warning 1 size is beyond 128 TiB; it was set to it; the first is near event 4 of the file
warning 2 sizes are negative; the first is near event 3 of the file`,
	},
	{
		"unknown keys and actions", `{"segments": [], "device_traces": [[
				{"action": "teleport", "addr": 1, "size": 1, "stream": 0, "mood": {"a": [1]}},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "mood": 2}]], "weather": "fine"}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 0 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
unknown action "teleport" 1
unknown event key "mood" 2
unknown top-level key "weather" 1`,
	},
	{
		"texts", `{"segments": [], "device_traces": [[
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "compile_context": "N/A", "user_metadata": ""},
				{"action": "annotate", "addr": 1, "size": 1, "stream": 0, "compile_context": "Region: 0/1", "user_metadata": "phase"},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "user_metadata": {"k": [1, true]}, "internal_metadata": "i"},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "category": "PARAMETER", "user_metadata": {}}]]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 11 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="Region: 0/1" metadata="phase" 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="{\"k\": [1, True]}" 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="PARAMETER" `,
	},
	{
		"stacks", `{"segments": [], "device_traces": [[
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": [` + frame + `], "forward_frames": ["x"]},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": [], "forward_frames": ["  File \"m.py\", line 3, in main\n    run()\n", "  File \"r.py\", line 9, in run\n", "odd"]},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": [` + frame + `], "cpp_frames": [{"name": "c", "filename": "??", "line": 0}]},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": null},
				{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": 5}]]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" <a.py:7 f >
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" <.:0 odd ><r.py:9 run ><m.py:3 main >
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" <??:0 c ><a.py:7 f >
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
warning 1 stacks are not lists of frames; they were taken as empty`,
	},
	{
		"names", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": [
				{"name": null, "filename": "b.py", "line": -3}, {"name": "g", "filename": "b.py", "line": 99999999999, "fx_node_op": "call", "fx_node_name": "add", "fx_original_trace": ""}]}]]}`, `
device kind=0 index=0 ring=0 overflowed=false pools=false times=false
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" <b.py:0  ><b.py:2147483647 g add>`,
	},
	{
		"ring, one value", `{"segments": [], "trace_alloc_overflowed": true, "trace_alloc_max_entries": 100, "device_traces": [[{"action": "oom", "device_free": 5}], [], [{"action": "oom"}]]}`, `
device kind=0 index=0 ring=100 overflowed=true pools=false times=false
  event 9 0x5 size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
device kind=0 index=2 ring=100 overflowed=true pools=false times=false
  event 9 0x0 size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" `,
	},
	{
		"ring, by device, in the settings", `{"segments": [], "allocator_settings": {"max_split_size": -1, "trace_alloc_overflowed": [false, true], "trace_alloc_max_entries": [100, 200]}, "device_traces": [[{"action": "oom"}], [{"action": "oom"}]]}`, `
device kind=0 index=0 ring=100 overflowed=false pools=false times=false
  event 9 0x0 size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
device kind=0 index=1 ring=200 overflowed=true pools=false times=false
  event 9 0x0 size=0 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
settings conf="" split=-1 gc=0 expandable=false roundup=[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0] false false false 0`,
	},
	{
		"pools", `{"segments": [{"device": 1, "address": 0, "total_size": 512, "stream": 0, "segment_pool_id": [0, 4], "blocks": []}],
				"device_traces": [[], [{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "pool_id": [0, 0]}, {"action": "alloc", "addr": 1, "size": 1, "stream": 0, "pool_id": [0, 18446744073709551615]}]]}`, `
device kind=0 index=1 ring=0 overflowed=false pools=true times=false
  segment 0x0 size=512 allocated=0 active=0 requested=0 stream=0x0 pool=[0 4] kind=0 expandable=false 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
  event 1 0x1 size=1 stream=0x0 t=0 pool=[0 18446744073709551615] compile="" metadata="" `,
	},
	{
		"marks of torch 2.4", `{"segments": [], "device_traces": [[], [{"action": "user_defined", "addr": 0, "size": 0, "stream": 0, "time_us": 8, "frames": [{"name": "START", "filename": "step 1", "line": 0}]}]]}`, `
device kind=0 index=1 ring=0 overflowed=false pools=false times=true
  event 10 0x0 size=0 stream=0x0 t=8 pool=[0 0] compile="" metadata="" <step 1:0 START >
annotation {Name:step 1 Start:true Device:1 TimeUS:8}`,
	},
	{
		"host", `{"segments": [], "device_traces": [], "host_segments": [{"device": -1, "address": 64, "total_size": 512, "stream": 0, "blocks": [{"size": 512, "state": "melted", "address": 64}]}], "host_traces": [[{"action": "alloc", "addr": 64, "size": 1, "stream": 0}]]}`, `
device kind=1 index=0 ring=0 overflowed=false pools=false times=false
  segment 0x40 size=512 allocated=0 active=0 requested=0 stream=0x0 pool=[0 0] kind=0 expandable=false 
    block 0x40 size=512 requested=0 state=0 
  event 1 0x40 size=1 stream=0x0 t=0 pool=[0 0] compile="" metadata="" 
unknown block state "melted" 1`,
	},
}

// TestOddRecordings pins what is made of them.
func TestOddRecordings(t *testing.T) {
	for _, tt := range oddRecordings {
		t.Run(tt.name, func(t *testing.T) {
			rec := readBytes(t, []byte(tt.in))
			want := strings.TrimPrefix(tt.want, "\n")
			if want != "" {
				want += "\n"
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(describe(rec), "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSharedAndReordered reads pickles in which events, blocks and lists occur more
// than once or in another order than they were written: memo slots 1 and 2 are two events.
func TestSharedAndReordered(t *testing.T) {
	event := func(addr int) string {
		return fmt.Sprintf("}q%c(U\x06actionU\x05allocU\x04addrK%cu", rune(addr), rune(addr))
	}
	two := "U\x01x](" + event(1) + event(2) + "e"
	tests := []struct {
		name, traces string
		want         [][]uint64 // addresses by device
	}{
		{"same order", "](](h\x01h\x02ee", [][]uint64{{1, 2}}},
		{"other order", "](](h\x02h\x01ee", [][]uint64{{2, 1}}},
		{"one left out", "](](h\x02ee", [][]uint64{{2}}},
		{"one twice", "](](h\x01h\x01h\x02ee", [][]uint64{{1, 1, 2}}},
		{"both devices", "](](h\x01e](h\x02h\x01ee", [][]uint64{{1}, {2, 1}}},
		{"new ones between", "](](h\x01" + event(3) + "h\x02ee", [][]uint64{{1, 3, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := readBytes(t, []byte("\x80\x02}("+two+"U\x08segments]U\x0ddevice_traces"+tt.traces+"u."))
			var got [][]uint64
			for _, dev := range rec.Devices {
				var addrs []uint64
				for i := range dev.Events.Len() {
					addrs = append(addrs, dev.Events.At(i).Addr)
				}
				got = append(got, addrs)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSharedBlocks pins that segments which name one list of blocks do not multiply it.
func TestSharedBlocks(t *testing.T) {
	const segment = "}(U\x07addressK\x01U\x0atotal_sizeK\x09U\x06blocksh\x00u"
	blocks := "](" + strings.Repeat("}(U\x04sizeK\x01U\x05stateU\x08inactiveu", 1000) + "eq\x00"
	in := "\x80\x02}(U\x01x" + blocks + "U\x08segments](" + strings.Repeat(segment, 1000) + "eu."
	rec := readBytes(t, []byte(in))
	if dev := rec.Devices[0]; len(dev.Segments) != 1000 || len(dev.Blocks) != 1000 || len(rec.Warnings) != 1 {
		t.Errorf("%d segments, %d blocks, warnings %q", len(dev.Segments), len(dev.Blocks), rec.Warnings)
	}
}

// TestManyTraces pins the limit on lists of events, each of which costs a few hundred bytes.
func TestManyTraces(t *testing.T) {
	in := "\x80\x02}(U\x0ddevice_traces](" + strings.Repeat("](}(U\x06actionU\x05allocue", maxTraces+1) + "eu."
	_, err := Read(strings.NewReader(in), Options{})
	var large *TooLargeError
	if !errors.As(err, &large) {
		t.Errorf("error is %v", err)
	}
}

// TestInvalidUTF8 pins that wrong bytes in names are shown, and said.
func TestInvalidUTF8(t *testing.T) {
	in := "\x80\x02}(U\x0ddevice_traces](](}(U\x06actionU\x05allocU\x06frames](}(U\x04nameU\x02a\xffU\x08filenameU\x01bU\x04lineK\x01ueueeu."
	rec := readBytes(t, []byte(in))
	if got := rec.Frames[0].Name; got != "a\uFFFD" || len(rec.Warnings) != 1 {
		t.Errorf("name %q, warnings %q", got, rec.Warnings)
	}
}

// TestDeepStack reads stacks of more frames than one batch holds, and of more than are kept.
func TestDeepStack(t *testing.T) {
	for _, n := range []int{1, 999, 1000, 1001, 2500, maxStackDepth, maxStackDepth + 1} {
		frames := strings.Repeat("h\x00", n-1)
		in := "\x80\x02}(U\x0ddevice_traces](](}(U\x06actionU\x05allocU\x06frames](}q\x00(U\x04nameU\x01aU\x08filenameU\x01bU\x04lineK\x01u" + frames + "eueeu."
		rec := readBytes(t, []byte(in))
		got := len(rec.Stacks.Frames(rec.Devices[0].Events.At(0).Stack))
		if want := min(n, maxStackDepth); got != want || (len(rec.Warnings) > 0) != (n > maxStackDepth) {
			t.Errorf("%d frames: %d kept, warnings %q", n, got, rec.Warnings)
		}
	}
}
