package tune

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

func TestParseSettingRefuses(t *testing.T) {
	var refused *allocator.ConfigError
	if _, err := ParseSetting(allocator.Newest, "max_split_size:128"); !errors.As(err, &refused) {
		t.Errorf("error %v, want PyTorch's reason", err)
	}
	var async *AsyncError
	if _, err := ParseSetting(allocator.Newest, "backend:cudaMallocAsync"); !errors.As(err, &async) {
		t.Errorf("error %v, want an AsyncError", err)
	}
}

// TestRecordedSetting: the string counts where it gives what was in force; else what
// was in force is spelled out.
func TestRecordedSetting(t *testing.T) {
	tests := []struct {
		name string
		s    *snapshot.Settings
		want string
		same bool
	}{
		{"no settings", nil, "", true},
		{"defaults", &snapshot.Settings{MaxSplitBytes: -1}, "", true},
		{"as given", &snapshot.Settings{Conf: "max_split_size_mb:128", MaxSplitBytes: 128 << 20}, "max_split_size_mb:128", true},
		{"a large segment size, which the recording does not repeat", &snapshot.Settings{Conf: "large_segment_size_mb:64", MaxSplitBytes: -1}, "large_segment_size_mb:64", true},
		{"divisions of 0, which a list gives as 1", &snapshot.Settings{Conf: "roundup_power2_divisions:[256:1,>:1]", MaxSplitBytes: -1}, "roundup_power2_divisions:[256:1,>:1]", true},
		{"asked for and not in force", &snapshot.Settings{Conf: "expandable_segments:True", MaxSplitBytes: -1}, "", false},
		{"set at run time", &snapshot.Settings{MaxSplitBytes: 64 << 20, ExpandableSegments: true, GCThreshold: 0.8}, "expandable_segments:True,max_split_size_mb:64,garbage_collection_threshold:0.8", false},
		{"nothing that this release knows", &snapshot.Settings{Conf: "brand_new:1", MaxSplitBytes: -1}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tl := settingsOnly(tt.s)
			got, same := RecordedSetting(allocator.Newest, tl)
			if got.Conf != tt.want || same != tt.same {
				t.Errorf("%q, %v; want %q, %v", got.Conf, same, tt.want, tt.same)
			}
			if !matches(&got.Config, tl) {
				t.Errorf("%+v is not what was in force", got.Config)
			}
		})
	}
}

func settingsOnly(s *snapshot.Settings) *timeline.Timeline {
	return &timeline.Timeline{Rec: &snapshot.Recording{Settings: s}, Config: timeline.ConfigOf(s)}
}

// TestSpellReadsBack: what spell writes is read back as what was in force.
func TestSpellReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &snapshot.Settings{MaxSplitBytes: -1, ExpandableSegments: rapid.Bool().Draw(t, "expandable")}
		if rapid.Bool().Draw(t, "split") {
			s.MaxSplitBytes = rapid.Int64Range(20, 4096).Draw(t, "mib") << 20
		}
		if rapid.Bool().Draw(t, "gc") {
			s.GCThreshold = float64(rapid.IntRange(1, 99).Draw(t, "percent")) / 100
		}
		for i := range s.RoundupDivisions {
			s.RoundupDivisions[i] = rapid.SampledFrom([]int{0, 1, 2, 8, 64}).Draw(t, "divisions")
		}
		tl := settingsOnly(s)
		got, err := ParseSetting(allocator.Newest, spell(tl))
		if err != nil || !matches(&got.Config, tl) {
			t.Fatalf("%q gives %+v (%v), in force was %+v", spell(tl), got.Config, err, s)
		}
	})
}

func TestExport(t *testing.T) {
	tests := []struct {
		minor      int
		conf, want string
	}{
		{14, "expandable_segments:True", "export PYTORCH_ALLOC_CONF=expandable_segments:True"},
		{11, "max_split_size_mb:64", "export PYTORCH_ALLOC_CONF=max_split_size_mb:64"},
		{9, "expandable_segments:True", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}, // the new name was passed over there
		{4, "roundup_power2_divisions:8", "export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:8"},
		{4, "roundup_power2_divisions:[256:1,>:8]", "export PYTORCH_CUDA_ALLOC_CONF='roundup_power2_divisions:[256:1,>:8]'"},
		{12, "", "unset PYTORCH_ALLOC_CONF"},
	}
	for _, tt := range tests {
		if got := Export(minor(tt.minor), tt.conf); got != tt.want {
			t.Errorf("torch 2.%d: %q, want %q", tt.minor, got, tt.want)
		}
	}
}

func TestAssumeTorch(t *testing.T) {
	tests := []struct {
		name           string
		change         func(*snapshot.Recording)
		oldest, newest int
	}{
		{"times, settings, no pools", func(*snapshot.Recording) {}, 3, 11},
		{"annotations", func(r *snapshot.Recording) { r.Annotations = []snapshot.Annotation{{Name: "step"}} }, 5, 11},
		{"pools", func(r *snapshot.Recording) { r.Devices[0].Events.HasPools = true }, 12, allocator.Newest.Minor},
		{"no settings", func(r *snapshot.Recording) { r.Settings = nil }, 0, 2},
		{"neither settings nor times", func(r *snapshot.Recording) { r.Settings = nil; r.Devices[0].Events.HasTimes = false }, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTrace().add(snapshot.Alloc, 1<<40, 512, "")
			r.dev.Events.HasTimes = true
			tt.change(r.rec)
			got := AssumeTorch(r.rec)
			oldest := minor(tt.oldest)
			if tt.oldest == 0 {
				oldest = allocator.Version{}
			}
			if got.Version != minor(tt.newest) || got.Newest != minor(tt.newest) || got.Oldest != oldest || got.Contradicted() {
				t.Errorf("%+v, want 2.%d to 2.%d", got, tt.oldest, tt.newest)
			}
			if given := GivenTorch(allocator.Version{Major: 2, Minor: tt.newest + 1}, r.rec); !given.Contradicted() || !given.Given {
				t.Errorf("a newer release is not contradicted: %+v", given)
			}
		})
	}
}
