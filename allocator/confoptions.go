package allocator

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// confOption is an option of the configuration.
type confOption struct {
	since  Version
	device bool // read by the part of the parser that is CUDA's own (from 2.9)
	parse  func(p *confParser, key string)
}

// confOptions are all options. Those of pinned host memory are read and checked,
// but change nothing on a device.
var confOptions = map[string]confOption{
	"large_segment_size_mb":        {Version{2, 11}, false, (*confParser).largeSegment},
	"max_split_size_mb":            {Version{2, 0}, false, (*confParser).maxSplit},
	"max_non_split_rounding_mb":    {Version{2, 6}, false, (*confParser).maxNonSplitRounding},
	"garbage_collection_threshold": {Version{2, 0}, false, (*confParser).garbageCollection},
	"roundup_power2_divisions":     {Version{2, 0}, false, (*confParser).roundup},
	"expandable_segments": {Version{2, 1}, false, func(p *confParser, key string) {
		p.out.Config.Expandable = p.boolean(key)
	}},
	"pinned_use_background_threads": {Version{2, 6}, false, ignoreBool},

	"backend":                           {Version{2, 0}, true, (*confParser).backend},
	"release_lock_on_cudamalloc":        {Version{2, 2}, true, ignoreBool},
	"release_lock_on_hipmalloc":         {Version{2, 2}, true, ignoreBool},
	"pinned_use_cuda_host_register":     {Version{2, 2}, true, ignoreBool},
	"pinned_use_hip_host_register":      {Version{2, 2}, true, ignoreBool},
	"pinned_num_register_threads":       {Version{2, 2}, true, (*confParser).pinnedThreads},
	"graph_capture_record_stream_reuse": {Version{2, 9}, true, ignoreBool},
	"pinned_reserve_segment_size_mb":    {Version{2, 9}, true, ignoreNumber},
	"per_process_memory_fraction":       {Version{2, 10}, true, (*confParser).memoryFraction},
	"pinned_free_catch_all":             {Version{2, 12}, true, ignoreBool},
	"pinned_max_round_threshold_mb":     {Version{2, 12}, true, ignoreNumber},
	"pinned_max_cached_size_mb":         {Version{2, 12}, true, ignoreNumber},
	"throw_on_cudamalloc_oom": {Version{2, 12}, true, func(p *confParser, key string) {
		p.out.Config.RejectOverLimit = p.boolean(key)
	}},
	"expandable_segments_reserve":          {Version{2, 14}, true, (*confParser).reserve},
	"expandable_segments_reserve_by_class": {Version{2, 14}, true, (*confParser).reserveByClass},
}

func ignoreBool(p *confParser, key string)   { p.boolean(key) }
func ignoreNumber(p *confParser, key string) { p.number(key) }

// megabytes turns a number of MiB into bytes; what no device has is unlimited.
func megabytes(n uint64) int64 {
	if n >= uint64(unlimited)/mib {
		return unlimited
	}
	return int64(n) * mib
}

func isPowerOf2(n uint64) bool { return n > 0 && n&(n-1) == 0 }

func (p *confParser) largeSegment(key string) {
	n := p.number(key)
	if n <= minLargeBytes/mib {
		p.refuse("CachingAllocator option large_segment_size_mb must be > %d MB", minLargeBytes/mib)
	}
	p.out.Config.LargeSegmentBytes = megabytes(n)
}

func (p *confParser) maxSplit(key string) {
	p.out.Config.MaxSplitBytes = p.atLeastLarge(key)
}

func (p *confParser) maxNonSplitRounding(key string) {
	p.out.Config.MaxNonSplitRoundingBytes = p.atLeastLarge(key)
}

// atLeastLarge reads a size that must not be below that of a large segment;
// before 2.9 it must be above it.
func (p *confParser) atLeastLarge(key string) int64 {
	n := p.number(key)
	least := uint64(p.out.Config.largeSegmentBytes() / mib)
	switch {
	case p.legacy && n <= least:
		p.refuse("CachingAllocator option %s too small, must be > %d", key, least)
	case n < least:
		p.refuse("CachingAllocator option %s too small, must be >= %d", key, least)
	}
	return megabytes(n)
}

func (p *confParser) garbageCollection(key string) {
	f := p.decimal(key)
	switch {
	case f > 0 && f < 1:
	case !p.legacy:
		p.refuse("garbage_collect_threshold is invalid, set it in (0.0, 1.0)")
	case f >= 1:
		p.refuse("garbage_collect_threshold too big, set it 0.0~1.0")
	default:
		p.refuse("garbage_collect_threshold too small, set it 0.0~1.0")
	}
	p.out.Config.GCThreshold = f
}

