package snapshot

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/ullage-dev/ullage/internal/made"
)

// FuzzRead reads arbitrary bytes, in memory bounded by their number. What comes out
// keeps the promises of the model, on which everything else relies.
func FuzzRead(f *testing.F) {
	f.Add(madeRecording(f, made.Run{Events: 6}))
	for _, name := range []string{"leak_eval_outputs.pickle", "cpp.pickle", "torch-2.0.pickle", "torch-2.13.pickle", "segments.pickle", "profile_plot.html", "dump-2.13.json"} {
		data := fixture(f, name)
		f.Add(data[:min(len(data), 2500)])
	}
	f.Add([]byte(`{"segments": [], "device_traces": [[{"action": "alloc", "addr": -1, "size": 1e400, "frames": [{"name": "f", "filename": "", "line": 1}]}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rec, err := Read(bytes.NewReader(data), Options{MaxBytes: 1 << 20})
		runtime.ReadMemStats(&after)
		// Buffers of the codecs take up to 40 MB. Where nothing is packed, the largest
		// cost of a byte is an event of its own in a list of its own.
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+4000*uint64(len(data)) {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), used)
		}
		if err == nil {
			checkModel(t, rec)
		}
	})
}

// checkModel checks what the model promises of every Recording.
func checkModel(t *testing.T, rec *Recording) {
	t.Helper()
	stack := func(id StackID) {
		if int(id) >= rec.Stacks.Len() {
			t.Fatalf("stack %d of %d", id, rec.Stacks.Len())
		}
		for _, f := range rec.Stacks.Frames(id) {
			if int(f) >= len(rec.Frames) {
				t.Fatalf("frame %d of %d", f, len(rec.Frames))
			}
		}
	}
	size := func(n int64) {
		if n > MaxSizeBytes || n < -MaxSizeBytes {
			t.Fatalf("size %d", n)
		}
	}
	for _, dev := range rec.Devices {
		block := 0
		for _, s := range dev.Segments {
			stack(s.Stack)
			size(s.SizeBytes)
			if s.FirstBlock != block || int(s.Stream) >= len(rec.Streams) {
				t.Fatalf("segment %+v, block %d, %d streams", s, block, len(rec.Streams))
			}
			block += s.NumBlocks
		}
		if block != len(dev.Blocks) {
			t.Fatalf("%d blocks, segments have %d", len(dev.Blocks), block)
		}
		for _, b := range dev.Blocks {
			stack(b.Stack)
			size(b.SizeBytes)
		}
		for i := range dev.Events.Len() {
			e := dev.Events.At(i)
			stack(e.Stack)
			size(e.SizeBytes)
			if int(e.Compile) >= len(rec.Labels) || int(e.Metadata) >= len(rec.Labels) || int(e.Pool) >= len(dev.Events.Pools) || int(e.Stream) >= len(rec.Streams) {
				t.Fatalf("event %d is %+v", i, e)
			}
		}
	}
}
