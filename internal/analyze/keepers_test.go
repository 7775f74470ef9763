package analyze

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

func TestKeeperText(t *testing.T) {
	for _, tt := range []struct {
		k    Keeper
		want string
	}{
		{Keeper{Path: "cache", Places: 1}, "cache"},
		{Keeper{Path: "out", Where: "local 'out' of f() at a.py:3", Places: 1}, "local 'out' of f() at a.py:3"},
		{Keeper{Path: "t.history[…]", Where: "local 't' of f() at a.py:3", Places: 1200}, "t.history[…] × 1,200 (local 't' of f() at a.py:3)"},
		{Keeper{Path: "graph of x", Places: 2, SavedBy: []string{"A", "B", "C", "D"}}, "graph of x × 2 (saved by A, B, C)"},
		{Keeper{Path: "graph of x", Where: "closure cell 'x' of g()", SavedBy: []string{"A"}}, "graph of x (closure cell 'x' of g(); saved by A)"},
	} {
		if got := tt.k.Text(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestKeptIsJoinedByAddress(t *testing.T) {
	s := newScene()
	at := s.segment(0, 0, "4a@make 2.@make 6a@make 8a@load 2a@other")
	tl := s.replay()
	census := &Census{Complete: true, Notes: []string{"a note"}, Keepers: []Keeper{
		{Path: "small", Addresses: []uint64{at}},
		{Path: "nothing", Addresses: []uint64{5, at + 4*mib, at + 100*mib}}, // before, free memory, behind
		{Path: "large", Kind: "graph", Places: 2, Addresses: []uint64{at + 6*mib, at + 12*mib + 17, at + 12*mib, at}},
	}}
	r := Kept(tl, NewSites(&s.rec), census)
	if r.AllocatedBytes != 20*mib || !r.Complete || len(r.Notes) != 1 || len(r.Keepers) != 2 {
		t.Fatalf("%+v", r)
	}
	large := r.Keepers[0]
	if large.Path != "large" || large.Bytes != 14*mib || large.Blocks != 2 || len(large.AllocatedAt) != 2 || !strings.Contains(large.AllocatedAt[0].Name, "load") {
		t.Errorf("%+v", large)
	}
	if small := r.Keepers[1]; small.Bytes != 4*mib { // the first keeper of a block counts
		t.Errorf("%+v", small)
	}
	if len(r.Unnamed) != 1 || r.Unnamed[0].Bytes != 2*mib || !strings.Contains(r.Unnamed[0].AllocatedAt[0].Name, "other") {
		t.Errorf("%+v", r.Unnamed)
	}
}

// TestKeptAddsUp wants each block of the end once, however a census overlaps or lies.
func TestKeptAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScene()
		var pieces []string
		for range rapid.IntRange(1, 20).Draw(t, "blocks") {
			pieces = append(pieces, rapid.SampledFrom([]string{"2a@f", "4a@g", "3.@f", "5p@g", "1a"}).Draw(t, "piece"))
		}
		at := s.segment(0, 0, strings.Join(pieces, " "))
		census := &Census{}
		for range rapid.IntRange(0, 5).Draw(t, "keepers") {
			offsets := rapid.SliceOf(rapid.Uint64Range(0, 80*mib)).Draw(t, "addresses")
			k := Keeper{Path: "k"}
			for _, o := range offsets {
				k.Addresses = append(k.Addresses, at-mib+o)
			}
			census.Keepers = append(census.Keepers, k)
		}
		tl := s.replay()
		r := Kept(tl, NewSites(&s.rec), census)
		var bytes int64
		for _, k := range r.Keepers {
			bytes += k.Bytes
		}
		for _, u := range r.Unnamed {
			bytes += u.Bytes
		}
		if want := tl.TotalsAt(tl.Dev.Events.Len() - 1).Allocated; bytes != r.AllocatedBytes || bytes != want {
			t.Fatalf("%d bytes by keeper, %d in all, %d allocated", bytes, r.AllocatedBytes, want)
		}
		for _, k := range r.Keepers {
			var lines int64
			for _, l := range k.AllocatedAt {
				lines += l.Bytes
			}
			if lines != k.Bytes {
				t.Fatalf("lines have %d of %d bytes", lines, k.Bytes)
			}
		}
	})
}

