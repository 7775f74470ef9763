package analyze

import (
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

// checkDiff checks that the changes add up to the change of what is allocated.
func checkDiff(t interface{ Fatalf(string, ...any) }, a, b DiffSide) *DiffReport {
	var last *DiffReport
	for _, top := range []int{1, 0, -1} {
		last = Diff(a, b, top)
		var sum, kinds int64
		for _, c := range last.Changed {
			sum += c.DeltaBytes()
		}
		if last.Rest != nil {
			sum += last.Rest.DeltaBytes()
		}
		for _, c := range last.Categories {
			kinds += c.AfterBytes - c.BeforeBytes
		}
		want := last.After.AllocatedBytes - last.Before.AllocatedBytes
		if sum != want || kinds != want {
			t.Fatalf("top %d: sites changed by %d, categories by %d, want %d", top, sum, kinds, want)
		}
	}
	return last
}

func TestDiffOfRecordings(t *testing.T) {
	names := []string{"resnet50", "vit", "ddp-rank0", "ddp-rank1", "bert_varlen-ring", "cudagraph", "leak_eval_outputs-oom"}
	for _, a := range names {
		for _, b := range names {
			r := checkDiff(t, recording(t, a), recording(t, b))
			if a == b && len(r.Changed) != 0 {
				t.Errorf("%s against itself: %+v", a, r.Changed)
			}
		}
	}
}

// The ranks of one job differ in one thing: at its peak one of them still holds the
// first set of DDP's buckets.
func TestDiffOfRanks(t *testing.T) {
	r := checkDiff(t, recording(t, "ddp-rank0"), recording(t, "ddp-rank1"))
	if len(r.Changed) != 1 || r.Changed[0].Change != Gone || r.Changed[0].Category != Gradients {
		t.Errorf("%+v", r.Changed)
	}
}

func TestDiffChanges(t *testing.T) {
	const mib = 1 << 20
	type site struct {
		sizeMiB int64
		stack   []snapshot.Frame
	}
	in := func(prefix string, lines ...int) []snapshot.Frame {
		return []snapshot.Frame{frame(pkgs+"torch/nn/functional.py", 100, "relu"), frame(prefix+"/net.py", lines[0], "forward"), frame(prefix+"/train.py", lines[1], "step")}
	}
	model := func(file, function string) []snapshot.Frame {
		return []snapshot.Frame{frame(pkgs+"torch/nn/functional.py", 1, "relu"), frame(pkgs+"transformers/models/x/modeling_x.py", 7, "forward"), frame(file, 3, function)}
	}
	for _, c := range []struct {
		name          string
		before, after []site
		want          []SiteChange
	}{
		{"same, moved to another folder and to other lines", []site{{3, in("/a", 10, 20)}}, []site{{3, in("/b/c", 12, 25)}}, nil},
		{
			"grown while it moved",
			[]site{{3, in("/a", 10, 20)}},
			[]site{{5, in("/a", 11, 20)}},
			[]SiteChange{{Change: Grew, Name: "net.py:11 forward → relu", BeforeName: "net.py:10 forward → relu", BeforeBytes: 3 * mib, AfterBytes: 5 * mib}},
		},
		{
			"shrunk",
			[]site{{3, in("/a", 10, 20)}},
			[]site{{2, in("/a", 10, 20)}},
			[]SiteChange{{Change: Shrank, Name: "net.py:10 forward → relu", BeforeBytes: 3 * mib, AfterBytes: 2 * mib}},
		},
		{
			"new above an old line",
			[]site{{3, in("/a", 10, 20)}},
			[]site{{4, in("/a", 5, 20)}, {3, in("/a", 10, 20)}},
			[]SiteChange{{Change: Appeared, Name: "net.py:5 forward → relu", AfterBytes: 4 * mib}},
		},
		{
			"gone",
			[]site{{3, in("/a", 10, 20)}, {4, in("/a", 30, 20)}},
			[]site{{4, in("/a", 30, 20)}},
			[]SiteChange{{Change: Gone, Name: "net.py:10 forward → relu", BeforeBytes: 3 * mib}},
		},
		{"both moved", []site{{3, in("/a", 10, 20)}, {4, in("/a", 30, 20)}}, []site{{3, in("/a", 11, 20)}, {4, in("/a", 31, 20)}}, nil},
		{"the same model called from elsewhere", []site{{3, model("/a/train.py", "step")}}, []site{{3, model("/a/run.py", "main")}}, nil},
		{
			"a layer of torch called from elsewhere",
			[]site{{3, in("/a", 10, 20)[:2]}},
			[]site{{3, []snapshot.Frame{in("/a", 10, 20)[0], frame("/a/other.py", 1, "call")}}},
			[]SiteChange{{Change: Gone, Name: "net.py:10 forward → relu", BeforeBytes: 3 * mib}, {Change: Appeared, Name: "other.py:1 call → relu", AfterBytes: 3 * mib}},
		},
		{
			"backward pass",
			[]site{{3, nil}},
			[]site{{4, nil}},
			[]SiteChange{{Change: Grew, Name: "no stack recorded", BeforeBytes: 3 * mib, AfterBytes: 4 * mib}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			make := func(sites []site) DiffSide {
				m := newTraceMaker()
				for _, s := range sites {
					m.alloc(s.sizeMiB<<20, m.stack(s.stack...))
				}
				return m.side()
			}
			r := checkDiff(t, make(c.before), make(c.after))
			if len(r.Changed) != len(c.want) {
				t.Fatalf("got %+v", r.Changed)
			}
			for i, want := range c.want {
				got := r.Changed[i]
				if got.Change != want.Change || got.Name != want.Name || got.BeforeName != want.BeforeName || got.BeforeBytes != want.BeforeBytes || got.AfterBytes != want.AfterBytes {
					t.Errorf("%d: got %+v\nwant %+v", i, got, want)
				}
			}
		})
	}
}

func TestSettingChanges(t *testing.T) {
	base := snapshot.Settings{Conf: "", MaxSplitBytes: -1}
	other := base
	other.Conf, other.ExpandableSegments, other.MaxSplitBytes = "expandable_segments:True", true, 1<<27
	for _, c := range []struct {
		name          string
		before, after *snapshot.Settings
		want          []SettingChange
	}{
		{"equal", &base, &base, nil},
		{"neither recorded", nil, nil, nil},
		{"changed", &base, &other, []SettingChange{
			{"PYTORCH_CUDA_ALLOC_CONF", `""`, `"expandable_segments:True"`}, {"max_split_size", "unlimited", "134217728 bytes"}, {"expandable_segments", "false", "true"},
		}},
	} {
		got := settingChanges(c.before, c.after)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.name, got[i], c.want[i])
			}
		}
	}
	if got := settingChanges(nil, &base); len(got) != 5 {
		t.Errorf("recorded on one side only: %+v", got)
	}
}
