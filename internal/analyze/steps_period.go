package analyze

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

const (
	minRounds    = 4   // of a period
	maxGroups    = 64  // counts that are looked at, those that most sites share first
	inTurn       = 95  // per cent of a site's allocations that must be the one of their round
	minCover     = 0.6 // share of all allocations that the rounds must span; the rest is set-up
	maxOdd       = 0.3 // share of them that may lie in rounds more than oddRound times the median long
	oddRound     = 4
	deeperLevel  = 0.02 // an inner loop is the step if memory falls as low at its rounds, within this share of the peak
	maxPerRound  = 12   // allocations a round of a site that has no partner
	perRoundEven = 1.5  // how far rounds of such a site may differ in length
)

// periodicSteps finds steps by what recurs: sites that allocate once in each round
// and take turns doing so. It is what is left for evaluation, serving, and
// recordings without annotations.
func periodicSteps(trace *allocTrace) Steps {
	p, ok := findPeriod(trace, 0, len(trace.event))
	if !ok {
		return Steps{Source: StepsUnknown, Why: "no annotation marks steps, and no allocation site recurs once a round"}
	}
	conf, turns := rules.Medium, fmt.Sprintf("%d sites allocate once in each round", p.support)
	if p.support < 2 {
		conf, turns = rules.Low, "one site allocates at even intervals"
	}
	return Steps{
		Source: StepsPeriodic, Name: p.line, Bounds: p.bounds, Tail: len(p.bounds) - 1, Confidence: conf,
		Why: fmt.Sprintf("%s, of which there are %d (from %s)", turns, len(p.bounds)-1, p.line),
	}
}

// stepPeriod is a regular recurrence of allocations.
type stepPeriod struct {
	bounds  []int // events at which rounds begin
	support int   // sites that allocate once a round
	line    string
}

// turns is a set of sites that allocate equally often, and how they take turns.
type turns struct {
	count  int
	anchor uint32 // the site that comes first
	rounds []int32
	sites  []uint32 // with count or count-1 allocations: a last round may be cut short

	support int
	cover   float64
	odd     float64
	lowest  uint32  // of the sites in turn, the one that allocates when least is live: the best begin of a round
	low     float64 // what is live then, on average
}

// findPeriod looks for a period in the allocations [from, to) of a trace. It takes
// three passes over them and none is longer than linear.
func findPeriod(t *allocTrace, from, to int) (stepPeriod, bool) {
	s := newTurnSearch(t, from, to)
	best := s.choose()
	if best == nil {
		return s.alone()
	}
	return s.rounds(best.lowest, 1, best.support), true
}

// turnSearch is the state of one search.
type turnSearch struct {
	t        *allocTrace
	from, to int
	count    []int32 // by stack; 0 for those that cannot mark a round
	first    []int32 // by stack: its first allocation
	groups   []*turns
	own      []int32 // by stack: its group, or -1
	above    []int32 // by stack: the group of one more allocation, or -1
}

func newTurnSearch(t *allocTrace, from, to int) *turnSearch {
	s := &turnSearch{t: t, from: from, to: to, count: make([]int32, len(t.same)), first: make([]int32, len(t.same))}
	for at := from; at < to; at++ {
		id := t.stack[at]
		if s.count[id] == 0 {
			s.first[id] = int32(at)
		}
		s.count[id]++
	}
	for id := range s.count {
		if id == 0 || t.sites.sites[id].marks.has(setUpMarks) {
			s.count[id] = 0 // loading a model repeats itself too
		}
	}
	s.group()
	s.takeTurns()
	return s
}

// group makes a group of every number of allocations that sites share.
func (s *turnSearch) group() {
	by := make(map[int32]*turns)
	for id, n := range s.count {
		if n < minRounds {
			continue
		}
		g := by[n]
		if g == nil {
			g = &turns{count: int(n), anchor: uint32(id)}
			by[n] = g
			s.groups = append(s.groups, g)
		}
		if s.first[id] < s.first[g.anchor] {
			g.anchor = uint32(id)
		}
		g.sites = append(g.sites, uint32(id))
	}
	slices.SortFunc(s.groups, func(a, b *turns) int {
		return cmp.Or(cmp.Compare(len(b.sites), len(a.sites)), cmp.Compare(a.count, b.count))
	})
	s.groups = s.groups[:min(len(s.groups), maxGroups)]
	s.assign()
}

func (s *turnSearch) assign() {
	at := make(map[int32]int32, len(s.groups))
	for i, g := range s.groups {
		at[int32(g.count)] = int32(i)
	}
	s.own, s.above = make([]int32, len(s.count)), make([]int32, len(s.count))
	for id, n := range s.count {
		s.own[id], s.above[id] = -1, -1
		if i, ok := at[n]; ok && n > 0 {
			s.own[id] = i
		}
		if i, ok := at[n+1]; ok && n > 0 {
			s.above[id] = i
			s.groups[i].sites = append(s.groups[i].sites, uint32(id))
		}
	}
}

