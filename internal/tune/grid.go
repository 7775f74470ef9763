package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
)

// point is a setting as a point in the space that is searched. A field that is zero
// is left to PyTorch.
type point struct {
	expandable  bool
	splitMiB    int
	nonSplitMiB int
	roundup     int
	gcPercent   int
	largeMiB    int
}

// conf writes the point as it is exported.
func (p point) conf() string {
	var parts []string
	add := func(key string, n int) {
		if n > 0 {
			parts = append(parts, key+":"+strconv.Itoa(n))
		}
	}
	if p.expandable {
		parts = append(parts, "expandable_segments:True")
	}
	add("max_split_size_mb", p.splitMiB)
	add("max_non_split_rounding_mb", p.nonSplitMiB)
	if p.gcPercent > 0 {
		parts = append(parts, fmt.Sprintf("garbage_collection_threshold:%s", strconv.FormatFloat(float64(p.gcPercent)/100, 'f', -1, 64)))
	}
	add("roundup_power2_divisions", p.roundup)
	add("large_segment_size_mb", p.largeMiB)
	return strings.Join(parts, ",")
}

// grid is where a search begins: PyTorch's defaults, expandable segments, and each
// numeric option by itself at the sizes that people use, with the pairs that act on
// each other. max_split_size_mb is not tried beside expandable segments, where it can
// let reserved memory grow without bound (pytorch#193400), nor garbage collection
// without a memory fraction, where it does nothing.
func grid(fraction bool) []point {
	points := []point{{}, {expandable: true}}
	for _, n := range []int{4, 8, 16} {
		points = append(points, point{expandable: true, roundup: n}, point{roundup: n})
	}
	for _, mib := range []int{12, 40} {
		points = append(points, point{expandable: true, largeMiB: mib})
	}
	points = append(points, point{largeMiB: 64}, point{largeMiB: 128})
	for _, mib := range []int{20, 32, 64, 128, 256, 512} {
		points = append(points, point{splitMiB: mib})
	}
	points = append(points, point{splitMiB: 128, roundup: 8}, point{splitMiB: 512, roundup: 8})
	if fraction {
		for _, percent := range []int{60, 80} {
			points = append(points, point{gcPercent: percent}, point{gcPercent: percent, splitMiB: 128}, point{gcPercent: percent, splitMiB: 512})
		}
	}
	return points
}

// neighbours returns the points around p in each numeric option that it sets.
func (p point) neighbours() []point {
	var near []point
	vary := func(field func(*point) *int, values ...int) {
		for _, v := range values {
			q := p
			*field(&q) = v
			if v > 0 && !slices.Contains(near, q) {
				near = append(near, q)
			}
		}
	}
	if n := p.splitMiB; n > 0 {
		vary(func(q *point) *int { return &q.splitMiB }, n/2, n*3/4, n*3/2, n*2)
		if p.nonSplitMiB == 0 {
			vary(func(q *point) *int { return &q.nonSplitMiB }, 64)
		}
	}
	if n := p.nonSplitMiB; n > 0 {
		vary(func(q *point) *int { return &q.nonSplitMiB }, n/2, n*2)
	}
	if n := p.roundup; n > 0 {
		vary(func(q *point) *int { return &q.roundup }, n/2, n*2)
	}
	if n := p.gcPercent; n > 0 {
		vary(func(q *point) *int { return &q.gcPercent }, n-10, n-5, n+5, n+10)
	}
	if n := p.largeMiB; n > 0 {
		vary(func(q *point) *int { return &q.largeMiB }, n*3/4&^1, n*3/2&^1, n*2)
	}
	return near
}

// settings parses points; those that the release refuses are left out, and so are
// those whose string was seen before.
func settings(v allocator.Version, points []point, seen map[string]bool) (all []Setting, of []point) {
	for _, p := range points {
		conf := p.conf()
		if seen[conf] {
			continue
		}
		seen[conf] = true
		if s, err := ParseSetting(v, conf); err == nil {
			all = append(all, s)
			of = append(of, p)
		}
	}
	return all, of
}
