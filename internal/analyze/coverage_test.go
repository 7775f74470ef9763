package analyze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestBeginnings tells how recordings begin.
func TestBeginnings(t *testing.T) {
	later := func(s *scene) { // the window begins after the first two segments were filled
		full := s.dev.Events
		s.dev.Events = &snapshot.Events{Pools: full.Pools, HasPools: true, HasTimes: true}
		for i := 5; i < full.Len(); i++ {
			s.dev.Events.Append(full.At(i))
		}
	}
	for _, c := range []struct {
		name   string
		change func(s *scene)
		want   Beginning
	}{
		{"from the first allocation", func(*scene) {}, FromFirst},
		{"later", later, MidRun},
		{"a full ring that says so", func(s *scene) { later(s); s.dev.Overflowed = true }, RingCut},
		{"a full ring, from the first allocation", func(s *scene) { s.dev.RingEntries = s.dev.Events.Len() }, FromFirst},
		{"a full ring", func(s *scene) { later(s); s.dev.RingEntries = s.dev.Events.Len() }, RingCut},
		{"a ring with room", func(s *scene) { later(s); s.dev.RingEntries = s.dev.Events.Len() + 1 }, MidRun},
		{"a round number of events", func(s *scene) { later(s); s.fillTo(1000) }, RingLikely},
		{"a round number, but the ring is larger", func(s *scene) { later(s); s.fillTo(1000); s.dev.RingEntries = 5000 }, MidRun},
		{"no events", func(s *scene) { s.dev.Events = &snapshot.Events{} }, NoEvents},
		{"only that a snapshot was taken", func(s *scene) {
			s.dev.Events = &snapshot.Events{}
			s.event(snapshot.Snapshot, piece{})
		}, NoEvents},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.segment(0, 0, "8a 12a")
			s.segment(0, 0, "8a 4. 8a")
			segments := segmentsLeft(s.dev.Events)
			c.change(s)
			for _, e := range segments {
				s.dev.Segments = append(s.dev.Segments, snapshot.Segment{Addr: e.Addr, SizeBytes: e.SizeBytes})
			}
			if got := Cover(timeline.Build(&s.rec, &s.dev)).Begins; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// fillTo adds events that touch nothing.
func (s *scene) fillTo(n int) {
	for s.dev.Events.Len() < n {
		s.event(snapshot.Snapshot, piece{})
	}
}

// TestStacksKept tells of a recording without stacks, and of one in which a part of the
// allocations has none.
func TestStacksKept(t *testing.T) {
	for _, c := range []struct {
		pieces, rule string
		withStack    int
	}{
		{"4a 4a 4a 4a", "rec/no-stacks", 0},
		{"4a@f 4a@f 4a 4a", "rec/no-backward-stacks", 2},
		{"4a@f 4a@f 4a@f 4a@f", "", 4},
	} {
		s := newScene()
		s.segment(0, 0, c.pieces)
		x := explained(t, s, Options{})
		if x.Coverage.Allocs != 4 || x.Coverage.WithStack != c.withStack {
			t.Errorf("%s: %+v", c.pieces, x.Coverage)
		}
		for _, rule := range []string{"rec/no-stacks", "rec/no-backward-stacks"} {
			if f := x.finding(rule); (f != nil) != (rule == c.rule) {
				t.Errorf("%s: %s: %+v", c.pieces, rule, f)
			}
		}
	}
}

// TestStacksOfFrees tells frees that carry the stack of their own allocation from those
// that carry that of the free.
func TestStacksOfFrees(t *testing.T) {
	for name, want := range map[string]bool{"context_alloc": true, "train_and_eval": false} {
		f, err := os.Open(filepath.Join("..", "..", "testdata", "gpu", name+".pickle.xz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rec, err := snapshot.Read(f, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Cover(timeline.Build(rec, rec.Devices[0])).AllocStacks; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestInconsistent: a little that does not fit is told of; much of it makes every
// verdict doubtful, except that of a failure, which is an event of its own.
func TestInconsistent(t *testing.T) {
	for _, c := range []struct {
		name     string
		sound    int // segments that fit, two events each
		stray    int // frees of what was never allocated
		oom      bool
		severity rules.Severity
		kind     VerdictKind
	}{
		{"a little", 60, 2, false, rules.Info, Healthy},
		{"much", 4, 10, false, rules.Warning, Unclear},
		{"nothing else", 0, 10, false, rules.Warning, Unclear},
		{"much, and a failure", 4, 10, true, rules.Warning, OutOfMemory},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			for range c.sound {
				s.segment(0, 0, "20a@f")
			}
			for range c.stray {
				s.event(snapshot.FreeCompleted, piece{addr: 1 << 50, sizeBytes: 512})
			}
			if c.oom {
				s.oom(30, 0, 0, 0)
			}
			x := explained(t, s, Options{})
			f := x.finding("rec/inconsistent")
			if f == nil || f.Severity != c.severity || len(f.Evidence) != 1 || !strings.HasPrefix(f.Evidence[0], oddCount(c.stray)) {
				t.Errorf("%+v", f)
			}
			if x.Verdict.Kind != c.kind {
				t.Errorf("%s: %s", x.Verdict.Kind, x.Verdict.Text)
			}
		})
	}
}

func oddCount(n int) string { return units.FormatPlural(n, "entry frees", "entries free") }

// TestVerdicts pins the words of each kind of verdict.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(s *scene)
		want  Verdict
	}{
		{"nothing recorded", func(s *scene) {
			s.dev.Segments = []snapshot.Segment{{Addr: 1 << 40, SizeBytes: 20 * mib, NumBlocks: 1}}
			s.dev.Blocks = []snapshot.Block{{Addr: 1 << 40, SizeBytes: 5 * mib, RequestedBytes: 5 * mib, State: snapshot.Allocated}}
		}, Verdict{Unclear, "No history was recorded. At the dump 5.00 MiB was allocated of 20.00 MiB reserved."}},
		{"cut before the history", func(s *scene) {
			s.dev.Cut = true
			s.dev.Segments = []snapshot.Segment{{Addr: 1 << 40, SizeBytes: 20 * mib}}
		}, Verdict{Unclear, "The file breaks off before the history begins. In what could be read of the state at the dump, 0 B was allocated of 20.00 MiB reserved."}},
		{
			"too short", func(s *scene) { s.segment(0, 0, "15a@f 5.@f") },
			Verdict{Healthy, "Healthy: at most 20.00 MiB allocated and 20.00 MiB reserved; no steps were found, so that growth from step to step was not looked for."},
		},
		{
			"cut within it", func(s *scene) { s.segment(0, 0, "15a@f 5.@f"); s.dev.Cut = true },
			Verdict{Healthy, "Healthy: at most 20.00 MiB allocated and 20.00 MiB reserved; no steps were found, so that growth from step to step was not looked for. The file breaks off after event e4: what came then is not known."},
		},
		{
			"pinned", func(s *scene) { s.segment(0, 0, "800.@f 2a@f 100a@f"); s.segment(0, 0, "20a@f") },
			Verdict{Wasting, "Whether anything leaks cannot be told, but memory is wasted: 800.00 MiB is free in segments that blocks in use keep from being returned; the largest free piece is 800.00 MiB. The peak is 902.00 MiB allocated, 922.00 MiB reserved."},
		},
		{
			"a setting that PyTorch refuses", func(s *scene) {
				s.segment(0, 0, "15a@f 5.@f")
				s.rec.Settings = &snapshot.Settings{Conf: "max_split_size_mb:10", MaxSplitBytes: -1}
			},
			Verdict{Healthy, "Healthy: at most 20.00 MiB allocated and 20.00 MiB reserved; no steps were found, so that growth from step to step was not looked for. One thing to look at: PyTorch refuses max_split_size_mb:10."},
		},
		{
			"a failure", func(s *scene) { s.segment(0, 0, "90a@load 10.@f"); s.oom(30, 0, 0, 0) },
			Verdict{OutOfMemory, "Out of memory by true shortage: 30.00 MiB asked for at train.py:12 ask did not fit; with all free memory taken together, 20.00 MiB was missing. Most of the peak of 100.00 MiB is inputs (100.0 %)."},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.build(s)
			if got := explained(t, s, Options{}).Verdict; got != c.want {
				t.Errorf("%s: %s\nwant %s: %s", got.Kind, got.Text, c.want.Kind, c.want.Text)
			}
		})
	}
}

// TestVerdictAgreesWithFindings: over the first steps of a leak nobody can say that
// nothing grows, and a growth too small for a warning is not denied.
func TestVerdictAgreesWithFindings(t *testing.T) {
	for _, c := range []struct {
		file, until, want string
	}{
		{"leaks/leak_loss_history.pickle.xz", "s4", "5 steps are too few to tell whether anything grows."},
		{"leaks/leak_slow.pickle.xz", "end", "nothing but 512 B a step grows over 60 steps."},
		{"leaks/no_leak_buffer.pickle.xz", "end", "nothing grows over 40 steps."},
	} {
		until, err := ParseWhen(c.until)
		if err != nil {
			t.Fatal(err)
		}
		rec := readRecording(t, filepath.Join("..", "..", "testdata", filepath.FromSlash(c.file)))
		x, err := Explain(timeline.Build(rec, rec.Devices[0]), NewSites(rec), Options{Until: until})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(x.Verdict.Text, c.want) {
			t.Errorf("%s until %s: %s; want %s", c.file, c.until, x.Verdict.Text, c.want)
		}
	}
}