func (p *confParser) memoryFraction(key string) {
	f := p.decimal(key)
	if !(f >= 0 && f <= 1) {
		p.refuse("per_process_memory_fraction is invalid, set it in [0.0, 1.0]")
	}
	p.out.MemoryFraction = f
}

func (p *confParser) backend(key string) {
	p.separator(":")
	if p.legacy && p.at+1 >= len(p.tokens) {
		p.fail("RuntimeError", "Error parsing backend value")
	}
	if p.err != nil {
		return
	}
	switch name := p.next(); name {
	case "native", "cudaMallocAsync":
		p.out.Backend = name
	default:
		p.refuse("Unknown allocator backend, options are native and cudaMallocAsync")
	}
}

// maxRegisterThreads is the most that pinned_num_register_threads may be.
const maxRegisterThreads = 128

func (p *confParser) pinnedThreads(key string) {
	n := p.number(key)
	got := ""
	if !p.legacy {
		got = fmt.Sprintf(", got %d", n)
	}
	switch {
	case !isPowerOf2(n):
		p.refuse("Number of register threads has to be power of 2%s", got)
	case n > maxRegisterThreads:
		p.refuse("Number of register threads should be less than or equal to %d%s", maxRegisterThreads, got)
	}
}

func (p *confParser) reserve(key string) {
	s := p.value(key)
	if gib, absolute := strings.CutSuffix(strings.ToUpper(s), "G"); absolute {
		if f, err := strconv.ParseFloat(gib, 64); err == nil && f > 0 && f < 1<<20 {
			p.out.Config.ReserveBytes = max(int64(f*(1<<30)), 1)
			return
		}
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1<<20 {
		p.out.ReserveFraction = f
		return
	}
	p.out.Warnings = append(p.out.Warnings, fmt.Sprintf("Ignoring invalid expandable-segment reserve value '%s' in PYTORCH_CUDA_ALLOC_CONF", s))
}

// reserveByClass passes over a list: which stream is of which class is told to
// PyTorch at run time, so that a simulation cannot know.
func (p *confParser) reserveByClass(string) { p.skip() }

func (p *confParser) roundup(key string) {
	s := p.value(key)
	if s == "[" {
		p.roundupList()
		return
	}
	n := p.toNumber(s)
	if !isPowerOf2(n) {
		p.refuse("For roundups, the divisions has to be power of 2")
	}
	for i := range p.out.Config.RoundupDivisions {
		p.out.Config.RoundupDivisions[i] = divisions(n)
	}
}

// roundupList reads [key:N,…,>:N]. All below the first key takes its value, and
// all above the last that of ">". Before 2.9, ">" replaced the last key's as well.
func (p *confParser) roundupList() {
	d := &p.out.Config.RoundupDivisions
	last, first := 0, true
	for p.at++; p.err == nil && p.at < len(p.tokens) && p.tokens[p.at] != "]"; p.at++ {
		key := p.tokens[p.at]
		n := p.roundupValue()
		if key == ">" {
			from := last
			if !p.legacy {
				from++
			}
			fill(d[min(from, len(d)):], n)
		} else {
			last = p.roundupKey(key)
			if first {
				fill(d[:last], n)
				first = false
			}
			d[last] = n
		}
		p.endOfItem()
	}
	if p.err == nil && p.at >= len(p.tokens) && !p.legacy {
		p.fail("RuntimeError", "Expected closing bracket ']' in ConfigTokenizer but reached end of config")
	}
}

// endOfItem passes over the comma after an item, if the list goes on.
func (p *confParser) endOfItem() {
	switch {
	case p.err != nil:
	case p.legacy && p.at+1 >= len(p.tokens):
		p.separator(",")
	case p.peek(1) != "]":
		p.separator(",")
	}
}

func (p *confParser) roundupValue() int {
	p.separator(":")
	if p.legacy && p.at+1 >= len(p.tokens) {
		p.fail("RuntimeError", "Error parsing roundup_power2_divisions value")
	}
	if p.err != nil {
		return 0
	}
	n := p.toNumber(p.next())
	zero := n == 0 && p.version.AtLeast(2, 4)
	if !zero && !isPowerOf2(n) {
		p.refuse("For roundups, the divisions has to be power of 2 or 0 to disable roundup")
	}
	return divisions(n)
}

// roundupKey returns the place of a key, a power of two of MiB, in the table.
func (p *confParser) roundupKey(key string) int {
	n := p.toNumber(key)
	if !isPowerOf2(n) {
		p.refuse("For roundups, the intervals have to be power of 2")
		return 0
	}
	return min(bits.Len64(n)-1, len(p.out.Config.RoundupDivisions)-1)
}

// divisions bounds a number of divisions to what can matter: the largest request
// has 2^50 bytes, and a step is never below 512.
func divisions(n uint64) int { return int(min(n, 1<<41)) }

func fill(d []int, n int) {
	for i := range d {
		d[i] = n
	}
}
