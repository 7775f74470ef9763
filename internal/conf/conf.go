// Package conf takes settings strings of PyTorch's allocator apart, the values of
// PYTORCH_ALLOC_CONF and of its older names, and reads them as every known release does.
// Where such a string stands does not matter to it: in a recording, a script or a page.
package conf

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
)

// Longest bounds the settings string that is read, in bytes. A real one has some
// hundred, and the cost of reading a hostile one grows with the square of its length.
const Longest = 4096

// blanks are what PyTorch drops from a string.
const blanks = " \t\n\v\f\r"

// Option is one key:value of a settings string, without blanks.
type Option struct {
	Key, Value string
	Start, End int // its bytes in the string
}

// Split splits a settings string into its options. It only looks for what a reader
// takes for an option; what PyTorch makes of the string, ByRelease tells. A part without
// a colon is an option without a value.
func Split(conf string) []Option {
	var options []Option
	for start := 0; start < len(conf); {
		end := endOfOption(conf, start)
		part := strings.Trim(conf[start:end], blanks)
		if part != "" {
			at := start + strings.Index(conf[start:end], part)
			key, value, _ := strings.Cut(strings.Join(strings.Fields(part), ""), ":")
			options = append(options, Option{key, value, at, at + len(part)})
		}
		start = end + 1
	}
	return options
}

// endOfOption finds the first comma outside brackets.
func endOfOption(s string, from int) int {
	inside := false
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				return i
			}
		}
	}
	return len(s)
}

// Reading is a settings string as one release of PyTorch reads it: as settings, or with
// the reason why it does not.
type Reading struct {
	Version allocator.Version
	*allocator.Settings
	Refused *allocator.ConfigError
}

// ByRelease reads conf as every known release does, oldest first.
func ByRelease(conf string) []Reading {
	conf = strings.ReplaceAll(conf, "hipMallocAsync", "cudaMallocAsync") // ROCm takes both names
	var all []Reading
	for minor := range allocator.Newest.Minor + 1 {
		r := Reading{Version: allocator.Version{Major: allocator.Newest.Major, Minor: minor}}
		s, err := allocator.ParseConfig(r.Version, conf)
		if !errors.As(err, &r.Refused) {
			r.Settings = s
		}
		all = append(all, r)
	}
	return all
}

// Read returns conf as the releases read it that accept it. Where none does, refused is
// the reason of the newest.
func Read(conf string) (accepted []Reading, refused *allocator.ConfigError) {
	for _, r := range ByRelease(conf) {
		if r.Refused != nil {
			refused = r.Refused
			continue
		}
		accepted = append(accepted, r)
	}
	if len(accepted) > 0 {
		return accepted, nil
	}
	return nil, refused
}

// IsUnknownOption tells whether the reason is that there is no such option.
func IsUnknownOption(e *allocator.ConfigError) bool {
	return strings.HasPrefix(e.Reason, "Unrecognized")
}

// optionNames are the options that a slip of the pen may have been meant to be.
var optionNames = []string{
	"backend", "expandable_segments", "garbage_collection_threshold", "graph_capture_record_stream_reuse",
	"large_segment_size_mb", "max_non_split_rounding_mb", "max_split_size_mb", "per_process_memory_fraction",
	"pinned_num_register_threads", "pinned_use_background_threads", "pinned_use_cuda_host_register",
	"release_lock_on_cudamalloc", "roundup_power2_divisions", "throw_on_cudamalloc_oom",
}

// NearestOption returns the option that shares the longest beginning with key, at
// least half of it, or "".
func NearestOption(key string) string {
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

// RoundupKeys returns the explicit keys of a list of divisions, as indexes of the
// table: 0 is 1 MiB. A single number for all has none.
func RoundupKeys(value string) []int {
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

// RoundupGaps returns the places between two keys with divisions that have none.
func RoundupGaps(keys []int, table [16]int) []int {
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
