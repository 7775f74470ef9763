package allocator

import "math/bits"

// Sizes fixed in every release of PyTorch since 1.13.
const (
	mib = 1 << 20

	minBlockBytes     = 512      // every block size is a multiple of it, unless roundup divisions are set
	smallRequestBytes = mib      // the largest rounded request that the small pool serves
	smallSegmentBytes = 2 * mib  // a native segment, or a page, of the small pool
	minLargeBytes     = 10 * mib // from here on a native segment is as large as its request
	segmentRoundBytes = 2 * mib  // such segments are rounded up to it
	defaultLargeBytes = 20 * mib // large_segment_size_mb before it could be set (torch 2.11)
)

// unlimited is a size no block reaches. It leaves room for adding to it.
const unlimited = int64(1) << 62

// Config is the allocator's settings as they take effect. The zero Config is
// PyTorch's default.
type Config struct {
	// MaxSplitBytes is max_split_size_mb: a block of at least this size is never
	// split and serves only requests of at least this size. 0 is unlimited.
	MaxSplitBytes int64

	// MaxNonSplitRoundingBytes is max_non_split_rounding_mb: how much larger than
	// the request a block may be that is too large to be split. 0 is
	// LargeSegmentBytes, the default of every release.
	MaxNonSplitRoundingBytes int64

	// LargeSegmentBytes is large_segment_size_mb: the segment for a request
	// between 1 and 10 MiB, and the page of a large expandable segment.
	// 0 is 20 MiB.
	LargeSegmentBytes int64

	// RoundupDivisions is roundup_power2_divisions by power of two from 1 MiB
	// to 32 GiB and above; requests below 1 MiB use the first. 0 and 1 leave the
	// rounding to 512 bytes.
	RoundupDivisions [16]int

	// Expandable is expandable_segments.
	Expandable bool

	// The rest matters to a Simulator alone.

	// LimitBytes is the memory fraction in bytes: what the allocator may reserve.
	// 0 is no limit.
	LimitBytes int64

	// GCThreshold is garbage_collection_threshold, a share of LimitBytes. 0 is
	// off, and it does nothing without a limit.
	GCThreshold float64

	// RejectOverLimit is throw_on_cudamalloc_oom: a segment that would exceed
	// LimitBytes fails at once, without releasing cached memory first.
	RejectOverLimit bool

	// ReserveBytes is the address space of one expandable segment
	// (expandable_segments_reserve). 0, and anything larger, is 9/8 of the device.
	ReserveBytes int64

	// Behavior is what differs between releases of PyTorch beside the settings.
	Behavior Behavior
}

// Behavior is what releases of PyTorch do differently under the same settings.
// The zero Behavior is the newest known release. ParseConfig sets it.
type Behavior struct {
	// NativePrivatePools: private pools never use expandable segments (up to 2.4).
	NativePrivatePools bool

	// UseMemPoolIsCapture: while any thread is in use_mem_pool, no request of the
	// device completes pending frees or releases cached memory (up to 2.12).
	UseMemPoolIsCapture bool

	// ReleaseActivePoolOnly: a request made in use_mem_pool releases nothing but
	// that pool (2.6 and 2.7).
	ReleaseActivePoolOnly bool

	// LateFallback: pools made with use_on_oom are tried after cached memory was
	// released (2.8 and 2.9), not before.
	LateFallback bool
}

// withDefaults returns c with every size in it filled in.
func (c Config) withDefaults() Config {
	if c.MaxSplitBytes <= 0 {
		c.MaxSplitBytes = unlimited
	}
	if c.LargeSegmentBytes <= 0 {
		c.LargeSegmentBytes = defaultLargeBytes
	}
	if c.GCThreshold <= 0 || c.LimitBytes <= 0 {
		c.GCThreshold = 0
	}
	if c.MaxNonSplitRoundingBytes <= 0 {
		c.MaxNonSplitRoundingBytes = c.LargeSegmentBytes
	}
	return c
}

// Round returns the size of the block that serves a request: the request rounded
// up to a multiple of 512 bytes, or with divisions to one of the power of two below
// it divided by them. Requests of at most 512 bytes a division are not divided.
func (c *Config) Round(requestedBytes int64) int64 {
	if requestedBytes < minBlockBytes {
		return minBlockBytes
	}
	n := uint64(requestedBytes)
	log := bits.Len64(n) - 1
	step := uint64(minBlockBytes)
	if d := uint64(c.RoundupDivisions[min(max(log-20, 0), 15)]); d > 1 && n > minBlockBytes*d {
		step = 1 << log / d
	}
	return int64((n + step - 1) / step * step)
}

// SegmentSize returns the size of the native segment that is got from the
// driver for a rounded request. An out-of-memory message names this size, not
// the request.
func (c *Config) SegmentSize(roundedBytes int64) int64 {
	switch {
	case roundedBytes <= smallRequestBytes:
		return smallSegmentBytes
	case roundedBytes < minLargeBytes:
		return c.largeSegmentBytes()
	}
	return (roundedBytes + segmentRoundBytes - 1) / segmentRoundBytes * segmentRoundBytes
}

func (c *Config) largeSegmentBytes() int64 {
	if c.LargeSegmentBytes > 0 {
		return c.LargeSegmentBytes
	}
	return defaultLargeBytes
}

// pageBytes is the granularity in which expandable segments grow and shrink.
func (c *Config) pageBytes(small bool) int64 {
	if small {
		return smallSegmentBytes
	}
	return c.largeSegmentBytes()
}
