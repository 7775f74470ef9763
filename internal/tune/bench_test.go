package tune

import (
	"bytes"
	"testing"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// madeRun is a made training run of some 400,000 events.
func madeRun(b *testing.B) *timeline.Timeline {
	b.Helper()
	var file bytes.Buffer
	if _, err := (made.Run{Events: 400_000, Seed: 1}).WritePickle(&file); err != nil {
		b.Fatal(err)
	}
	in, err := snapshot.Open(&file, snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Recording()
	if err != nil {
		b.Fatal(err)
	}
	return timeline.Build(rec, rec.Devices[0])
}

func perEvent(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

// BenchmarkCompile reads a program out of a timeline. Budget: 60 ns an event; a recording of
// 5.2 million events took 38, and 8 bytes of memory an event.
func BenchmarkCompile(b *testing.B) {
	tl := madeRun(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(tl, -1); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, tl.Dev.Events.Len())
}

// BenchmarkRun replays a program. Budget: 200 ns an event at default settings, which is
// 5 million a second, and twice that under all others. A recording of 5.2 million events
// (a model that generates text) took 38 to 48 under each.
func BenchmarkRun(b *testing.B) {
	tl := madeRun(b)
	p, err := Compile(tl, -1)
	if err != nil {
		b.Fatal(err)
	}
	room := Room{LimitBytes: tl.Peak.Active.Bytes * 3 / 2}
	for _, conf := range []string{
		"", "expandable_segments:True", "max_split_size_mb:20", "max_split_size_mb:128", "roundup_power2_divisions:8",
		"garbage_collection_threshold:0.8", "large_segment_size_mb:64",
	} {
		name := conf
		if name == "" {
			name = "default"
		}
		b.Run(name, func(b *testing.B) {
			s := parsed(b, conf)
			t := New(allocator.Newest, []*Program{p}, room, Options{Workers: 1})
			for b.Loop() {
				if r := t.try(p, &s); !r.Lives() {
					b.Fatal("out of memory")
				}
			}
			perEvent(b, tl.Dev.Events.Len())
		})
	}
}

// BenchmarkSearch searches on one core. Budget: 7 µs an event, which is less than 20 s on
// two cores for 5.2 million events. Such a recording took 24 s of one core, with 22
// candidates, and 34 s with 29 under a limit.
func BenchmarkSearch(b *testing.B) {
	tl := madeRun(b)
	p, err := Compile(tl, -1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		t := New(allocator.Newest, []*Program{p}, Room{}, Options{Workers: 1})
		b.ReportMetric(float64(len(t.Search())), "candidates")
	}
	perEvent(b, tl.Dev.Events.Len())
}
