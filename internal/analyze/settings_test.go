package analyze

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// settings returns the defaults as a recording has them, with a change.
func settings(conf string, change func(*snapshot.Settings)) *snapshot.Settings {
	s := &snapshot.Settings{Conf: conf, MaxSplitBytes: -1, PinnedThreads: 1}
	if change != nil {
		change(s)
	}
	return s
}

func TestSettings(t *testing.T) {
	const gib = 1 << 30
	split := func(mib int64) func(*snapshot.Settings) {
		return func(s *snapshot.Settings) { s.MaxSplitBytes = mib << 20 }
	}
	gc := func(x float64) func(*snapshot.Settings) { return func(s *snapshot.Settings) { s.GCThreshold = x } }
	on := func(s *snapshot.Settings) { s.ExpandableSegments = true }
	both := func(s *snapshot.Settings) { on(s); s.MaxSplitBytes = 128 << 20 }
	table := func(n ...int) func(*snapshot.Settings) {
		return func(s *snapshot.Settings) { copy(s.RoundupDivisions[:], n) }
	}
	all := func(n int) func(*snapshot.Settings) {
		return func(s *snapshot.Settings) { divideFrom(s, 0, n) }
	}
	rest := func(from, n int, then func(*snapshot.Settings)) func(*snapshot.Settings) {
		return func(s *snapshot.Settings) { divideFrom(s, from, n); then(s) }
	}
	for _, c := range []struct {
		name string
		s    *snapshot.Settings
		ev   SettingsEvidence
		want []string // rule severity confidence
	}{
		{"none in the file", nil, SettingsEvidence{}, nil},
		{"defaults", settings("", nil), SettingsEvidence{Native: true}, nil},
		{"defaults and nothing meant", settings("", nil), SettingsEvidence{CapacityBytes: 80 * gib, NoLimit: true}, nil},

		{"gc, nothing known", settings("garbage_collection_threshold:0.8", gc(0.8)), SettingsEvidence{}, []string{"conf/inert-gc info low"}},
		{"gc, no fraction", settings("garbage_collection_threshold:0.8", gc(0.8)), SettingsEvidence{NoLimit: true}, []string{"conf/inert-gc info high"}},
		{
			"gc, past the threshold of the whole device", settings("garbage_collection_threshold:0.5", gc(0.5)),
			SettingsEvidence{CapacityBytes: 80 * gib, PeakReservedBytes: 41 * gib},
			[]string{"conf/inert-gc info medium"},
		},
		{
			"gc, below it", settings("garbage_collection_threshold:0.5", gc(0.5)),
			SettingsEvidence{CapacityBytes: 80 * gib, PeakReservedBytes: 39 * gib},
			[]string{"conf/inert-gc info low"},
		},
		{"gc, limit known", settings("garbage_collection_threshold:0.8", gc(0.8)), SettingsEvidence{LimitBytes: 10 * gib}, nil},
		{"gc, seen at work", settings("garbage_collection_threshold:0.8", gc(0.8)), SettingsEvidence{Collections: 1}, nil},
		{
			"gc, limit in the string", settings("garbage_collection_threshold:0.8,per_process_memory_fraction:0.5", gc(0.8)),
			SettingsEvidence{CapacityBytes: 80 * gib},
			[]string{"conf/fraction-in-settings info high"},
		},
		{"gc, limit of 1 is none", settings("garbage_collection_threshold:0.8,per_process_memory_fraction:1", gc(0.8)), SettingsEvidence{}, []string{"conf/inert-gc info low"}},
		{"gc, written with fewer digits than a float has", settings("garbage_collection_threshold:0.60", gc(float64(float32(0.6)))), SettingsEvidence{Collections: 3}, nil},

		{
			"max_split with expandable", settings("max_split_size_mb:128,expandable_segments:True", both),
			SettingsEvidence{Expandable: true, FlatGrowthBytes: gib},
			[]string{"conf/max-split-expandable warning high"},
		},
		{
			"max_split wastes", settings("max_split_size_mb:128", split(128)),
			SettingsEvidence{PeakReservedBytes: 10 * gib, OversizeUnusedBytes: gib},
			[]string{"conf/max-split-waste warning medium"},
		},
		{
			"max_split does no harm", settings("max_split_size_mb:128", split(128)),
			SettingsEvidence{PeakReservedBytes: 10 * gib, OversizeUnusedBytes: gib - 1},
			nil,
		},
		{"max_split, nothing recorded", settings("max_split_size_mb:128", split(128)), SettingsEvidence{}, nil},
		{"max_split changed later", settings("max_split_size_mb:128", split(20)), SettingsEvidence{}, []string{"conf/changed-at-run-time info medium"}},
		{"max_split set later", settings("", split(20)), SettingsEvidence{}, []string{"conf/changed-at-run-time info medium"}},
		{"max_split gone", settings("max_split_size_mb:128", nil), SettingsEvidence{}, []string{"conf/changed-at-run-time info medium"}},
		{"slack without a limit", settings("max_non_split_rounding_mb:64", nil), SettingsEvidence{}, []string{"conf/inert-non-split-rounding info high"}},
		{"slack with one", settings("max_non_split_rounding_mb:64,max_split_size_mb:128", split(128)), SettingsEvidence{}, nil},

		{"expandable as asked", settings("expandable_segments:True", on), SettingsEvidence{Expandable: true}, nil},
		{"expandable not supported", settings("expandable_segments:True", nil), SettingsEvidence{Native: true}, []string{"conf/expandable-off warning high"}},
		{"expandable switched off later", settings("expandable_segments:True", nil), SettingsEvidence{Expandable: true}, []string{"conf/changed-at-run-time info medium"}},
		{"expandable switched on by a call", settings("", on), SettingsEvidence{Expandable: true}, []string{"conf/changed-at-run-time info medium"}},
		{"expandable against the string", settings("expandable_segments:False", on), SettingsEvidence{}, []string{"conf/changed-at-run-time info medium"}},
		{"expandable and native side by side", settings("expandable_segments:True", on), SettingsEvidence{Expandable: true, Native: true}, []string{"conf/changed-at-run-time info medium"}},

		{"option of an old release", settings("roundup_bypass_threshold_mb:64", nil), SettingsEvidence{}, []string{"conf/unknown-option warning medium"}},
		{"misspelt", settings("expandable_segment:True", nil), SettingsEvidence{}, []string{"conf/unknown-option warning medium"}},
		{"a tab is a blank since 2.9", settings("\texpandable_segments:True", nil), SettingsEvidence{}, []string{"conf/expandable-off warning high"}},
		{"blanks are ignored", settings(" expandable_segments : True ,", on), SettingsEvidence{}, nil},
		{"boolean in lower case", settings("expandable_segments:true", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"max_split too small", settings("max_split_size_mb:10", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"what follows a number is not read", settings("max_split_size_mb:128MB", split(128)), SettingsEvidence{}, nil},
		{"from 2.9 on 20 is enough", settings("max_split_size_mb:20", split(20)), SettingsEvidence{}, nil},
		{"no release has both", settings("large_segment_size_mb:64,max_split_size_mb:32", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"ROCm's name of the backend", settings("backend:hipMallocAsync", nil), SettingsEvidence{}, []string{"conf/async-backend warning medium"}},
		{
			"refused, so what is asked for is off", settings("expandable_segments:True,bogus:1", nil),
			SettingsEvidence{Native: true},
			[]string{"conf/unknown-option warning medium", "conf/expandable-off warning high"},
		},
		{"equals sign", settings("expandable_segments=True", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"megabytes of nonsense", settings("garbage_collection_threshold:"+strings.Repeat("1", 1<<20)+"x", nil), SettingsEvidence{}, []string{"conf/bad-value warning low"}},
		{"open list", settings("roundup_power2_divisions:[256:1", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"threshold of 1", settings("garbage_collection_threshold:1", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{"twice, the last counts", settings("max_split_size_mb:128,max_split_size_mb:256", split(256)), SettingsEvidence{}, []string{"conf/repeated-option info high"}},
		{"twice the same", settings("max_split_size_mb:128,max_split_size_mb:128", split(128)), SettingsEvidence{}, nil},
		{"other backend", settings("backend:cudaMallocAsync", nil), SettingsEvidence{}, []string{"conf/async-backend warning medium"}},
		{"native backend", settings("backend:native", nil), SettingsEvidence{}, nil},
		{"meant but not in force", settings("", nil), SettingsEvidence{WantedConf: "expandable_segments:True"}, []string{"conf/ignored-variable warning medium"}},
		{"throw without a fraction", settings("throw_on_cudamalloc_oom:True", nil), SettingsEvidence{}, []string{"conf/throw-without-fraction info low"}},
		{"host options", settings("pinned_use_cuda_host_register:True,pinned_num_register_threads:8", nil), SettingsEvidence{}, []string{"conf/host-option info high"}},

		{"roundup one number", settings("roundup_power2_divisions:8", all(8)), SettingsEvidence{}, nil},
		{"roundup 1 is off", settings("roundup_power2_divisions:1", all(1)), SettingsEvidence{}, []string{"conf/roundup-trap info high"}},
		{"roundup of the docs, since 2.9", settings("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
			rest(11, 8, table(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4))), SettingsEvidence{}, nil},
		{"roundup of the docs, up to 2.8", settings("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
			rest(10, 8, table(1, 1, 1, 1, 1, 1, 1, 1, 1, 2))), SettingsEvidence{}, []string{"conf/roundup-trap info high"}},
		{"roundup with a gap", settings("roundup_power2_divisions:[64:8,256:4,>:2]",
			rest(9, 2, table(8, 8, 8, 8, 8, 8, 8, 0, 4))), SettingsEvidence{}, []string{"conf/roundup-trap info high"}},
		{"roundup in force is another", settings("roundup_power2_divisions:8", all(4)), SettingsEvidence{}, []string{"conf/changed-at-run-time info medium"}},
		{"roundup not of a power of two", settings("roundup_power2_divisions:3", nil), SettingsEvidence{}, []string{"conf/bad-value warning high"}},
		{
			"what most guides recommend", settings("garbage_collection_threshold:0.8,max_split_size_mb:128",
				func(s *snapshot.Settings) { s.GCThreshold = 0.8; s.MaxSplitBytes = 128 << 20 }),
			SettingsEvidence{NoLimit: true, PeakReservedBytes: 26 * gib, OversizeUnusedBytes: 16 * gib},
			[]string{"conf/max-split-waste warning medium", "conf/inert-gc info high"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range Settings(c.s, c.ev) {
				got = append(got, strings.Join([]string{f.Rule, f.Severity.String(), f.Confidence.String()}, " "))
				if f.Title == "" || f.Event != -1 || len(f.Evidence) == 0 || len(f.Remedies) == 0 {
					t.Errorf("not whole: %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettingsTitles pins what a reader sees where the title is put together.
func TestSettingsTitles(t *testing.T) {
	for _, c := range []struct{ conf, want string }{
		{"expandable_segment:True", "expandable_segment is no option of PyTorch up to 2.14; expandable_segments is"},
		{"Max_Split_Size:128", "Max_Split_Size is no option of PyTorch up to 2.14; max_split_size_mb is"},
		{"bogus:1", "bogus is no option of PyTorch up to 2.14"},
		{"expandable_segments:1", "PyTorch refuses expandable_segments:1"},
		{"max_split_size_mb:10", "PyTorch refuses max_split_size_mb:10"},
		{"expandable_segments=True", "expandable_segments=True has to be written expandable_segments:True"},
		{"roundup_power2_divisions:[3:4]", "PyTorch refuses roundup_power2_divisions:[3:4]"},
		{"large_segment_size_mb:64,max_split_size_mb:32", "PyTorch refuses these settings: CachingAllocator option max_split_size_mb too small, must be >= 64"},
	} {
		found := Settings(settings(c.conf, nil), SettingsEvidence{})
		if len(found) != 1 || found[0].Title != c.want {
			t.Errorf("%s: %+v, want the title %q", c.conf, found, c.want)
		}
	}
}

// divideFrom sets the divisions of all powers of two from one on.
func divideFrom(s *snapshot.Settings, from, n int) {
	for i := from; i < len(s.RoundupDivisions); i++ {
		s.RoundupDivisions[i] = n
	}
}

// FuzzSettings: no string makes it fail, and no finding names a rule that is not there.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"", "a", ":", ",", "a:", "a:[", "a:]", "a:[b:1,c", "max_split_size_mb:128,", "roundup_power2_divisions:[>:>]", "expandable_segments:True,,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, conf string) {
		for _, found := range Settings(settings(conf, nil), SettingsEvidence{}) {
			if _, err := rules.Get(found.Rule); err != nil {
				t.Error(err)
			}
		}
	})
}
