package analyze

import (
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestPins names the sites whose blocks keep free memory from being returned, and
// shares that memory among them to the byte.
func TestPins(t *testing.T) {
	s := newScene()
	s.segment(0, 0, "2a@cache 18.")
	s.segment(0, 0, "9. 2a@cache 9.")
	s.segment(0, 0, "4a@cache 12. 4a@norm")
	s.segment(0, 0, "20a@norm") // full: pins nothing
	s.segment(0, 0, "40.")      // empty: pinned by nobody
	tl := s.replay()
	f := findFragmentation(tl, NewSites(tl.Rec), tl.StateAt(tl.Dev.Events.Len()-1), window{-1, tl.Dev.Events.Len() - 1})
	if f.FreeBytes != 88*mib || f.PinnedBytes != 48*mib || f.WholeBytes != 40*mib || f.LargestBytes != 40*mib {
		t.Errorf("%+v", f)
	}
	want := []Pin{
		{Stack: s.site("cache"), Segments: 3, BlockBytes: 8 * mib, PinnedBytes: (18 + 18 + 6) * mib},
		{Stack: s.site("norm"), Segments: 1, BlockBytes: 4 * mib, PinnedBytes: 6 * mib},
	}
	if len(f.Pins) != 2 || f.Pins[0] != want[0] || f.Pins[1] != want[1] {
		t.Errorf("pins %+v, want %+v", f.Pins, want)
	}
	if r := f.LargestRequest; r.Bytes != 40*mib {
		t.Errorf("largest request %+v", r)
	}
}

// TestWhatIsWorthTelling: pinned memory is told of from a tenth of what is reserved
// on and 256 MiB, and is a warning from a quarter on. It is looked at when reserved
// memory grows to its most.
func TestWhatIsWorthTelling(t *testing.T) {
	for _, c := range []struct {
		pieces   string
		found    bool
		severity rules.Severity
	}{
		{"200.@x 2a@x 100a@x", false, 0}, // under 256 MiB
		{"300.@x 2a@x 100a@x", true, rules.Warning},
		{"300.@x 2a@x 1000a@x", true, rules.Info},
		{"300.@x 2a@x 5000a@x", false, 0}, // the price of a cache
		{"300.@x", false, 0},              // pinned by nothing
	} {
		s := newScene()
		s.segment(0, 0, c.pieces)
		s.segment(0, 0, "20a@x")
		f := explained(t, s, Options{}).finding("frag/pinned-segment")
		if (f != nil) != c.found || f != nil && (f.Severity != c.severity || f.Bytes != 300*mib || len(f.Evidence) == 0 || len(f.Stack) == 0) {
			t.Errorf("%s: %+v", c.pieces, f)
		}
	}
}

// TestStranded tells of free memory on a stream, or in a pool, that has stopped asking.
func TestStranded(t *testing.T) {
	s := newScene()
	s.segment(1, 0, "600. 2a")
	s.segment(0, 1, "500. 2a")
	for range 40 {
		s.release(s.segment(0, 0, "10a 10a"))
	}
	tl := s.replay()
	f := findFragmentation(tl, NewSites(tl.Rec), tl.StateAt(tl.Dev.Events.Len()-1), window{-1, tl.Dev.Events.Len() - 1})
	if len(f.Stranded) != 2 {
		t.Fatalf("%+v", f.Stranded)
	}
	for i, want := range []FreeGroup{{Stream: 1, FreeBytes: 600 * mib}, {Pool: snapshot.PoolID{0, 1}, FreeBytes: 500 * mib}} {
		if g := f.Stranded[i]; g.Stream != want.Stream || g.Pool != want.Pool || g.FreeBytes != want.FreeBytes {
			t.Errorf("%d: %+v, want %+v", i, g, want)
		}
	}
	x := explained(t, s, Options{})
	for _, rule := range []string{"frag/stranded-stream", "frag/stranded-pool"} {
		if f := x.finding(rule); f == nil || f.Severity != rules.Warning {
			t.Errorf("%s: %+v", rule, f)
		}
	}
	s.segment(1, 0, "10a 10a")
	s.segment(0, 1, "10a 10a")
	tl = s.replay()
	if f := findFragmentation(tl, NewSites(tl.Rec), tl.StateAt(tl.Dev.Events.Len()-1), window{-1, tl.Dev.Events.Len() - 1}); len(f.Stranded) != 0 {
		t.Errorf("both ask again: %+v", f.Stranded)
	}
}

// TestGrowthOfReserved compares the halves of a run after its first fifth.
func TestGrowthOfReserved(t *testing.T) {
	flat := newScene() // every round needs a new segment, and frees what it had
	for range 60 {
		flat.release(flat.segment(0, 0, "19a"))
	}
	if f := explained(t, flat, Options{}).finding("frag/reserved-growth"); f == nil || f.Severity != rules.Warning {
		t.Errorf("growth is not found: %+v", f)
	}
	level := newScene()
	for range 10 {
		level.segment(0, 0, "60a")
	}
	for range 50 {
		level.release(level.segment(0, 0, "2a"))
	}
	if f := explained(t, level, Options{}).finding("frag/reserved-growth"); f != nil {
		t.Errorf("a level run: %+v", f)
	}
	used := newScene() // allocated memory grows with it
	for range 60 {
		used.segment(0, 0, "20a")
	}
	if f := explained(t, used, Options{}).finding("frag/reserved-growth"); f != nil {
		t.Errorf("reserved for what is allocated: %+v", f)
	}
}

func mustWhen(t *testing.T, text string) When {
	t.Helper()
	w, err := ParseWhen(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
