package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
)

// TestCausesOfFailure names the cause of failures in hand-made states: the first whose
// memory would have held the request.
func TestCausesOfFailure(t *testing.T) {
	for _, c := range []struct {
		name       string
		segments   func(s *scene)
		mibs       float64
		cause      OOMCause
		marginMiB  float64
		sameMiB    float64
		largestMiB float64
	}{
		{"nothing free", func(s *scene) { s.segment(0, 0, "20a 20a") }, 30, TrueShortage, 30, 0, 0},
		{"too little free", func(s *scene) { s.segment(0, 0, "8a 4. 8a") }, 30, TrueShortage, 26, 4, 4},
		{"in two pieces", func(s *scene) { s.segment(0, 0, "16. 4a 18.") }, 30, Fragmentation, 4, 34, 18},
		{"in pieces of exactly its size", func(s *scene) { s.segment(0, 0, "16. 4a 14.") }, 30, Fragmentation, 0, 30, 16},
		{"a little more than that", func(s *scene) { s.segment(0, 0, "16. 4a 14.") }, 30.5, TrueShortage, 0.5, 30, 16},
		{"on another stream", func(s *scene) { s.segment(0, 0, "16. 4a"); s.segment(1, 0, "18. 2a") }, 30, Stranded, 4, 16, 16},
		{"in another pool", func(s *scene) { s.segment(0, 0, "20a"); s.segment(0, 1, "40. 4a") }, 30, Stranded, 10, 0, 0},
		{"among small blocks", func(s *scene) { s.segment(0, 0, "28. 4a"); s.segment(0, 0, "1. 1a"); s.segment(0, 0, "1. 1a") }, 30, Stranded, 0, 28, 28},
		{"pending", func(s *scene) { s.segment(0, 0, "20p 4a 12.") }, 30, PendingFree, 2, 12, 12},
		{"pending, and free elsewhere", func(s *scene) { s.segment(0, 0, "20p 4a"); s.segment(1, 0, "12. 8a") }, 30, PendingFree, 2, 0, 0},
		{"small requests", func(s *scene) { s.segment(0, 0, "0.5. 0.5a 0.5. 0.5a"); s.segment(0, 0, "20a") }, 0.75, Fragmentation, 0.25, 1, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.segments(s)
			at := s.oom(c.mibs, 0, 0, 0)
			r := FindOOMs(s.replay(), 0)
			o := r.Fatal
			if o == nil || r.Count != 1 || r.Survived != 0 || o.Event != at || !o.Certain {
				t.Fatalf("%+v, %+v", r, o)
			}
			if o.Cause != c.cause || o.MarginBytes != int64(c.marginMiB*mib) {
				t.Errorf("%s by %d, want %s by %.3f MiB: %+v", o.Cause, o.MarginBytes, c.cause, c.marginMiB, o)
			}
			if o.SameFreeBytes != int64(c.sameMiB*mib) || o.SameLargestBytes != int64(c.largestMiB*mib) {
				t.Errorf("free for it %d, largest %d", o.SameFreeBytes, o.SameLargestBytes)
			}
			if free := o.SameFreeBytes + o.OtherStreamBytes + o.OtherPoolBytes; o.Now.Reserved != o.Now.Active+free {
				t.Errorf("free memory does not add up: %+v", o)
			}
		})
	}
}

// TestRequestsOfOtherStreams judges a request by the stream and the pool that it was
// made for.
func TestRequestsOfOtherStreams(t *testing.T) {
	s := newScene()
	s.segment(0, 0, "40. 4a")
	s.segment(1, 0, "16. 4a 18.")
	s.oom(30, 0, 1, 0)
	if o := FindOOMs(s.replay(), 0).Fatal; o.Cause != Fragmentation || o.SameFreeBytes != 34*mib || o.OtherStreamBytes != 40*mib {
		t.Errorf("%+v", o)
	}
	s = newScene()
	s.segment(0, 0, "40. 4a")
	s.segment(0, 1, "16. 4a 18.")
	s.oom(30, 0, 0, 1)
	if o := FindOOMs(s.replay(), 0).Fatal; o.Cause != Fragmentation || o.SameFreeBytes != 34*mib || o.OtherPoolBytes != 40*mib {
		t.Errorf("%+v", o)
	}
}

