package tune

// What a search tries at most. Each candidate costs some seven to nine runs of the
// whole program, most of which end early: under a limit that is too small.
const (
	localRounds = 3
	localSeeds  = 2  // how many of the best are looked around
	maxLocal    = 16 // candidates beside the grid
	finalists   = 3
)

// Search tries the settings that might help, and those of the recording. It returns
// all, the best first.
func (t *Tuner) Search() []Result {
	seen := map[string]bool{t.Recorded.Conf: true}
	candidates, points := settings(t.Version, grid(t.Room.LimitBytes > 0), seen)
	at := map[string]point{}
	for i, p := range points {
		at[candidates[i].Conf] = p
	}
	results := t.roughly(append(candidates, t.Recorded))
	t.tight = leastLimit(results) / tightShare * (tightShare + 1)
	t.price(results)
	t.climb(&results, at, seen)
	t.finish(results)
	t.Rank(results)
	return results
}

// tightShare makes a tight room: a tenth more than the least that any setting needs.
const tightShare = 10

// roughly tries settings without the spread, and with limits that are near enough to
// rank them.
func (t *Tuner) roughly(s []Setting) []Result {
	return t.fan(s, func(r *Run, s *Setting) { t.smallest(r, s, roughly) })
}

// price finds out what settings cost in a tight room, where the room has no bound. One
// whose limit is not met there costs too much anyway.
func (t *Tuner) price(results []Result) {
	if t.Room.Bytes() > 0 || t.tight == 0 {
		return
	}
	t.each(len(results)*len(t.Programs), func(k int) {
		res := &results[k/len(t.Programs)]
		r := &res.Runs[k%len(t.Programs)]
		if r.cost = (Cost{}); r.SmallestLimitBytes > t.tight {
			return
		}
		out := t.simulate(r.Program, &res.Setting, t.Room.with(t.tight), r.Mode.anew())
		r.cost = costOf(&out)
	})
}

// climb looks around the best points, and around what is better there, as long as
// something is.
func (t *Tuner) climb(results *[]Result, at map[string]point, seen map[string]bool) {
	left := maxLocal
	for range localRounds {
		t.Rank(*results)
		best := (*results)[0].Conf
		var near []point
		for i, seeds := 0, 0; i < len(*results) && seeds < localSeeds; i++ {
			if p, ok := at[(*results)[i].Conf]; ok {
				near = append(near, p.neighbours()...)
				seeds++
			}
		}
		candidates, points := settings(t.Version, near, seen)
		n := min(len(candidates), left)
		if n == 0 || t.stopped() {
			return
		}
		left -= n
		for i := range n {
			at[candidates[i].Conf] = points[i]
		}
		more := t.roughly(candidates[:n])
		t.price(more)
		*results = append(*results, more...)
		if t.Rank(*results); (*results)[0].Conf == best {
			return
		}
	}
}

// finish looks closer at the best and at the recorded settings.
func (t *Tuner) finish(results []Result) {
	t.Rank(results)
	var closer []int
	for i := range results {
		if i < finalists || results[i].Recorded {
			closer = append(closer, i)
		}
	}
	t.each(len(closer)*len(t.Programs), func(k int) {
		res := &results[closer[k/len(t.Programs)]]
		r := &res.Runs[k%len(t.Programs)]
		t.smallest(r, &res.Setting, exactly)
		t.spread(r, &res.Setting)
	})
}

// runsEach is about how many whole programs' worth of calls a candidate costs: the run
// in the room, and halving down to the smallest limit, of which half the runs end early.
const runsEach = 7

// Estimate returns about how many calls of the allocator trying n settings takes, or a
// search where n is 0.
func Estimate(programs []*Program, n int) int64 {
	calls := int64(0)
	for _, p := range programs {
		calls += int64(len(p.ops))
	}
	if n == 0 {
		n = len(grid(true)) + finalists
	}
	return calls * runsEach * int64(n)
}
