package made

import (
	"bytes"
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestWritePickle reads a made recording back: it has the events asked for, blocks
// without gaps, and sizes that agree with the segments.
func TestWritePickle(t *testing.T) {
	for _, run := range []Run{{Events: 1}, {Events: 2}, {Events: 10_001}, {Events: 20_000, Leak: true, LastFirst: true, Seed: 7}} {
		var buf bytes.Buffer
		totals, err := run.WritePickle(&buf)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := snapshot.Read(bytes.NewReader(buf.Bytes()), snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Truncated != nil || len(rec.Unknown) > 0 || len(rec.Warnings) > 0 {
			t.Errorf("%+v: truncated %v, unknown %v, warnings %q", run, rec.Truncated, rec.Unknown, rec.Warnings)
		}
		dev := rec.Devices[0]
		allocs := 0
		for i := range dev.Events.Len() {
			if dev.Events.At(i).Action == snapshot.Alloc {
				allocs++
			}
		}
		if dev.Events.Len() != run.Events || allocs != totals.Allocs || dev.Trace != 0 {
			t.Errorf("%+v: %d events, %d allocations, trace %d; want %d", run, dev.Events.Len(), allocs, dev.Trace, totals.Allocs)
		}
		checkSegments(t, dev)
	}
}

func checkSegments(t *testing.T, dev *snapshot.Device) {
	t.Helper()
	for _, s := range dev.Segments {
		next, active := s.Addr, int64(0)
		for _, b := range dev.Blocks[s.FirstBlock : s.FirstBlock+s.NumBlocks] {
			if b.Addr != next {
				t.Errorf("segment %#x: block at %#x, want %#x", s.Addr, b.Addr, next)
			}
			next += uint64(b.SizeBytes)
			if b.State == snapshot.Allocated {
				active += b.SizeBytes
				if b.Stack == 0 {
					t.Errorf("block %#x has no stack", b.Addr)
				}
			}
		}
		if next != s.Addr+uint64(s.SizeBytes) || active != s.AllocatedBytes {
			t.Errorf("segment %#x: blocks end at %#x and hold %d bytes; segment has %d, %d", s.Addr, next, active, s.SizeBytes, s.AllocatedBytes)
		}
	}
}

// TestSameBytes pins that a Run is all that decides what is written.
func TestSameBytes(t *testing.T) {
	var a, b bytes.Buffer
	run := Run{Events: 3000, Seed: 3}
	_, _ = run.WritePickle(&a) // a Buffer does not fail
	_, _ = run.WritePickle(&b)
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two recordings of one run differ")
	}
}

// BenchmarkWritePickle makes the input of other benchmarks. Budget: 600 ns an event, so
// that a million of them are there within a second.
func BenchmarkWritePickle(b *testing.B) {
	for b.Loop() {
		var n countWriter
		if _, err := (Run{Events: 100_000}).WritePickle(&n); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(n))
	}
}

type countWriter int

func (n *countWriter) Write(p []byte) (int, error) {
	*n += countWriter(len(p))
	return len(p), nil
}
