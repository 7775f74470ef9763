package viewer

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	training "github.com/ullage-dev/ullage/internal/made"
)

var (
	benchRecording = flag.String("recording", "", "recording to run benchmarks on, in place of a made one")
	benchEvents    = flag.Int("events", 1_000_000, "events of the made one")
)

// benchFile reads a long recording.
func benchFile(b *testing.B) *Read {
	b.Helper()
	name, from := "made.pickle", io.Reader(nil)
	if *benchRecording != "" {
		f, err := os.Open(*benchRecording)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		name, from = *benchRecording, f
	} else {
		from = madeRecording(*benchEvents)
	}
	read, err := readRecording(from, name)
	if err != nil {
		b.Fatal(err)
	}
	return read
}

// madeRecording is a made run that leaks, as it is written: one of 50 million events has 5 GB.
func madeRecording(events int) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := (training.Run{Events: events, Leak: true}).WritePickle(w)
		w.CloseWithError(err)
	}()
	return r
}

// benchServer serves what was read.
func benchServer(b *testing.B, read *Read) *Server {
	b.Helper()
	s := newServer(b, File{Name: "made", Rank: -1, Read: func(context.Context, func(Stage, float64)) (*Read, error) { return read, nil }})
	if errs := s.Load(b.Context()); len(errs) > 0 {
		b.Fatal(errs)
	}
	return s
}

// BenchmarkFirstPicture is what lies between an explained recording and the first picture:
// the structures, the device's description, and the tile that holds all events. Budget on
// two cores of an AMD EPYC at about 3 GHz: 200 ns an event, so that a recording of 5.2
// million is on the screen a second after it was read.
func BenchmarkFirstPicture(b *testing.B) {
	read := benchFile(b)
	events := read.Devices[0].TL.Dev.Events.Len()
	for b.Loop() {
		s := benchServer(b, read)
		path := first(b, s)
		answerTo(b, s, path)
		answerTo(b, s, fmt.Sprintf("%s/tile/counters/%d/0", path, topLevel(int64(events))))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

// BenchmarkTile asks for tiles at random places and zooms, compressed as a browser gets them,
// and for each kind tells the slowest one in a hundred, in milliseconds. Budget: 10 ms.
func BenchmarkTile(b *testing.B) {
	s := benchServer(b, benchFile(b))
	d, path := s.session.devices()[0], first(b, s)
	top := d.tiles()
	for _, kind := range []string{"counters", "bands-category", "bands-site", "map-category", "segments", "packed-category"} {
		b.Run(kind, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var took []float64
			for b.Loop() {
				level, levelY := r.IntN(top.MaxLevel+1), r.IntN(top.MaxLevelY+1)
				name := kind
				if kind == "map-category" || kind == "segments" {
					name = fmt.Sprintf("%s-%d-%d", kind, levelY, r.Int64N(tileCount(int64(d.LOD.Lanes.Size), levelY)))
				}
				begin := time.Now()
				target := fmt.Sprintf("%s%s/tile/%s/%d/%d", api, path, name, level, r.Int64N(tileCount(int64(d.Events()), level)))
				if r := ask(s, target, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }); r.status != http.StatusOK {
					b.Fatalf("%s: status %d", target, r.status)
				}
				took = append(took, float64(time.Since(begin).Microseconds())/1000)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100], "p99-ms")
		})
	}
}

// BenchmarkHeld is what a recording that is shown keeps, with every picture asked for once.
// Budget: 60 bytes an event, so that one of 5.2 million events stays
// below 600 MB in all, with what answers take and the collector lets lie.
func BenchmarkHeld(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := benchServer(b, benchFile(b))
	path := first(b, s)
	for b.Loop() {
		answerTo(b, s, path)
		for _, by := range groupingNames {
			answerTo(b, s, path+"/tile/bands-"+by+"/0/0")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(s.session.devices()[0].Events()), "held-B/event")
	runtime.KeepAlive(s)
}
