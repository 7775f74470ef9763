package tune

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ullage-dev/ullage/allocator"
)

// Options say how a Tuner works. The zero Options are good.
type Options struct {
	Workers  int              // goroutines; 0: as many as there are processors
	Progress func(events int) // is told of events that were replayed; called from any goroutine
	Stop     func() bool      // when it returns true, the call ends early with what it has
}

// Tuner tries settings on the programs of one job in one room.
type Tuner struct {
	Version   allocator.Version
	Programs  []*Program
	Room      Room
	AsSpelled bool                            // the recording's settings string gives what was in force at its end
	Recorded  Setting                         // of the first program
	addrs     map[*Program]map[int64][]uint64 // see addresses.go
	tight     int64                           // the limit that costs are compared under where the room has no bound; 0 while it is not known
	opt       Options
	count     Count
}

// Count is what the work of a Tuner came to.
type Count struct {
	Runs   atomic.Int64 // simulations
	Events atomic.Int64 // calls of the allocator in all of them
}

// New returns a Tuner for a release of PyTorch. There must be at least one program.
func New(v allocator.Version, programs []*Program, room Room, opt Options) *Tuner {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	t := &Tuner{Version: v, Programs: programs, Room: room, opt: opt, addrs: make(map[*Program]map[int64][]uint64)}
	t.Recorded, t.AsSpelled = RecordedSetting(v, programs[0].TL)
	for _, p := range programs {
		t.addrs[p] = t.likely(p)
	}
	return t
}

// Simulations returns how many runs were simulated so far, and how many calls of the
// allocator they made.
func (t *Tuner) Simulations() (runs, calls int64) {
	return t.count.Runs.Load(), t.count.Events.Load()
}

// Result is what a setting comes to.
type Result struct {
	Setting
	Recorded bool // these are the settings of the recording
	Runs     []Run
}

// Run is what a setting comes to for one program.
type Run struct {
	Outcome // in the Tuner's room
	Program *Program
	Config  allocator.Config
	Mode    Mode
	Spread  Spread

	// SmallestLimitBytes is the smallest limit under which the run lives as far as it was
	// recorded; 0 where that was not looked for. It is exact to ToleranceBytes.
	SmallestLimitBytes int64
	ToleranceBytes     int64
	AtLimit            Price // what living under it takes

	cost Cost
	anew int64 // the peak of reserved memory from a beginning that all settings share
}

// Price is what it takes to live under a limit.
type Price struct {
	Retries  int // releases of all cached memory
	Declined int // workspaces of convolutions that do not fit
}

// Spread is how far a result depends on what a recording does not determine: in what
// order the driver hands out addresses, and for a recording that begins in the middle
// of a run, how memory lay at its beginning.
type Spread struct {
	Runs     int // 0: not looked at
	Low      int64
	High     int64 // peaks of reserved memory
	Lives    int   // of Runs
	Same     bool  // all of them give the same in everything that is counted
	OfOrders int   // of Runs, those that differ in the order of addresses alone
}

// runners is a pool of runners, whose buffers are large.
var runners = sync.Pool{New: func() any { return new(runner) }}

// simulate runs one program under one setting, with the likely addresses.
func (t *Tuner) simulate(p *Program, s *Setting, room Room, mode Mode) Outcome {
	return t.simulateOn(p, s, room, mode, deviceOf(room, t.addrs[p]))
}

func (t *Tuner) simulateOn(p *Program, s *Setting, room Room, mode Mode, dev allocator.Device) Outcome {
	r := runners.Get().(*runner)
	defer runners.Put(r)
	out := r.run(p, room.config(s), dev, mode)
	t.count.Runs.Add(1)
	t.count.Events.Add(int64(r.done))
	if t.opt.Progress != nil {
		t.opt.Progress(r.done)
	}
	return out
}

// try runs one program under one setting in the room.
func (t *Tuner) try(p *Program, s *Setting) Run {
	r := Run{Program: p, Config: t.Room.config(s), Mode: t.mode(p, s)}
	r.Outcome = t.simulate(p, s, t.Room, r.Mode)
	r.cost, r.anew = costOf(&r.Outcome), r.PeakReserved
	if r.Mode == Warm {
		out := t.simulate(p, s, t.Room, Cold)
		r.anew = out.PeakReserved
	}
	return r
}

// mode is how the memory at the beginning of a program is best taken over: as it lies
// where the settings are those that made it so, else placed anew.
func (t *Tuner) mode(p *Program, s *Setting) Mode {
	switch {
	case len(p.start.segments) == 0:
		return FromFirst
	case same(&s.Config, &t.Recorded.Config):
		return Warm
	}
	return Cold
}

func (m Mode) other() Mode {
	if m == Warm {
		return Cold
	}
	return Warm
}

// orders are the orders of addresses beside the likely one.
var orders = []struct {
	order allocator.AddressOrder
	seed  uint64
}{{allocator.Ascending, 0}, {allocator.Descending, 0}, {allocator.Shuffled, 1}, {allocator.Shuffled, 2}}

// spread repeats a run in the other orders, and from the other beginning.
func (t *Tuner) spread(r *Run, s *Setting) {
	sp := Spread{Runs: 1, Low: r.PeakReserved, High: r.PeakReserved, OfOrders: 1, Same: true}
	add := func(o Outcome) {
		sp.Runs++
		sp.Same = sp.Same && o.Stats == r.Stats
		sp.Low, sp.High = min(sp.Low, o.PeakReserved), max(sp.High, o.PeakReserved)
		if o.Lives() {
			sp.Lives++
		}
	}
	if r.Lives() {
		sp.Lives++
	}
	for _, v := range orders {
		add(t.simulateOn(r.Program, s, t.Room, r.Mode, t.Room.device(v.order, v.seed)))
		sp.OfOrders++
	}
	if r.Mode != FromFirst {
		add(t.simulate(r.Program, s, t.Room, r.Mode.other()))
	}
	r.Spread = sp
}

// Try tries settings, and returns what each comes to, in the same order: with the
// spread and the smallest limit.
func (t *Tuner) Try(settings []Setting) []Result {
	results := t.fan(settings, func(r *Run, s *Setting) {
		t.spread(r, s)
		t.smallest(r, s, exactly)
	})
	return results
}

// fan tries every setting on every program, and more on each run, side by side.
func (t *Tuner) fan(settings []Setting, more func(*Run, *Setting)) []Result {
	results := make([]Result, len(settings))
	for i := range settings {
		results[i] = Result{Setting: settings[i], Runs: make([]Run, len(t.Programs))}
		results[i].Recorded = same(&settings[i].Config, &t.Recorded.Config)
	}
	t.each(len(settings)*len(t.Programs), func(k int) {
		i, j := k/len(t.Programs), k%len(t.Programs)
		results[i].Runs[j] = t.try(t.Programs[j], &settings[i])
		more(&results[i].Runs[j], &settings[i])
	})
	return results
}

// each calls f(0) … f(n-1) in as many goroutines as the options allow.
func (t *Tuner) each(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(t.opt.Workers, n) {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= n || t.stopped() {
					return
				}
				f(k)
			}
		})
	}
	wg.Wait()
}

func (t *Tuner) stopped() bool { return t.opt.Stop != nil && t.opt.Stop() }
