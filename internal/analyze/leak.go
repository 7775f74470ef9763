package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Leaks are told by survival, not by the slope of what is allocated. In a leak the
// blocks of nearly every step live on to the end, while none of those that were
// kept as long has been freed. In a buffer the oldest blocks die as new ones come;
// a cache of a request dies with it; garbage in cycles dies in bursts; set-up and
// warm-up leave blocks in their own steps only. A slope shows none of that, and
// drowns in batches of varying size.

const (
	young     = 2 // the last steps are not judged: what they made may be in use still
	minBirths = 4 // steps that must have left blocks behind for a leak to be told from chance
	heldSteps = 2 // ends of steps that a block must live through to count as held
)

// LeakOptions is what Leaks needs to know beside the recording.
type LeakOptions struct {
	CapBytes int64 // what reserved memory can grow to; 0 where unknown
	DiedAt   int   // event of the out-of-memory error that ended the run, or -1
}

// LeakReport is what was found of memory that grows from step to step.
type LeakReport struct {
	Judged   int           // whole steps that were looked at
	Growing  []GrowingSite // the most bytes first
	Findings []rules.Finding
}

// GrowingSite is memory that a place leaves behind step by step: one site, or several
// that grow in lockstep because one object holds them all.
type GrowingSite struct {
	Stack         snapshot.StackID   // the site that stands for it
	Stacks        []snapshot.StackID // all of its sites, the most bytes first
	BytesPerStep  float64
	BlocksPerStep float64
	EverySteps    int   // 1 if each step leaves blocks, k if every k-th does
	SinceStep     int   // first step that left any
	Blocks        int   // live after the last whole step
	LiveBytes     int64 // of these
	PeakBytes     int64 // of these, what is live at the peak of allocated memory
	FirstEvent    int   // allocation of the oldest of these
	FillsAtStep   int   // step in which the cap is reached at this rate; -1 where there is no cap or no end
	Severity      rules.Severity
	Confidence    rules.Confidence
}

// Leaks looks for memory that grows step by step.
func Leaks(tl *timeline.Timeline, sites *Sites, steps Steps, opt LeakOptions) LeakReport {
	w := newLeakWindow(tl, sites, steps, opt)
	if w.n == 0 {
		return LeakReport{}
	}
	r := LeakReport{Judged: w.n}
	w.gather()
	for _, g := range w.lockstep() {
		r.Growing = append(r.Growing, g.GrowingSite)
		r.Findings = append(r.Findings, w.growingFinding(g))
	}
	r.Findings = append(r.Findings, w.swellingFindings()...)
	r.Findings = append(r.Findings, w.boundedFindings()...)
	if len(r.Growing) == 0 {
		r.Findings = append(r.Findings, w.shortFinding()...)
	}
	return r
}

// leakWindow is the whole steps of a run, up to its end or the error that ended it.
type leakWindow struct {
	tl    *timeline.Timeline
	sites *Sites
	steps Steps
	opt   LeakOptions

	bounds        []int // steps.Bounds up to the end of the window
	n             int   // whole steps
	end           int   // event: what is live before it survived
	wantBytes     int64 // request that ended the run
	diedWithBytes int64 // reserved then

	brief int // blocks that died in the step that made them
	lives []siteLives
	index []int32 // by canonical stack: 1 + its place in lives
}

func newLeakWindow(tl *timeline.Timeline, sites *Sites, steps Steps, opt LeakOptions) *leakWindow {
	w := &leakWindow{tl: tl, sites: sites, steps: steps, opt: opt, bounds: steps.Bounds, index: make([]int32, sites.Len())}
	if opt.DiedAt >= 0 {
		w.wantBytes, w.diedWithBytes = tl.Dev.Events.At(opt.DiedAt).SizeBytes, tl.TotalsAt(opt.DiedAt).Reserved
		for len(w.bounds) > 0 && w.bounds[len(w.bounds)-1] > opt.DiedAt {
			w.bounds = w.bounds[:len(w.bounds)-1]
		}
	}
	if len(w.bounds) < 2 {
		return w
	}
	w.n = len(w.bounds) - 1
	w.end = w.bounds[w.n]
	return w
}

// siteLives is what became of the blocks of one site that outlived their step.
type siteLives struct {
	stack     snapshot.StackID
	survivors []int32   // blocks that are live at the end, in order of allocation
	freed     []held    // blocks that were held for heldSteps and then freed
	carried   []carried // bytes that were live at the end of the step that made them
}

// held is a block that was held across steps and then freed.
type held struct {
	born, died int32 // steps
	block      int32
}

// carried is what one step left to the next.
type carried struct {
	step  int32
	bytes int64
}

