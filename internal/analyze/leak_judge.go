package analyze

import "slices"

// birth is the blocks that a step left behind at one site.
type birth struct {
	step, blocks int
	bytes        int64
}

// births counts survivors by the step that made them.
func (w *leakWindow) births(s *siteLives) []birth {
	var list []birth
	for _, i := range s.survivors {
		l := w.tl.Life(int(i))
		k := w.steps.Of(l.Alloc)
		if n := len(list); n == 0 || list[n-1].step != k {
			list = append(list, birth{step: k})
		}
		b := &list[len(list)-1]
		b.blocks++
		b.bytes += l.SizeBytes
	}
	return list
}

// growing is a site that leaves blocks behind steadily.
type growing struct {
	lives  *siteLives
	births []birth // those that count, from the first of the steady ones on
	until  int     // step before which births were judged
	bytes  int64   // of births
}

// judge tells whether a site leaks. Blocks that were held and then freed speak
// against it, unless blocks older than these live on, or nothing has been freed
// for much longer than any was held.
func (w *leakWindow) judge(s *siteLives) (growing, bool) {
	g := growing{lives: s, until: w.n - young}
	g.births = before(w.births(s), g.until)
	if len(s.freed) > 0 {
		maxAge, lastBorn, lastDied := s.heldFacts()
		if w.n-lastDied <= quietFactor*maxAge+quietFactor {
			g.until = lastBorn
			g.births = before(g.births, lastBorn)
			if !g.stillRises(w.n) {
				return g, false
			}
		}
	}
	if !g.steady() {
		return g, false
	}
	g.dropWarmUp()
	for _, b := range g.births {
		g.bytes += b.bytes
	}
	return g, true
}

// quietFactor is how many times longer than any block was ever held nothing must
// have been freed, for what is kept since to count as a leak. The collector's
// intervals grow, by less than a factor of two each.
const quietFactor = 3

func (s *siteLives) heldFacts() (maxAge, lastBorn, lastDied int) {
	for _, h := range s.freed {
		maxAge, lastBorn, lastDied = max(maxAge, int(h.died-h.born)), max(lastBorn, int(h.born)), max(lastDied, int(h.died))
	}
	return maxAge, lastBorn, lastDied
}

func before(list []birth, step int) []birth {
	for len(list) > 0 && list[len(list)-1].step >= step {
		list = list[:len(list)-1]
	}
	return list
}

func blocksOf(list []birth) int {
	n := 0
	for _, b := range list {
		n += b.blocks
	}
	return n
}

// steady tells whether births go on evenly to the end. If they do so only from some
// step on, earlier ones (set-up, warm-up) are dropped.
func (g *growing) steady() bool {
	if even3(g.births, g.until) {
		return true
	}
	g.births = g.births[afterLongestGap(g.births):]
	return even3(g.births, g.until)
}

// dropWarmUp leaves out the first step's births where they are far larger than the
// usual ones: a workspace that is taken once, or a state that is made then.
func (g *growing) dropWarmUp() {
	sizes := make([]int64, len(g.births))
	for i, b := range g.births {
		sizes[i] = b.bytes
	}
	slices.Sort(sizes)
	if len(g.births) > minBirths && g.births[0].bytes > warmUpFactor*sizes[len(sizes)/2] {
		g.births = g.births[1:]
	}
}

const warmUpFactor = 4

// rates returns what a site leaves behind a step: over the steps from the first
// birth, which is left out, to the last.
func (g *growing) rates() (bytes, blocks float64) {
	first, last := g.births[0], g.births[len(g.births)-1]
	span := float64(last.step - first.step)
	return float64(g.bytes-first.bytes) / span, float64(blocksOf(g.births)-first.blocks) / span
}

// stillRises tells whether the number of blocks that are held goes on growing in
// the last third: a buffer that evicts at random keeps old blocks, but stays level.
func (g *growing) stillRises(steps int) bool {
	if len(g.births) == 0 {
		return false
	}
	mid := steps - (steps-g.births[0].step)/3
	born, gone := 0, 0
	for _, b := range g.births {
		if b.step >= mid {
			born += b.blocks
		}
	}
	for _, h := range g.lives.freed {
		if int(h.born) < mid && int(h.died) >= mid {
			gone++
		}
	}
	return born > 0 && gone*2 <= born
}

// even3 tells whether each third of the steps from the first birth on has its share
// of births: a cache that meets new shapes ever more rarely fails in the last third.
// A few births can look even by chance, so that these must be regular too.
func even3(list []birth, until int) bool {
	if len(list) < minBirths || len(list) < 2*minBirths && !regular(list) {
		return false
	}
	since := list[0].step
	var thirds [3]int
	for _, b := range list {
		thirds[(b.step-since)*3/(until-since)]++
	}
	lo, hi := min(thirds[0], thirds[1], thirds[2]), max(thirds[0], thirds[1], thirds[2])
	return lo > 0 && lo*fairShare >= hi
}

// fairShare is by which factor thirds may differ.
const fairShare = 3

// regular tells whether no gap between births is more than twice another.
func regular(list []birth) bool {
	gaps := gapsOf(list)
	return slices.Max(gaps) <= 2*slices.Min(gaps)
}

func gapsOf(list []birth) []int {
	gaps := make([]int, 0, len(list))
	for i := range list[1:] {
		gaps = append(gaps, list[i+1].step-list[i].step)
	}
	return gaps
}

// afterLongestGap returns where births go on after the last gap that is far longer
// than the usual one.
func afterLongestGap(list []birth) int {
	if len(list) < 2 {
		return 0
	}
	gaps := gapsOf(list)
	usual := median(gaps)
	for i := len(gaps) - 1; i >= 0; i-- {
		if gaps[i] > 4*usual {
			return i + 1
		}
	}
	return 0
}

func median(list []int) int {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