// TestLeakNamesWhatKeepsIt plants a leak in a run and has the process say what keeps it.
func TestLeakNamesWhatKeepsIt(t *testing.T) {
	s := newScene()
	var kept []uint64
	for range 12 {
		at := s.segment(0, 0, "2a@forward 2a@work")
		kept = append(kept, at)
		s.release(at + 2*mib)
	}
	x := &Explanation{TL: s.replay(), Sites: NewSites(&s.rec)}
	g := GrowingSite{Stack: s.site("forward"), Stacks: []snapshot.StackID{s.site("forward")}}
	x.Leaks = LeakReport{Growing: []GrowingSite{g}, Findings: []rules.Finding{{Evidence: []string{"blocks live on", "steps"}}}}
	x.Kept = Kept(x.TL, x.Sites, &Census{Keepers: []Keeper{{Path: "history[…]", Places: 10, Addresses: kept[2:]}, {Path: "last", Addresses: kept[1:2]}}})
	x.nameKeepers()
	want := []string{"blocks live on", "when the recording was written, 22.00 MiB of the 24.00 MiB from there were held by history[…] × 10, 20.00 MiB; last, 2.00 MiB", "steps"}
	if got := x.Leaks.Findings[0].Evidence; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestKeeperTellsTheCause(t *testing.T) {
	for _, tt := range []struct {
		k    KeptBy
		want string
	}{
		{KeptBy{Path: "history[…]", Kind: "python"}, ""},
		{KeptBy{Path: "Node.feat", Kind: "cycle", Where: "garbage, in a cycle of 2 Node"}, "leak/reference-cycle"},
		{KeptBy{Path: "cache[…]", Where: "closure cell 'cache' of <lambda> at a.py:3, hook on net[2]"}, "leak/hook-cache"},
		{KeptBy{Path: "Recorder.seen[…]", Where: "object of the hook on net[2]"}, "leak/hook-cache"},
		{KeptBy{Path: "lru_cache of positions[…]"}, "leak/cached-method"},
		{KeptBy{Path: "ctx.mine", Where: "ScaleBackward in graph of kept[…]"}, "leak/tensor-on-ctx"},
		{KeptBy{Path: "Out[7]"}, "leak/notebook-out"},
		{KeptBy{Path: "x", Where: "local 'x' of f() at a.py:3, kept by errors[…]"}, "leak/exception-frame"},
		{KeptBy{Path: "x", Where: "local 'x' of generator f() at a.py:3, kept by loader"}, ""},
		{KeptBy{Path: "x", Where: "local 'x' of async generator f() at a.py:3, kept by loader"}, ""},
		{KeptBy{Path: "x", Where: "local 'x' of f() at a.py:3"}, ""},
	} {
		if got := tt.k.cause(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.k, got, tt.want)
		}
	}
}

func TestBlame(t *testing.T) {
	const cause = "leak/reference-cycle"
	f := rules.Finding{Causes: []string{"leak/hook-cache", cause}, Remedies: []rules.Remedy{
		{Do: causeRemedies["leak/hook-cache"], Bytes: 7, Effect: "less"}, {Do: causeRemedies[cause]},
	}}
	blame(&f, cause)
	want := rules.Finding{Causes: []string{cause, "leak/hook-cache"}, Remedies: []rules.Remedy{
		{Do: causeRemedies[cause], Bytes: 7, Effect: "less"}, {Do: causeRemedies["leak/hook-cache"]},
	}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v", f)
	}
}

func TestRedactCensus(t *testing.T) {
	if RedactCensus(nil) != nil {
		t.Error("a census out of nothing")
	}
	c := &Census{Complete: true, Keepers: []Keeper{
		{Path: "secret.plan[…]", Where: "local 'secret' of launch() at x.py:1", Kind: "python", Places: 3, Addresses: []uint64{1}},
		{Path: "graph of secret", Kind: "graph", SavedBy: []string{"SecretBackward", "AddBackward0"}},
		{Path: "secret", Kind: "python"},
		{Path: "secret", Kind: "from the future"},
	}}
	want := &Census{Complete: true, Keepers: []Keeper{
		{Path: "name 1", Kind: "python", Places: 3, Addresses: []uint64{1}},
		{Path: "graph of name 1", Kind: "graph", SavedBy: []string{"AddBackward0"}},
		{Path: "name 2", Kind: "python"},
		{Path: "holder 1", Kind: "from the future"},
	}}
	if got := RedactCensus(c); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
