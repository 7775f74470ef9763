package tune

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// brief is what a test compares of a result.
type brief struct {
	Conf            string
	Limit, Reserved int64
	Spread          Spread
}

func briefs(results []Result) (list []brief) {
	for i := range results {
		r := &results[i]
		list = append(list, brief{r.Conf, r.SmallestLimit(), r.PeakReserved(), r.Worst().Spread})
	}
	return list
}

// TestSearchIsDeterministic: the number of goroutines changes nothing.
func TestSearchIsDeterministic(t *testing.T) {
	p := compiled(t, recorded(t, "gpu/images_of_many_sizes.pickle.xz"), -1)
	search := func(workers int) []brief {
		return briefs(New(allocator.Newest, []*Program{p}, Room{LimitBytes: 1400 << 20}, Options{Workers: workers}).Search())
	}
	if diff := cmp.Diff(search(1), search(5)); diff != "" {
		t.Errorf("one worker and five differ:\n%s", diff)
	}
}

// TestSearchFindsLimits: under the smallest limit the run lives, under the next one
// below it does not; the best and the recorded settings have theirs exactly.
func TestSearchFindsLimits(t *testing.T) {
	for _, name := range []string{"gpu/train_varying.pickle.xz", "gpu/side_stream.pickle.xz"} {
		p := compiled(t, recorded(t, name), -1)
		tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{})
		results := tuner.Search()
		for i := range results {
			r := &results[i].Runs[0]
			if i > 0 && !results[i].Recorded {
				continue
			}
			if r.ToleranceBytes != limitStep || !tuner.livesIn(r, &results[i].Setting, r.SmallestLimitBytes) || tuner.livesIn(r, &results[i].Setting, r.SmallestLimitBytes-limitStep) {
				t.Errorf("%s %q: %d to %d is not the smallest limit", name, results[i].Conf, r.ToleranceBytes, r.SmallestLimitBytes)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	tests := []struct {
		name, recording string
		room            Room
		oom             bool
		want            Verdict
	}{
		{"varying sizes", "gpu/images_of_many_sizes.pickle.xz", Room{}, false, Change},
		{"the same, where the default runs out of memory", "gpu/images_of_many_sizes.pickle.xz", Room{LimitBytes: 1970 << 20}, false, Rescue},
		{"the same, where nothing helps", "gpu/images_of_many_sizes.pickle.xz", Room{LimitBytes: 500 << 20}, false, Nothing},
		{"fixed sizes, recorded with what is best for them", "gpu/train_varying_expandable.pickle.xz", Room{}, false, Keep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compiled(t, recorded(t, tt.recording), -1)
			tuner := New(allocator.Newest, []*Program{p}, tt.room, Options{})
			results := tuner.Search()
			a := tuner.Advise(results)
			if a.Verdict != tt.want {
				t.Errorf("verdict %s, want %s; best %q with %d, recorded %d", a.Verdict, tt.want, a.Best.Conf, a.Best.SmallestLimit(), a.Recorded.SmallestLimit())
			}
			f, ok := tuner.Finding(a)
			if ok != (tt.want == Change || tt.want == Rescue) {
				t.Errorf("a finding: %v", ok)
			}
			if ok && (f.Rule != "conf/better-settings" || len(f.Remedies) == 0 || f.Bytes != a.SavesBytes) {
				t.Errorf("finding %+v", f)
			}
			if !slices.ContainsFunc(results, func(r Result) bool { return r.Conf == "" }) || len(results) < 15 {
				t.Errorf("%d results, or without the defaults", len(results))
			}
		})
	}
}

// TestWorstRankDecides: of two ranks that need different things, the one that needs more
// is what a setting is judged by.
func TestWorstRankDecides(t *testing.T) {
	small := compiled(t, recorded(t, "gpu/kv_cache_requests.pickle.xz"), -1)
	large := compiled(t, recorded(t, "gpu/train_varying.pickle.xz"), -1)
	alone := New(allocator.Newest, []*Program{large}, Room{}, Options{}).Try([]Setting{parsed(t, "")})
	both := New(allocator.Newest, []*Program{small, large}, Room{}, Options{}).Try([]Setting{parsed(t, "")})
	if got := both[0].Worst(); got.Program != large || both[0].SmallestLimit() != alone[0].SmallestLimit() || both[0].PeakReserved() != alone[0].PeakReserved() {
		t.Errorf("judged by %d, alone the larger needs %d", both[0].SmallestLimit(), alone[0].SmallestLimit())
	}
}

// TestRank: the order of results, each worse than the one before for one reason.
func TestRank(t *testing.T) {
	const gib = 1 << 30
	result := func(conf string, lives bool, limit int64, c Cost, reserved int64, options int) Result {
		r := Result{Setting: Setting{Conf: conf}, Runs: []Run{{Program: &Program{TL: newTrace().add(snapshot.Alloc, 1<<40, 512, "").timeline()}}}}
		r.Given = make([]string, options)
		v := &r.Runs[0]
		v.SmallestLimitBytes, v.cost, v.PeakReserved, v.anew = limit, c, reserved, reserved
		if !lives {
			v.Failed = &Failure{}
		}
		return r
	}
	fine := Cost{Lives: true}
	want := []Result{
		result("best", true, 10*gib, fine, 10*gib, 0),
		result("reserves more", true, 10*gib, fine, 11*gib, 0),
		result("more options", true, 10*gib, fine, 10*gib, 1),
		result("waits for the driver", true, 10*gib, Cost{true, 0, 5e6}, 10*gib, 0),
		result("retries", true, 10*gib, Cost{true, 3, 0}, 10*gib, 0),
		result("does not live in the tight room", true, 10*gib+gib/4, Cost{}, 10*gib, 0),
		result("needs more", true, 11*gib, fine, 11*gib, 0),
		result("dies", false, 9*gib, fine, 9*gib, 0),
		result("dies and needs more", false, 12*gib, fine, 12*gib, 0),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	tuner := New(allocator.Newest, []*Program{want[0].Runs[0].Program}, Room{LimitBytes: 20 * gib}, Options{})
	tuner.Rank(got)
	for i := range want {
		if got[i].Conf != want[i].Conf {
			t.Errorf("place %d has %q, want %q", i, got[i].Conf, want[i].Conf)
		}
	}
}

func TestStopEndsEarly(t *testing.T) {
	p := compiled(t, recorded(t, "gpu/gan.pickle.xz"), -1)
	tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{Workers: 2})
	before, _ := tuner.Simulations()
	tuner.opt.Stop = func() bool { return true }
	tuner.Try([]Setting{parsed(t, ""), parsed(t, "expandable_segments:True")})
	tuner.Search()
	if after, _ := tuner.Simulations(); after != before {
		t.Errorf("%d runs after the stop", after-before)
	}
}

func TestCheckRoom(t *testing.T) {
	p := compiled(t, recorded(t, "gpu/late_start.pickle.xz"), -1)
	programs := []*Program{p}
	var tooSmall *RoomError
	if err := New(allocator.Newest, programs, Room{LimitBytes: 1 << 20}, Options{}).CheckRoom(nil); !errors.As(err, &tooSmall) || tooSmall.AliveBytes != p.TL.Start.Active {
		t.Errorf("error %v, want what is alive at the start", err)
	}
	if err := New(allocator.Newest, programs, Room{LimitBytes: 2 << 40, DeviceBytes: 1 << 40}, Options{}).CheckRoom(nil); !errors.Is(err, ErrRoom) {
		t.Errorf("error %v, want ErrRoom", err)
	}
	share := []Setting{parsed(t, "per_process_memory_fraction:0.5")}
	var unknown *ShareError
	if err := New(allocator.Newest, programs, Room{}, Options{}).CheckRoom(share); !errors.As(err, &unknown) {
		t.Errorf("error %v, want a ShareError", err)
	}
	if err := New(allocator.Newest, programs, Room{DeviceBytes: 1 << 40}, Options{}).CheckRoom(share); err != nil {
		t.Error(err)
	}
}

// TestConfidence: what a recording leaves open lowers it.
func TestConfidence(t *testing.T) {
	for name, want := range map[string]rules.Confidence{"gpu/train_varying.pickle.xz": rules.High, "gpu/late_start.pickle.xz": rules.Medium} {
		p := compiled(t, recorded(t, name), -1)
		tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{})
		if a := tuner.Advise(tuner.Search()); a.Confidence != want || len(a.Why) == 0 {
			t.Errorf("%s: confidence %v (%q), want %v", name, a.Confidence, a.Why, want)
		}
	}
}