// TestFailuresThatAreSurvived tells failures after which the program goes on from the
// one that ended it.
func TestFailuresThatAreSurvived(t *testing.T) {
	cleanUp := func(s *scene, allocs int) {
		for range allocs {
			s.segment(0, 0, "2a@save 18.@save")
		}
	}
	for _, c := range []struct {
		name     string
		after    func(s *scene)
		fatal    bool
		certain  bool
		survived int
	}{
		{"the end", func(*scene) {}, true, true, 0},
		{"only frees follow", func(s *scene) { s.release(1 << 40) }, true, true, 0},
		{"a handler saves a little", func(s *scene) { s.release(1 << 40); cleanUp(s, maxCleanUpAllocs/2) }, true, false, 0},
		{"the program goes on", func(s *scene) { cleanUp(s, maxCleanUpAllocs) }, false, false, 1},
		{"the same line asks for less at once", func(s *scene) { s.segment(0, 0, "20a@ask") }, false, false, 1},
		{"the same line asks again after freeing", func(s *scene) { s.release(1 << 40); s.segment(0, 0, "20a@ask") }, true, false, 0},
		{"a second failure ends it", func(s *scene) { cleanUp(s, maxCleanUpAllocs); s.oom(50, 0, 0, 0) }, true, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.segment(0, 0, "20a")
			s.oom(30, 0, 0, 0)
			c.after(s)
			r := FindOOMs(s.replay(), 0)
			if (r.Fatal != nil) != c.fatal || r.Survived != c.survived || c.fatal && r.Fatal.Certain != c.certain {
				t.Errorf("%+v, fatal %+v", r, r.Fatal)
			}
		})
	}
}

// TestCapOfFailure narrows down what reserved memory was allowed to reach.
func TestCapOfFailure(t *testing.T) {
	for _, c := range []struct {
		name      string
		build     func(s *scene)
		kind      CapKind
		low, high int64 // MiB
	}{
		{"the device was full", func(s *scene) { s.segment(0, 0, "100a"); s.oom(30, 12, 0, 0) }, DeviceCap, 100, 112},
		{"the device had room", func(s *scene) { s.segment(0, 0, "100a"); s.oom(30, 500, 0, 0) }, FractionCap, 100, 130},
		{"segments are of 20 MiB at least", func(s *scene) { s.segment(0, 0, "100a"); s.oom(4, 500, 0, 0) }, FractionCap, 100, 120},
		{"the tightest of two", func(s *scene) {
			s.segment(0, 0, "100a")
			s.oom(80, 500, 0, 0)
			s.segment(0, 0, "20a")
			s.oom(30, 480, 0, 0)
		}, FractionCap, 120, 150},
		{"a later peak bounds it from below", func(s *scene) {
			s.segment(0, 0, "100a")
			s.oom(80, 500, 0, 0)
			s.segment(0, 0, "60a")
			s.oom(30, 440, 0, 0)
		}, FractionCap, 160, 180},
		{"raised in between", func(s *scene) {
			s.segment(0, 0, "100a")
			s.oom(30, 500, 0, 0)
			s.segment(0, 0, "60a")
			s.oom(300, 240, 0, 0)
		}, DeviceCap, 160, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.build(s)
			o := FindOOMs(s.replay(), 0).Fatal
			if o.Cap.Kind != c.kind || o.Cap.LowBytes != c.low*mib || o.Cap.HighBytes != c.high*mib {
				t.Errorf("%s, %d to %d MiB; want %s, %d to %d", o.Cap.Kind, o.Cap.LowBytes/mib, o.Cap.HighBytes/mib, c.kind, c.low, c.high)
			}
		})
	}
}

// TestCapThatIsKnown: a limit that was told is printed as itself, unless the recording
// contradicts it.
func TestCapThatIsKnown(t *testing.T) {
	for _, c := range []struct {
		name     string
		freeMiB  int64 // on the device
		limitMiB int64 // that was told
		known    bool
	}{
		{"within the bounds", 500, 110, true},
		{"reached to the byte", 500, 100, true},
		{"none", 500, 0, false},
		{"below what was reserved", 500, 99, false},
		{"the request would have fitted", 500, 130, false},
		{"the device was full", 12, 110, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.segment(0, 0, "100a@step")
			s.oom(30, c.freeMiB, 0, 0)
			x := explained(t, s, Options{LimitBytes: c.limitMiB * mib})
			want := int64(0)
			if c.known {
				want = c.limitMiB * mib
			}
			if got := x.OOMs.Fatal.Cap.LimitBytes; got != want {
				t.Errorf("limit %d, want %d", got, want)
			}
			words := fmt.Sprintf("within a limit of %d.00 MiB:", c.limitMiB)
			if strings.Contains(x.Verdict.Text, words) != c.known {
				t.Errorf("verdict: %s", x.Verdict.Text)
			}
			f := x.finding("oom/fraction-cap")
			if f == nil {
				if c.freeMiB == 500 {
					t.Error("the limit is not told of")
				}
				return
			}
			if strings.Contains(f.Title, fmt.Sprintf("a limit of %d.00 MiB was", c.limitMiB)) != c.known || (f.Bytes == want) != c.known {
				t.Errorf("finding: %+v", f)
			}
		})
	}
}