// takeTurns counts how often every site allocates in its turn, and what is live then.
func (s *turnSearch) takeTurns() {
	n := len(s.count)
	met, hits, aboveHits, live := make([]int32, n), make([]int32, n), make([]int32, n), make([]float64, n)
	for at := s.from; at < s.to; at++ {
		id := s.t.stack[at]
		own, above := s.own[id], s.above[id]
		if own < 0 && above < 0 {
			continue
		}
		met[id]++
		live[id] += float64(s.t.level[at])
		if own >= 0 {
			g := s.groups[own]
			if g.anchor == id {
				g.rounds = append(g.rounds, int32(at))
			}
			if int(met[id]) == len(g.rounds) {
				hits[id]++
			}
		}
		if above >= 0 && int(met[id]) == len(s.groups[above].rounds) {
			aboveHits[id]++
		}
	}
	for i, g := range s.groups {
		for _, id := range g.sites {
			h := hits[id]
			if s.own[id] != int32(i) {
				h = aboveHits[id]
			}
			if int(h)*100 >= inTurn*int(s.count[id]) {
				g.add(id, live[id]/float64(s.count[id]), int(s.count[id]) == g.count)
			}
		}
		g.measure(s.to - s.from)
	}
}

// add counts a site that allocates in its turn.
func (g *turns) add(id uint32, live float64, full bool) {
	g.support++
	if full && (g.lowest == 0 || live < g.low) {
		g.lowest, g.low = id, live
	}
}

// measure tells how much of n allocations the rounds span, and how evenly.
func (g *turns) measure(n int) { g.cover, g.odd = evenness(g.rounds, n) }

// evenness returns the share of n allocations that rounds span, and the share of
// these that lies in rounds much longer than the median.
func evenness(rounds []int32, n int) (cover, odd float64) {
	if len(rounds) < 2 {
		return 0, 1
	}
	gaps := make([]int32, 0, len(rounds))
	for i := range rounds[1:] {
		gaps = append(gaps, rounds[i+1]-rounds[i])
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	median := sorted[len(sorted)/2]
	sum, long := int32(0), int32(0)
	for _, g := range gaps {
		sum += g
		if g > oddRound*median {
			long += g
		}
	}
	return float64(sum+median) / float64(n), float64(long) / float64(sum)
}

// choose returns the group whose rounds are the steps, or nil. It is the outermost
// loop, unless memory falls as low between the rounds of one inside it: batches
// are steps and not the epochs around them, while a request is one and not each
// token, since a request's cache lives across its tokens.
func (s *turnSearch) choose() *turns {
	fit := slices.DeleteFunc(slices.Clone(s.groups), func(g *turns) bool {
		return g.lowest == 0 || g.cover < minCover || g.odd > maxOdd
	})
	most := 0
	for _, g := range fit {
		most = max(most, g.support)
	}
	fit = slices.DeleteFunc(fit, func(g *turns) bool { return g.support*3 < most })
	if len(fit) == 0 {
		return nil
	}
	slices.SortFunc(fit, func(a, b *turns) int { return cmp.Compare(a.count, b.count) })
	best := fit[0]
	for _, g := range fit[1:] {
		switch {
		case g.count <= best.count+best.count/8+1: // the same loop, seen from sites that set-up or a cut round used once more
			if g.support > best.support {
				best = g
			}
		case g.support >= best.support && g.low <= best.low+deeperLevel*s.peak():
			best = g
		}
	}
	return best
}

func (s *turnSearch) peak() float64 {
	return float64(slices.Max(s.t.level[s.from:s.to]))
}

// alone handles a loop whose sites all allocate several times a round: every m-th
// allocation of a frequent one, if that is even. The evenest m is taken, the
// smallest of these.
func (s *turnSearch) alone() (stepPeriod, bool) {
	for _, g := range s.groups {
		if g.cover < minCover {
			continue
		}
		best, unevenness := 0, float64(perRoundEven)
		for m := 1; m <= maxPerRound && g.count/m >= minRounds; m++ {
			every := everyNth(g.rounds, m)
			cover, _ := evenness(every, s.to-s.from)
			if u := spread(every); cover >= minCover && u < unevenness*evener {
				best, unevenness = m, u
			}
		}
		if best > 0 {
			return s.rounds(g.anchor, best, 1), true
		}
	}
	return stepPeriod{}, false
}

// evener is by which factor rounds must be more even for a larger m to be preferred.
const evener = 0.9

func everyNth(list []int32, m int) []int32 {
	out := make([]int32, 0, len(list)/m+1)
	for i := 0; i < len(list); i += m {
		out = append(out, list[i])
	}
	return out
}

// spread returns by which factor rounds differ in length, the first left out: it
// holds warm-up.
func spread(rounds []int32) float64 {
	if len(rounds) < 3 {
		return perRoundEven
	}
	lo, hi := int32(1<<31-1), int32(0)
	for i := 1; i < len(rounds)-1; i++ {
		gap := rounds[i+1] - rounds[i]
		lo, hi = min(lo, gap), max(hi, gap)
	}
	return float64(hi) / float64(max(lo, 1))
}

// rounds returns the period that begins at every m-th allocation of a site.
func (s *turnSearch) rounds(site uint32, m, support int) stepPeriod {
	p := stepPeriod{support: support, line: s.t.sites.Line(snapshot.StackID(site))}
	n := 0
	for at := s.from; at < s.to; at++ {
		if s.t.stack[at] != site {
			continue
		}
		if n%m == 0 {
			p.bounds = append(p.bounds, int(s.t.event[at]))
		}
		n++
	}
	return p
}
