package analyze

import (
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

	SwellingBytesPerStep float64 // of blocks that are replaced by ever larger ones
}

// GrowingSite is memory that a place leaves behind step by step: one site, or several
// that grow in lockstep because one object holds them all.
type GrowingSite struct {
	Stack         snapshot.StackID   // the site that stands for it
	Stacks        []snapshot.StackID // all of its sites, the most bytes first
	FirstEvents   []int              // by site: allocation of the oldest block that it left behind
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
	if list, bytesPerStep := w.swelling(); len(list) > 0 {
		r.SwellingBytesPerStep = bytesPerStep
		r.Findings = append(r.Findings, w.swellingFinding(list, bytesPerStep))
	}
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
