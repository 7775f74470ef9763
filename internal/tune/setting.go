package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
)

// Setting is a configuration of the allocator to try.
type Setting struct {
	Conf string // as it is exported
	allocator.Settings
}

// AsyncError is a configuration that hands all memory to the driver's own pool.
type AsyncError struct{ Conf string }

func (e *AsyncError) Error() string {
	return fmt.Sprintf("%q: backend:cudaMallocAsync gives every request to the driver's pool, which no recording shows and no simulation here follows", e.Conf)
}

// Hint says what to do.
func (e *AsyncError) Hint() string { return "try settings of the native backend" }

// ParseSetting reads a configuration as the given release of PyTorch does. An error is
// an *AsyncError, or an *allocator.ConfigError with PyTorch's own reason.
func ParseSetting(v allocator.Version, conf string) (Setting, error) {
	s, err := allocator.ParseConfig(v, conf)
	if err != nil {
		return Setting{}, err
	}
	if s.Backend != "native" {
		return Setting{}, &AsyncError{conf}
	}
	return Setting{conf, *s}, nil
}

// RecordedSetting returns the configuration that a recording was made under. same is
// false where the string of the recording does not give what was in force at its end
// (it was changed at run time, or read by another release): the setting then spells
// out what was in force.
func RecordedSetting(v allocator.Version, tl *timeline.Timeline) (s Setting, same bool) {
	conf := ""
	if r := tl.Rec.Settings; r != nil {
		conf = r.Conf
	}
	if s, err := ParseSetting(v, conf); err == nil && matches(&s.Config, tl) {
		return s, true
	}
	s, err := ParseSetting(v, spell(tl))
	if err != nil { // nothing that this release accepts gives what was in force
		s, _ = ParseSetting(v, "")
		s.Conf = spell(tl)
	}
	force(&s.Config, tl)
	return s, false
}

// force puts into c what a recording says was in force.
func force(c *allocator.Config, tl *timeline.Timeline) {
	c.MaxSplitBytes, c.Expandable, c.RoundupDivisions = tl.Config.MaxSplitBytes, tl.Config.Expandable, tl.Config.RoundupDivisions
	if r := tl.Rec.Settings; r != nil {
		c.GCThreshold = r.GCThreshold
	}
}

// matches tells whether c is what a recording says was in force.
func matches(c *allocator.Config, tl *timeline.Timeline) bool {
	was := *c
	force(&was, tl)
	return same(c, &was)
}

// same tells whether two configurations act alike, apart from limits and releases.
func same(a, b *allocator.Config) bool {
	return filled(a) == filled(b) && math.Abs(a.GCThreshold-b.GCThreshold) < 1e-6 // torch keeps it as it was parsed, to six digits
}

// filled returns what decides which block a request gets, defaults filled in.
func filled(c *allocator.Config) allocator.Config {
	f := allocator.Config{
		MaxSplitBytes:            max(c.MaxSplitBytes, 0),
		LargeSegmentBytes:        c.SegmentSize(smallestLarge),
		MaxNonSplitRoundingBytes: c.MaxNonSplitRoundingBytes,
		RoundupDivisions:         c.RoundupDivisions,
		Expandable:               c.Expandable,
		RejectOverLimit:          c.RejectOverLimit,
	}
	if f.MaxNonSplitRoundingBytes == 0 || f.MaxSplitBytes == 0 {
		f.MaxNonSplitRoundingBytes = f.LargeSegmentBytes
	}
	for i, n := range f.RoundupDivisions {
		f.RoundupDivisions[i] = max(n, 1) // 0 and 1 both leave the rounding to 512 bytes
	}
	return f
}

// smallestLarge is a request that gets a segment of large_segment_size_mb.
const smallestLarge = 1<<20 + 512

// spell writes what was in force at the end of a recording as a configuration.
func spell(tl *timeline.Timeline) string {
	r := tl.Rec.Settings
	if r == nil {
		return ""
	}
	var parts []string
	if r.ExpandableSegments {
		parts = append(parts, "expandable_segments:True")
	}
	if r.MaxSplitBytes > 0 {
		parts = append(parts, fmt.Sprintf("max_split_size_mb:%d", r.MaxSplitBytes>>20))
	}
	if r.GCThreshold > 0 {
		parts = append(parts, "garbage_collection_threshold:"+strconv.FormatFloat(r.GCThreshold, 'g', 6, 64))
	}
	if d := r.RoundupDivisions; slices.Max(d[:]) > 1 {
		parts = append(parts, "roundup_power2_divisions:"+spellRounding(d))
	}
	return strings.Join(parts, ",")
}

// spellRounding writes a table of divisions, every power by itself.
func spellRounding(d [16]int) string {
	if slices.Min(d[:]) == slices.Max(d[:]) {
		return strconv.Itoa(d[0])
	}
	items := make([]string, len(d))
	for i, n := range d {
		items[i] = fmt.Sprintf("%d:%d", 1<<i, max(n, 1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// Variable is the environment variable that a release reads its configuration from.
// Releases 2.9 and 2.10 know the new name, but 2.9.1 was seen to pass over
// expandable_segments in it (pytorch#183387), so that they get the old one.
func Variable(v allocator.Version) string {
	if v.AtLeast(2, 11) {
		return "PYTORCH_ALLOC_CONF"
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}
