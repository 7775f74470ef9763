package timeline

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/snapshot"
)

// BenchmarkBuild replays made recordings of training runs. Budgets, on one core of an
// AMD EPYC at about 3 GHz, the same from 10^5 to 10^7 events:
//
//	100 ns an event
//	12 B an event kept: 20 for each block, of three events, and what tells an event's block
func BenchmarkBuild(b *testing.B) {
	for _, events := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) { benchBuild(b, events) })
	}
}

// BenchmarkBuildLarge is BenchmarkBuild with ten million events, an event stream of
// 1 GB. It runs where -bench names it.
func BenchmarkBuildLarge(b *testing.B) {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "Large") {
		b.Skip("name it to run it: -bench BuildLarge")
	}
	benchBuild(b, 10_000_000)
}

func benchBuild(b *testing.B, events int) {
	rec := madeRecording(b, events)
	var tl *Timeline
	before := heapBytes()
	for b.Loop() {
		tl = Build(rec, rec.Devices[0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	b.ReportMetric(float64(heapBytes()-before)/float64(events), "kept-B/event")
	if tl.Replay.Equal != tl.Replay.Allocs || tl.Dev.Events.Len() != events {
		b.Fatalf("%+v", tl.Replay)
	}
}

// madeRecording reads a made recording while it is written.
func madeRecording(b *testing.B, events int) *snapshot.Recording {
	r, w := io.Pipe()
	go func() {
		_, err := (made.Run{Events: events}).WritePickle(w)
		w.CloseWithError(err)
	}()
	rec, err := snapshot.Read(r, snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return rec
}

// heapBytes is what is in use on the heap after a collection.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
