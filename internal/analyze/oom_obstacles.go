package analyze

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// obstacle is a line whose blocks share their segments with what was free for a
// request that failed.
type obstacle struct {
	name      string
	freeBytes int64 // free in those segments, shared evenly among the blocks of each
	segments  int
}

// maxObstacles is how many lines are named: most failures have one or two that matter.
const maxObstacles = 3

// obstacles names the lines whose blocks lie beside most of the free memory that could
// not serve a request for want of one piece.
func (x *Explanation) obstacles(o *OOM) []string {
	byName := make(map[string]*obstacle)
	s := x.TL.StateAt(o.Event)
	for n := range s.Segments {
		if g := &s.Segments[n]; g.Stream == o.Stream && g.Pool == o.Pool && g.Small == o.Small {
			x.addObstacles(g, byName)
		}
	}
	var list []*obstacle
	for _, v := range byName {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *obstacle) int {
		return cmp.Or(cmp.Compare(b.freeBytes, a.freeBytes), cmp.Compare(a.name, b.name))
	})
	var texts []string
	for _, v := range list[:min(len(list), maxObstacles)] {
		texts = append(texts, fmt.Sprintf("in the way: blocks of %s, with %s free beside them in %s", v.name, units.FormatBytes(v.freeBytes), units.FormatPlural(v.segments, "segment", "segments")))
	}
	return texts
}

// addObstacles shares what is free in one segment among the lines of its blocks.
func (x *Explanation) addObstacles(g *timeline.StateSegment, byName map[string]*obstacle) {
	var free int64
	blocks := make(map[string]int64)
	total := int64(0)
	for _, p := range g.Spans {
		if p.State == snapshot.Inactive {
			free += p.SizeBytes
			continue
		}
		blocks[x.Sites.Display(x.TL.Stack(p.Block))]++
		total++
	}
	if free == 0 {
		return
	}
	for name, n := range blocks {
		v := byName[name]
		if v == nil {
			v = &obstacle{name: name}
			byName[name] = v
		}
		v.freeBytes += free * n / total
		v.segments++
	}
}
