package analyze

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
)

// confOption is one key:value of the allocator's settings string.
type confOption struct{ key, value string }

// splitConf splits a settings string into its options. It only looks for what a
// reader takes for an option; what PyTorch makes of the string, readings tells. A
// part without a colon is an option without a value.
func splitConf(conf string) []confOption {
	var options []confOption
	for rest := strings.Join(strings.Fields(conf), ""); rest != ""; {
		var part string
		part, rest = cutOption(rest)
		key, value, _ := strings.Cut(part, ":")
		if part != "" {
			options = append(options, confOption{key, value})
		}
	}
	return options
}

// cutOption cuts s at the first comma outside brackets.
func cutOption(s string) (option, rest string) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// reading is a settings string as one release of PyTorch reads it.
type reading struct {
	version allocator.Version
	allocator.Settings
}

// readings reads conf as every known release does. A recording does not name its
// release, so that all have to be asked. Where none accepts it, refused is the reason
// of the newest.
func readings(conf string) (accepted []reading, refused *allocator.ConfigError) {
	conf = strings.ReplaceAll(conf, "hipMallocAsync", "cudaMallocAsync") // ROCm takes both names
	for minor := range allocator.Newest.Minor + 1 {
		v := allocator.Version{Major: allocator.Newest.Major, Minor: minor}
		s, err := allocator.ParseConfig(v, conf)
		if err != nil {
			errors.As(err, &refused)
			continue
		}
		accepted = append(accepted, reading{v, *s})
	}
	if len(accepted) > 0 {
		return accepted, nil
	}
	return nil, refused
}

// isUnknownOption tells whether the reason is that there is no such option.
func isUnknownOption(e *allocator.ConfigError) bool {
	return strings.HasPrefix(e.Reason, "Unrecognized")
}

// optionNames are the options that a slip of the pen may have been meant to be.
var optionNames = []string{
	"backend", "expandable_segments", "garbage_collection_threshold", "graph_capture_record_stream_reuse",
	"large_segment_size_mb", "max_non_split_rounding_mb", "max_split_size_mb", "per_process_memory_fraction",
	"pinned_num_register_threads", "pinned_use_background_threads", "pinned_use_cuda_host_register",
	"release_lock_on_cudamalloc", "roundup_power2_divisions", "throw_on_cudamalloc_oom",
}

// nearestOption returns the option that shares the longest beginning with key, at
// least half of it, or "".
func nearestOption(key string) string {
	best, most := "", 0
	for _, option := range optionNames {
		shared := 0
		for shared < min(len(key), len(option)) && key[shared]|0x20 == option[shared]|0x20 { // letters in either case
			shared++
		}
		if shared > most {
			best, most = option, shared
		}
	}
	if 2*most < len(key) {
		return ""
	}
	return best
}

// roundupKeys returns the explicit keys of a list of divisions, as indexes of the
// table: 0 is 1 MiB. A single number for all has none.
func roundupKeys(value string) []int {
	inner, isList := strings.CutPrefix(value, "[")
	if !isList {
		return nil
	}
	var keys []int
	for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
		key, _, _ := strings.Cut(item, ":")
		if mib, err := strconv.ParseUint(key, 10, 64); err == nil && mib > 0 {
			keys = append(keys, min(bits.Len64(mib)-1, 15))
		}
	}
	return keys
}

// roundupGaps returns the places between two keys with divisions that have none.
func roundupGaps(keys []int, table [16]int) []int {
	var gaps []int
	sorted := slices.Sorted(slices.Values(keys))
	for k := 1; k < len(sorted); k++ {
		if table[sorted[k-1]] <= 1 || table[sorted[k]] <= 1 {
			continue
		}
		for i := sorted[k-1] + 1; i < sorted[k]; i++ {
			gaps = append(gaps, i)
		}
	}
	return gaps
}