// TestLeaseWasTheLimit names the lease where the limit is of one, and what would have been enough.
func TestLeaseWasTheLimit(t *testing.T) {
	s := newScene()
	s.segment(0, 0, "100a@step")
	s.oom(30, 500, 0, 0)
	x := explained(t, s, Options{LimitBytes: 110 * mib, LeaseBytes: 700 * mib})
	if want := "within the 110.00 MiB that its lease of 700.00 MiB left it:"; !strings.Contains(x.Verdict.Text, want) {
		t.Errorf("verdict: %s", x.Verdict.Text)
	}
	f := x.finding("oom/fraction-cap")
	if f == nil || !strings.HasPrefix(f.Title, "the lease was the limit: of its 700.00 MiB it left this process's PyTorch 110.00 MiB") || !strings.Contains(f.Evidence[1], "590.00 MiB of it") {
		t.Errorf("finding: %+v", f)
	}
	short := x.finding("oom/true-shortage")
	if r := short.Remedies[0]; r.Do != "ask for a larger lease" || !strings.HasSuffix(r.Effect, "in one of 1 GiB") {
		t.Errorf("remedy: %+v", r)
	}
	if x = explained(t, s, Options{LimitBytes: 99 * mib, LeaseBytes: 700 * mib}); strings.Contains(x.Verdict.Text, "lease") {
		t.Errorf("a limit that was not in force: %s", x.Verdict.Text)
	}
}

// TestOtherProcesses blames them only where the error's text names them, the device
// was full, and what they hold would have been enough.
func TestOtherProcesses(t *testing.T) {
	for _, c := range []struct {
		deviceFreeMiB, othersMiB int64
		cause                    OOMCause
	}{
		{12, 0, TrueShortage}, {12, 29, TrueShortage}, {12, 30, OtherProcess}, {500, 600, TrueShortage},
	} {
		s := newScene()
		s.segment(0, 0, "100a")
		s.oom(30, c.deviceFreeMiB, 0, 0)
		if o := FindOOMs(s.replay(), c.othersMiB*mib).Fatal; o.Cause != c.cause {
			t.Errorf("%d MiB free on the device, others hold %d: %s, want %s", c.deviceFreeMiB, c.othersMiB, o.Cause, c.cause)
		}
	}
}

// TestFailureInWords: every cause has a verdict and a finding that name the request,
// and none speaks of a piece that would have held it.
func TestFailureInWords(t *testing.T) {
	for cause, segments := range map[OOMCause]string{TrueShortage: "100a@step", Fragmentation: "16.@step 4a@step 18.@step", PendingFree: "20p@step 4a@step 12.@step"} {
		s := newScene()
		s.segment(0, 0, segments)
		s.oom(30, 500, 0, 0)
		x := explained(t, s, Options{})
		f := x.finding("oom/" + string(cause))
		switch {
		case f == nil:
			t.Errorf("%s: not found in %+v", cause, x.Findings)
			continue
		case f.Severity != rules.Error || f.Confidence != rules.High || !strings.Contains(f.Title, "30.00 MiB") || !strings.Contains(f.Title, "train.py"):
			t.Errorf("%s: %+v", cause, f)
		case len(f.Remedies) == 0:
			t.Errorf("%s: nothing to do", cause)
		}
		if x.Verdict.Kind != OutOfMemory || !strings.Contains(x.Verdict.Text, "30.00 MiB") || !strings.Contains(x.Verdict.Text, "within a limit") {
			t.Errorf("%s: %s", cause, x.Verdict.Text)
		}
		if x.finding("oom/fraction-cap") == nil {
			t.Errorf("%s: the limit is not told of", cause)
		}
	}
}

// explained explains a scene.
func explained(t *testing.T, s *scene, opt Options) *Explanation {
	t.Helper()
	tl := s.replay()
	x, err := Explain(tl, NewSites(tl.Rec), opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
