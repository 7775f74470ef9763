package tune

// limitStep is the granularity of limits: native segments and pages of the small pool
// are multiples of it.
const limitStep = 2 << 20

// Tolerances of a search for the smallest limit.
const (
	exactly tolerance = 0
	roughly tolerance = 50 // 2 %: enough to rank candidates in classes of 5 %
)

// tolerance is a part in so many of a limit; 0 is none.
type tolerance int64

func (x tolerance) of(limit int64) int64 {
	if x == exactly {
		return 0
	}
	return limit / int64(x)
}

// smallest finds the smallest limit under which a run lives, by halving: at each step
// the whole program is run. Lives and limits need not go together without exception
// (a retry at one place can spare one at another), so that a smaller limit than the
// one that is found may do in rare cases, and a larger one may not.
// A recording that begins in the middle of a run is taken from a cold start, since
// memory as it lay can be more than the limit.
func (t *Tuner) smallest(r *Run, s *Setting, within tolerance) {
	free := r.Outcome
	if r.Mode == Warm || !r.unhindered() {
		free = t.simulate(r.Program, s, t.Room.with(boundless), r.Mode.anew())
	}
	if !free.Lives() {
		return // no limit explains that: what is requested is more than any device has
	}
	low, high := t.bracket(r, s, &free)
	for high-low > max(limitStep, within.of(low)) && !t.stopped() {
		mid := (low + high) / 2 / limitStep * limitStep
		if mid == low {
			mid += limitStep
		}
		if t.livesIn(r, s, mid) {
			high = mid
		} else {
			low = mid
		}
	}
	r.SmallestLimitBytes, r.ToleranceBytes = high, high-low
}

// unhindered tells whether a run would have been the same without a limit: it never gave
// anything back.
func (r *Run) unhindered() bool { return r.Lives() && r.Calls.Frees+r.Calls.Unmaps == 0 }

// bracket returns a limit under which the run cannot live, and one under which it does.
// It goes up from what is alive at once, for a run that dies ends early, and most
// limits are near there. A bracket that was found before is used again.
func (t *Tuner) bracket(r *Run, s *Setting, free *Outcome) (low, high int64) {
	if r.SmallestLimitBytes > 0 {
		return r.SmallestLimitBytes - r.ToleranceBytes, r.SmallestLimitBytes
	}
	low = (free.PeakRequested - 1) / limitStep * limitStep // less than what is alive at once
	step := max(low/firstStep/limitStep, 1) * limitStep
	if t.mayNeedLess(r) {
		for down := step; low > 0 && t.livesIn(r, s, low) && !t.stopped(); down *= 2 {
			low = max(low-down, 0)
		}
	}
	enough := (free.PeakReserved + limitStep - 1) / limitStep * limitStep
	if n := t.Room.Bytes() / limitStep * limitStep; n > low && r.Lives() {
		enough = min(enough, n)
	}
	for ; !t.stopped(); step *= 2 {
		high = low + step
		if low < enough {
			high = min(high, enough) // for expandable segments more may be needed: see above
		}
		if t.livesIn(r, s, high) {
			break
		}
		low = high
	}
	return low, high
}

// mayNeedLess tells whether a run may live under a limit below what it has requested at
// once without one: convolutions do without workspaces that do not fit, and with
// expandable segments the limit is held against the size of a native segment, while what
// is mapped is whole pages, which can be more.
func (t *Tuner) mayNeedLess(r *Run) bool {
	return r.Program.Notes.Workspaces > 0 || t.Room.LimitBytes > 0 && r.Config.Expandable
}

// firstStep is the first step up, a part in so many: 2 %.
const firstStep = 50

// livesIn tells whether a run lives under a limit. The last that it does is the smallest
// that was tried so far.
func (t *Tuner) livesIn(r *Run, s *Setting, limit int64) bool {
	out := t.simulate(r.Program, s, t.Room.with(limit), r.Mode.anew())
	if out.Lives() {
		r.AtLimit = Price{out.Retries, out.Declined}
	}
	return out.Lives()
}

// anew is the mode in which limits are compared.
func (m Mode) anew() Mode {
	if m == Warm {
		return Cold
	}
	return m
}
