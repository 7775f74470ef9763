package analyze

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

var recordings sync.Map // by name: what recording has read

// recording reads testdata/recordings/name and replays the device that has most events.
func recording(tb testing.TB, name string) DiffSide {
	tb.Helper()
	if known, ok := recordings.Load(name); ok {
		return known.(DiffSide)
	}
	file, err := os.Open(filepath.Join("..", "..", "testdata", "recordings", name+".pickle.xz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	in, err := snapshot.Open(file, snapshot.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Recording()
	if err != nil {
		tb.Fatal(err)
	}
	side := replayed(rec)
	recordings.Store(name, side)
	return side
}

// replayed is a recording's busiest device, at its peak.
func replayed(rec *snapshot.Recording) DiffSide {
	dev := rec.Devices[0]
	for _, d := range rec.Devices {
		if d.Events.Len() > dev.Events.Len() {
			dev = d
		}
	}
	tl := timeline.Build(rec, dev)
	return DiffSide{TL: tl, Sites: NewSites(rec), Event: tl.Peak.Allocated.Event}
}
