package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/made"
)

// BenchmarkExplain is the whole of explain on made recordings of training runs: reading,
// replay, every analysis, the page. Budgets on an AMD EPYC at about 3 GHz with two
// cores, the same from 10^5 to 10^7 events:
//
//	450 ns an event, with both cores
//	50 B an event allocated, and 25 MB whatever the size of the file
func BenchmarkExplain(b *testing.B) {
	for _, events := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) { benchExplain(b, events) })
	}
}

// BenchmarkExplainLarge is BenchmarkExplain with ten million events, a file of 1 GB. It
// runs where -bench names it.
func BenchmarkExplainLarge(b *testing.B) {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "Large") {
		b.Skip("name it to run it: -bench ExplainLarge")
	}
	benchExplain(b, 10_000_000)
}

func benchExplain(b *testing.B, events int) {
	path := filepath.Join(b.TempDir(), "made.pickle")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := (made.Run{Events: events, Leak: true}).WritePickle(f); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o := new(outside)
		app := o.app()
		app.Stdout = io.Discard
		if code := Run(context.Background(), app, []string{"explain", path}); code != 0 {
			b.Fatalf("exit code %d: %s", code, o.stderr.String())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}
