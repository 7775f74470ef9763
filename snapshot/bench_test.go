package snapshot

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/made"
)

// BenchmarkRead reads made recordings from a file. Budgets, on one core of the machine
// where they were set (AMD EPYC at about 3 GHz, two cores):
//
//	200 ns an event, however many there are, and 5 ms
//	40 B allocated an event, of which 14 stay in the columns and 10 are the memo;
//	what does not grow with the file is 6 MB
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) { benchmarkRead(b, n) })
	}
}

// BenchmarkReadLarge is BenchmarkRead with ten million events, a file of 1 GB. It runs
// where -bench names it.
func BenchmarkReadLarge(b *testing.B) {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "Large") {
		b.Skip("name it to run it: -bench ReadLarge")
	}
	benchmarkRead(b, 10_000_000)
}

func benchmarkRead(b *testing.B, events int) {
	path := filepath.Join(b.TempDir(), "made.pickle")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := (made.Run{Events: events}).WritePickle(f); err != nil {
		b.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		rec, err := Read(f, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if got := rec.Devices[0].Events.Len(); got != events {
			b.Fatalf("%d events, want %d", got, events)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