// gather passes over all blocks once. Most die in the step that made them and cost
// a comparison.
func (w *leakWindow) gather() {
	k := 0
	for i := range w.tl.NumBlocks() {
		l := w.tl.Life(i)
		if l.Alloc < w.bounds[0] {
			continue
		}
		if l.Alloc >= w.end {
			break
		}
		for l.Alloc >= w.bounds[k+1] {
			k++
		}
		if l.FreeRequested < w.bounds[k+1] {
			w.brief++
			continue
		}
		s := w.livesOf(w.tl.Stack(i))
		s.carry(k, l.SizeBytes)
		switch {
		case l.FreeRequested >= w.end:
			s.survivors = append(s.survivors, int32(i))
		case l.FreeRequested >= w.bounds[k+heldSteps]:
			s.freed = append(s.freed, held{int32(k), int32(w.steps.Of(l.FreeRequested)), int32(i)})
		}
	}
}

func (s *siteLives) carry(step int, bytes int64) {
	if n := len(s.carried); n > 0 && s.carried[n-1].step == int32(step) {
		s.carried[n-1].bytes += bytes
		return
	}
	s.carried = append(s.carried, carried{int32(step), bytes})
}

func (w *leakWindow) livesOf(id snapshot.StackID) *siteLives {
	id = w.sites.At(id).Same
	if w.index[id] == 0 {
		w.lives = append(w.lives, siteLives{stack: id})
		w.index[id] = int32(len(w.lives))
	}
	return &w.lives[w.index[id]-1]
}

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

// lockstepGroup is sites that leave blocks behind in the same steps.
type lockstepGroup struct {
	GrowingSite
	sites []growing // the most bytes first
}

// lockstep joins sites whose blocks are born in the same steps: one object that is
// kept, a loss with its graph, holds blocks of many sites.
func (w *leakWindow) lockstep() []lockstepGroup {
	var list []growing
	for i := range w.lives {
		if g, ok := w.judge(&w.lives[i]); ok {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b growing) int { return cmp.Compare(b.bytes, a.bytes) })
	var groups []lockstepGroup
	for _, g := range list {
		i := slices.IndexFunc(groups, func(o lockstepGroup) bool { return sameSteps(o.sites[0].births, g.births) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, lockstepGroup{})
		}
		groups[i].sites = append(groups[i].sites, g)
	}
	for i := range groups {
		w.measure(&groups[i])
	}
	slices.SortStableFunc(groups, func(a, b lockstepGroup) int { return cmp.Compare(b.LiveBytes, a.LiveBytes) })
	return groups
}

// sameSteps tells whether two lists of births share four fifths of their steps.
// Where blocks are left only now and then, the next step counts as the same: what
// was made before an optimizer's step and after it lies in two.
func sameSteps(a, b []birth) bool {
	slack := 0
	if gap := a[len(a)-1].step - a[0].step; gap > 2*len(a) {
		slack = 1
	}
	both, i := 0, 0
	for _, x := range a {
		for i < len(b) && b[i].step < x.step-slack {
			i++
		}
		if i < len(b) && b[i].step <= x.step+slack {
			both++
		}
	}
	return both*5 >= (len(a)+len(b)-both)*4
}

// measure fills in the figures of a group.
func (w *leakWindow) measure(g *lockstepGroup) {
	first := g.sites[0]
	g.SinceStep, g.FirstEvent, g.EverySteps, g.FillsAtStep = first.births[0].step, timeline.Never, 1, -1
	if gaps := len(first.births) - 1; gaps > 0 {
		g.EverySteps = max(1, (first.births[gaps].step-g.SinceStep+gaps/2)/gaps)
	}
	peak := w.tl.Peak.Allocated.Event
	for _, s := range g.sites {
		g.Stacks = append(g.Stacks, s.lives.stack)
		bytes, blocks := s.rates()
		g.BytesPerStep += bytes
		g.BlocksPerStep += blocks
		for _, i := range s.lives.survivors {
			l := w.tl.Life(int(i))
			if w.steps.Of(l.Alloc) < s.births[0].step {
				continue
			}
			g.Blocks++
			g.LiveBytes += l.SizeBytes
			g.FirstEvent = min(g.FirstEvent, l.Alloc)
			if l.LiveAfter(peak) {
				g.PeakBytes += l.SizeBytes
			}
		}
	}
	g.Stack = w.representative(g)
	g.FillsAtStep = w.fillsAt(g.BytesPerStep)
	g.Severity, g.Confidence = w.grade(g)
}

// representative picks the site that stands for a group: the one with the most bytes
// of those that lead to the user's own code.
func (w *leakWindow) representative(g *lockstepGroup) snapshot.StackID {
	for _, id := range g.Stacks {
		if w.sites.At(id).User >= 0 {
			return id
		}
	}
	return g.Stacks[0]
}

// fillsAt returns the step in which the cap is reached, if the peak of a step goes
// on growing at this rate.
func (w *leakWindow) fillsAt(bytesPerStep float64) int {
	room := float64(w.opt.CapBytes - w.tl.Peak.Allocated.Bytes)
	if w.opt.CapBytes <= 0 || bytesPerStep <= 0 || room/bytesPerStep > 1e9 {
		return -1
	}
	return w.n + int(max(room, 0)/bytesPerStep)
}
