package analyze

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// confOption is one key:value of the allocator's settings string.
type confOption struct{ key, value string }

// parseConf splits a settings string as PyTorch's lexer does: blanks are ignored,
// commas separate, a list stands in brackets. fault says what PyTorch would refuse
// and where reading ended; options hold what stands before it.
func parseConf(conf string) (options []confOption, fault string) {
	rest := strings.ReplaceAll(conf, " ", "")
	for rest != "" {
		end := strings.IndexAny(rest, ":,[]")
		if end <= 0 || rest[end] != ':' {
			word, _, _ := strings.Cut(rest, ",")
			return options, fmt.Sprintf("%q is not of the form option:value", word)
		}
		key := rest[:end]
		value, after, ok := cutValue(rest[end+1:])
		if !ok {
			return options, fmt.Sprintf("%s has no value, or a list without its end", key)
		}
		options = append(options, confOption{key, value})
		rest = after
	}
	return options, ""
}

// cutValue splits s after its first value and the comma that follows.
func cutValue(s string) (value, rest string, ok bool) {
	end := 0
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']') + 1
		if end == 0 {
			return "", "", false
		}
	}
	comma := strings.IndexByte(s[end:], ',')
	if comma < 0 {
		return s, "", s != ""
	}
	return s[:end+comma], s[end+comma+1:], end+comma > 0
}

// confOptions are the options of all releases up to 2.14, with what is wrong with a
// value: "" for nothing.
var confOptions = map[string]func(string) string{
	"backend":                              wantOneOf("native", "cudaMallocAsync", "hipMallocAsync"),
	"max_split_size_mb":                    wantMiB(20), // 21 up to torch 2.8, the large segment size from 2.11
	"max_non_split_rounding_mb":            wantMiB(20),
	"large_segment_size_mb":                wantMiB(11),
	"garbage_collection_threshold":         wantShare(false),
	"per_process_memory_fraction":          wantShare(true),
	"roundup_power2_divisions":             wantDivisions,
	"expandable_segments":                  wantBool,
	"release_lock_on_cudamalloc":           wantBool,
	"release_lock_on_hipmalloc":            wantBool,
	"throw_on_cudamalloc_oom":              wantBool,
	"graph_capture_record_stream_reuse":    wantBool,
	"expandable_segments_reserve":          wantAnything,
	"expandable_segments_reserve_by_class": wantAnything,
	"pinned_use_cuda_host_register":        wantBool,
	"pinned_use_hip_host_register":         wantBool,
	"pinned_num_register_threads":          wantThreads,
	"pinned_use_background_threads":        wantBool,
	"pinned_reserve_segment_size_mb":       wantMiB(1),
	"pinned_free_catch_all":                wantAnything,
	"pinned_max_round_threshold_mb":        wantMiB(0),
	"pinned_max_cached_size_mb":            wantMiB(0),
}

func wantAnything(string) string { return "" }

func wantBool(value string) string {
	return wantOneOf("True", "False")(value)
}

func wantOneOf(words ...string) func(string) string {
	return func(value string) string {
		if slices.Contains(words, value) {
			return ""
		}
		return "wants " + strings.Join(words, " or ") + ", written exactly so"
	}
}

func wantMiB(least int64) func(string) string {
	return func(value string) string {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return "wants a whole number of MiB, without a unit"
		}
		if n < least {
			return fmt.Sprintf("wants at least %d (MiB)", least)
		}
		return ""
	}
}

func wantShare(closed bool) func(string) string {
	return func(value string) string {
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case err == nil && x > 0 && x < 1, err == nil && closed && (x == 0 || x == 1):
			return ""
		case closed:
			return "wants a share from 0 to 1"
		}
		return "wants a share between 0 and 1, both excluded"
	}
}

func wantThreads(value string) string {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > 128 || bits.OnesCount64(n) != 1 {
		return "wants a power of two up to 128"
	}
	return ""
}

func wantDivisions(value string) string {
	_, err := parseDivisions(value)
	if err != nil {
		return err.Error()
	}
	return ""
}

// divisions is what a value of roundup_power2_divisions means. Its tables count powers
// of two from 1 MiB to 32 GiB, as snapshot.Settings does.
type divisions struct {
	table [16]int // from torch 2.9 on
	until [16]int // up to 2.8, where ">" overwrites the last key before it as well
	named []int   // indexes of the explicit keys
	list  bool
}

// parseDivisions reads a value as PyTorch does. Its errors say what the option wants.
func parseDivisions(value string) (divisions, error) {
	var d divisions
	inner, isList := strings.CutPrefix(value, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !isList {
		n, err := division(value)
		if err != nil || n == 0 {
			return d, errDivision
		}
		fill(&d.table, 0, n)
		d.until = d.table
		return d, nil
	}
	if !closed {
		return d, fmt.Errorf("wants a list of key:divisions in brackets")
	}
	d.list = true
	for item := range strings.SplitSeq(inner, ",") {
		if err := d.add(item); err != nil {
			return d, err
		}
	}
	return d, nil
}

var errDivision = fmt.Errorf("wants divisions that are a power of two")

// add reads one key:divisions of a list.
func (d *divisions) add(item string) error {
	key, value, _ := strings.Cut(item, ":")
	n, err := division(value)
	if err != nil {
		return err
	}
	if key == ">" {
		last := -1
		if len(d.named) > 0 {
			last = d.named[len(d.named)-1]
		}
		fill(&d.table, last+1, n)
		fill(&d.until, max(last, 0), n)
		return nil
	}
	mib, err := strconv.ParseUint(key, 10, 64)
	if err != nil || bits.OnesCount64(mib) != 1 {
		return fmt.Errorf("wants keys that are a power of two in MiB, or >")
	}
	at := min(bits.Len64(mib)-1, len(d.table)-1)
	for i := range at {
		if len(d.named) == 0 { // below the first key everything takes its value
			d.table[i], d.until[i] = n, n
		}
	}
	d.table[at], d.until[at] = n, n
	d.named = append(d.named, at)
	return nil
}

// division reads a number of divisions; 0 switches the rounding off.
func division(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n > 0 && bits.OnesCount64(n) != 1 {
		return 0, errDivision
	}
	return int(n), nil
}

func fill(table *[16]int, from, n int) {
	for i := from; i < len(table); i++ {
		table[i] = n
	}
}

// gaps returns the powers of two, as indexes, that lie between named keys, have no
// divisions, and have neighbours with some on both sides.
func (d *divisions) gaps() []int {
	if !d.list || len(d.named) < 2 {
		return nil
	}
	var found []int
	sorted := slices.Sorted(slices.Values(d.named))
	for k := 1; k < len(sorted); k++ {
		from, to := sorted[k-1], sorted[k]
		if d.table[from] <= 1 || d.table[to] <= 1 {
			continue
		}
		for i := from + 1; i < to; i++ {
			found = append(found, i)
		}
	}
	return found
}
