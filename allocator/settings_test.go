package allocator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]Version{
		"2.11.0+cu130": {2, 11}, "2.4": {2, 4}, "2.13.0a0+git1234": {2, 13}, " 1.13.1 ": {1, 13},
	} {
		if got, err := ParseVersion(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "2", "2.", "two.one", "-1.2", "2.x", "99999.1"} {
		if got, err := ParseVersion(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

// TestParseConfigAccepts lists configurations by release and what takes effect.
// MaxNonSplitRoundingBytes is 20 MiB where nothing is written.
func TestParseConfigAccepts(t *testing.T) {
	table := func(pairs ...int) (d [16]int) {
		for i := 0; i < len(pairs); i += 3 {
			fill(d[pairs[i]:pairs[i+1]], pairs[i+2])
		}
		return d
	}
	for _, tc := range []struct {
		torch Version
		conf  string
		want  Config
	}{
		{Version{2, 0}, "", Config{}},
		{Version{2, 8}, "max_split_size_mb:128", Config{MaxSplitBytes: 128 * mib}},
		{Version{2, 8}, " max_split_size_mb : 128 , expandable_segments:True,", Config{MaxSplitBytes: 128 * mib, Expandable: true}},
		{Version{2, 8}, "max_split_size_mb:128MB", Config{MaxSplitBytes: 128 * mib}},
		{Version{2, 8}, "max_split_size_mb:-1", Config{MaxSplitBytes: unlimited}},
		{Version{2, 9}, "max_split_size_mb:20", Config{MaxSplitBytes: 20 * mib}},
		{Version{2, 9}, "max_split_size_mb,128", Config{MaxSplitBytes: 128 * mib}}, // separators are not looked at
		{Version{2, 9}, "garbage_collection_threshold:0.6", Config{GCThreshold: 0.6}},
		{Version{2, 6}, "max_non_split_rounding_mb:40", Config{MaxNonSplitRoundingBytes: 40 * mib}},
		{Version{2, 11}, "max_split_size_mb:64,large_segment_size_mb:64", Config{MaxSplitBytes: 64 * mib, LargeSegmentBytes: 64 * mib, MaxNonSplitRoundingBytes: 64 * mib}},
		{Version{2, 12}, "throw_on_cudamalloc_oom:True,pinned_max_cached_size_mb:1", Config{RejectOverLimit: true}},
		{Version{2, 14}, "expandable_segments_reserve:40G", Config{ReserveBytes: 40 << 30}},
		{Version{2, 14}, "expandable_segments_reserve_by_class:[a:1,b:2G],expandable_segments:True", Config{Expandable: true}},
		{Version{2, 8}, "roundup_power2_divisions:8", Config{RoundupDivisions: table(0, 16, 8)}},
		{Version{2, 8}, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", Config{RoundupDivisions: table(0, 9, 1, 9, 10, 2, 10, 16, 8)}},
		{Version{2, 9}, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", Config{RoundupDivisions: table(0, 9, 1, 9, 10, 2, 10, 11, 4, 11, 16, 8)}},
		{Version{2, 9}, "roundup_power2_divisions:[64:4,1024:2]", Config{RoundupDivisions: table(0, 7, 4, 10, 11, 2)}}, // nothing fills the gap
		{Version{2, 4}, "roundup_power2_divisions:[1:0,>:2]", Config{RoundupDivisions: table(0, 16, 2)}},
		{Version{2, 9}, "roundup_power2_divisions:[1048576:4,>:2]", Config{RoundupDivisions: table(0, 16, 4)}},
		{Version{2, 2}, "release_lock_on_cudamalloc:True,pinned_num_register_threads:8,pinned_use_cuda_host_register:False", Config{}},
	} {
		got, err := ParseConfig(tc.torch, tc.conf)
		if err != nil {
			t.Errorf("torch %v, %q: %v", tc.torch, tc.conf, err)
			continue
		}
		tc.want.Behavior = tc.torch.Behavior()
		if diff := cmp.Diff(tc.want.withDefaults(), withThreshold(got.Config)); diff != "" {
			t.Errorf("torch %v, %q (-want +got):\n%s", tc.torch, tc.conf, diff)
		}
	}
}

// withThreshold fills in defaults without the rule that garbage collection does
// nothing without a limit.
func withThreshold(c Config) Config {
	if c.GCThreshold > 0 {
		return Config{GCThreshold: c.GCThreshold, Behavior: c.Behavior}.withDefaults()
	}
	return c.withDefaults()
}

func TestParseConfigRefuses(t *testing.T) {
	for _, tc := range []struct {
		torch           Version
		conf, exception string
		reason          string
	}{
		{Version{2, 8}, "max_split_size_mb:20", "RuntimeError", "CachingAllocator option max_split_size_mb too small, must be > 20"},
		{Version{2, 9}, "max_split_size_mb:19", "ValueError", "CachingAllocator option max_split_size_mb too small, must be >= 20"},
		{Version{2, 11}, "max_split_size_mb:32,large_segment_size_mb:64", "ValueError", "CachingAllocator option max_split_size_mb too small, must be >= 64"},
		{Version{2, 11}, "large_segment_size_mb:10", "ValueError", "CachingAllocator option large_segment_size_mb must be > 10 MB"},
		{Version{2, 10}, "large_segment_size_mb:64", "ValueError", "Unrecognized key 'large_segment_size_mb' in CUDA allocator config."},
		{Version{2, 8}, "max_split_size_mb", "RuntimeError", "Error parsing CachingAllocator settings, expected :"},
		{Version{2, 8}, "max_split_size_mb:", "RuntimeError", "Error, expecting max_split_size_mb value"},
		{Version{2, 8}, "max_split_size_mb=128", "RuntimeError", "Unrecognized CachingAllocator option: max_split_size_mb=128"},
		{Version{2, 8}, "max_split_size_mb:128;expandable_segments:True", "RuntimeError", "Error parsing CachingAllocator settings, expected ,"},
		{Version{2, 8}, "max_split_size_mb:many", "RuntimeError", "stoi"},
		{Version{2, 8}, "max_split_size_mb:99999999999", "RuntimeError", "stoi"},
		{Version{2, 9}, "max_split_size_mb:many", "RuntimeError", "stoull"},
		{Version{2, 9}, "unset", "RuntimeError", "Index out of bounds in ConfigTokenizer"},
		{Version{2, 9}, "max_split_size:128", "ValueError", "Unrecognized key 'max_split_size' in CUDA allocator config."},
		{Version{2, 9}, "backend:[", "RuntimeError", "Expected closing bracket ']' in ConfigTokenizer but reached end of config"},
		{Version{2, 8}, "expandable_segments:true", "RuntimeError", "Expected a single True/False argument for expandable_segments"},
		{Version{2, 9}, "expandable_segments:true", "ValueError", "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'"},
		{Version{2, 0}, "expandable_segments:True", "RuntimeError", "Unrecognized CachingAllocator option: expandable_segments"},
		{Version{2, 0}, "roundup_bypass_threshold_mb:3", "RuntimeError", "Unrecognized CachingAllocator option: roundup_bypass_threshold_mb"},
		{Version{2, 8}, "garbage_collection_threshold:0", "RuntimeError", "garbage_collect_threshold too small, set it 0.0~1.0"},
		{Version{2, 8}, "garbage_collection_threshold:1.0", "RuntimeError", "garbage_collect_threshold too big, set it 0.0~1.0"},
		{Version{2, 9}, "garbage_collection_threshold:1.0", "ValueError", "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
		{Version{2, 9}, "garbage_collection_threshold:high", "RuntimeError", "stod"},
		{Version{2, 8}, "roundup_power2_divisions:3", "RuntimeError", "For roundups, the divisions has to be power of 2"},
		{Version{2, 8}, "roundup_power2_divisions:[3:2]", "RuntimeError", "For roundups, the intervals have to be power of 2"},
		{Version{2, 3}, "roundup_power2_divisions:[4:0]", "RuntimeError", "For roundups, the divisions has to be power of 2 or 0 to disable roundup"},
		{Version{2, 8}, "roundup_power2_divisions:[4:2", "RuntimeError", "Error parsing CachingAllocator settings, expected ,"},
		{Version{2, 9}, "roundup_power2_divisions:[4:2", "RuntimeError", "Index out of bounds in ConfigTokenizer"},
		{Version{2, 8}, "roundup_power2_divisions:[4", "RuntimeError", "Error parsing CachingAllocator settings, expected :"},
		{Version{2, 8}, "roundup_power2_divisions:[4:", "RuntimeError", "Error parsing roundup_power2_divisions value"},
		{Version{2, 8}, "backend:default", "RuntimeError", "Unknown allocator backend, options are native and cudaMallocAsync"},
		{Version{2, 8}, "backend", "RuntimeError", "Error parsing CachingAllocator settings, expected :"},
		{Version{2, 8}, "backend:", "RuntimeError", "Error parsing backend value"},
		{Version{2, 10}, "per_process_memory_fraction:1.5", "ValueError", "per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
		{Version{2, 8}, "pinned_num_register_threads:3", "RuntimeError", "Number of register threads has to be power of 2"},
		{Version{2, 9}, "pinned_num_register_threads:256", "ValueError", "Number of register threads should be less than or equal to 128, got 256"},
	} {
		_, err := ParseConfig(tc.torch, tc.conf)
		var refused *ConfigError
		if !errors.As(err, &refused) {
			t.Errorf("torch %v, %q: %v, want it refused", tc.torch, tc.conf, err)
			continue
		}
		if refused.Reason != tc.reason || refused.Exception != tc.exception {
			t.Errorf("torch %v, %q: %s: %s, want %s: %s", tc.torch, tc.conf, refused.Exception, refused.Reason, tc.exception, tc.reason)
		}
	}
}

func TestParseConfigOldRelease(t *testing.T) {
	if _, err := ParseConfig(Version{1, 13}, ""); err == nil {
		t.Error("1.13 keeps no history, want an error")
	}
}

func TestForDevice(t *testing.T) {
	const total = 80 << 30
	for conf, want := range map[string]Config{
		"":                                {},
		"per_process_memory_fraction:1":   {},
		"per_process_memory_fraction:0.5": {LimitBytes: total / 2},
		"per_process_memory_fraction:0":   {LimitBytes: 1},
		"expandable_segments_reserve:0.5": {ReserveBytes: total / 2},
		"expandable_segments_reserve:big": {},
	} {
		s, err := ParseConfig(Newest, conf)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ForDevice(total); got != want {
			t.Errorf("%q: %+v, want %+v", conf, got, want)
		}
	}
}

func TestBackendWarning(t *testing.T) {
	s, err := ParseConfig(Newest, "backend:cudaMallocAsync,max_split_size_mb:128")
	if err != nil {
		t.Fatal(err)
	}
	if s.Backend != "cudaMallocAsync" || len(s.Warnings) != 1 || !cmp.Equal(s.Given, []string{"backend", "max_split_size_mb"}) {
		t.Errorf("%+v", s)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, conf := range []string{
		"", ":", "[", "roundup_power2_divisions:[256:1,>:8]", "max_split_size_mb:128,backend:native", "expandable_segments_reserve_by_class:[a:1]",
		"garbage_collection_threshold:1e-300", "large_segment_size_mb:18446744073709551615,max_split_size_mb:-1",
	} {
		f.Add(uint8(8), conf)
		f.Add(uint8(14), conf)
	}
	f.Fuzz(func(t *testing.T, minor uint8, conf string) {
		s, err := ParseConfig(Version{2, int(minor)}, conf)
		if err != nil {
			return
		}
		c := s.ForDevice(80 << 30)
		sim := NewSimulator(c, NewDevice(80<<30, 80<<30, LikeDriver, 0))
		for _, n := range []int64{1, mib, 5 * mib, 300*mib + 1} {
			b, err := sim.Malloc(n, 0, PoolID{})
			if err != nil {
				continue // a limit or a page can be too small or too large for it
			}
			if sim.Size(b) < n {
				t.Fatalf("%q: a block of %d bytes for %d", conf, sim.Size(b), n)
			}
			_ = sim.Free(b)
		}
		check(t, sim.a)
	})
}
