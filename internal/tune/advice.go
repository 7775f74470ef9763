package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// Verdict is what a search came to.
type Verdict string

// Verdicts.
const (
	Keep    Verdict = "keep"    // the recorded settings are as good as any
	Change  Verdict = "change"  // others need less, or cost less
	Rescue  Verdict = "rescue"  // the run does not fit with the recorded settings, and does with others
	Nothing Verdict = "nothing" // it fits with none
)

// Advice is what to do after a search.
type Advice struct {
	Verdict  Verdict
	Best     *Result
	Recorded *Result

	SavesBytes int64 // of the smallest limit, against the recorded settings
	Confidence rules.Confidence
	Why        []string // what the confidence rests on
	Risks      []string // of the best settings
}

// What counts as better: less depends on the order of addresses, and is not worth a
// change that has risks of its own.
const (
	worthLimit    = 50 // a part in so many of the recorded settings' limit: 2 %
	worthReserved = 10 // of their peak of reserved memory: 10 %
	worthBytes    = 64 << 20
)

// better tells whether a result is worth a change.
func better(a, was *Result) bool {
	limit, reserved := was.SmallestLimit()-a.SmallestLimit(), was.Reserves()-a.Reserves()
	return limit >= max(worthBytes, was.SmallestLimit()/worthLimit) ||
		reserved >= max(worthBytes, was.Reserves()/worthReserved) ||
		was.Cost().Retries > a.Cost().Retries
}

// Advise compares the best result of a search with that of the recorded settings.
func (t *Tuner) Advise(results []Result) Advice {
	a := Advice{Best: &results[0]}
	i := slices.IndexFunc(results, func(r Result) bool { return r.Conf == t.Recorded.Conf })
	a.Recorded = &results[max(i, 0)]
	a.SavesBytes = max(a.Recorded.SmallestLimit()-a.Best.SmallestLimit(), 0)
	switch {
	case !a.Best.Lives():
		a.Verdict = Nothing
	case !a.Recorded.Lives():
		a.Verdict = Rescue
	case better(a.Best, a.Recorded):
		a.Verdict = Change
	default:
		a.Verdict, a.Best = Keep, a.Recorded
	}
	a.Confidence, a.Why = t.confidence(a.Best, a.Recorded)
	a.Risks = risks(a.Best, t.Version)
	return a
}

// confidence tells how sure a prediction is, and why.
func (t *Tuner) confidence(best, recorded *Result) (c rules.Confidence, why []string) {
	c = rules.High
	lower := func(to rules.Confidence, format string, args ...any) {
		c = min(c, to)
		why = append(why, fmt.Sprintf(format, args...))
	}
	for i := range best.Runs {
		r := &best.Runs[i]
		if p := r.Program; r.Mode != FromFirst {
			lower(rules.Medium, "the recording begins in the middle of a run: how %s that were allocated there would have lain is not known", units.FormatBytes(p.TL.Start.Allocated))
		}
		if s := r.Spread; s.Runs > 0 && (s.High-s.Low)*equalShare > s.High {
			on := "the order of addresses"
			if s.Runs > s.OfOrders {
				on += " or on how memory lay at the beginning"
			}
			lower(rules.Medium, "the peak depends on %s: %s to %s", on, units.FormatBytes(s.Low), units.FormatBytes(s.High))
		}
		if s := r.Spread; s.Lives > 0 && s.Lives < s.Runs {
			lower(rules.Low, "it fits in %d of %d orders of addresses", s.Lives, s.Runs)
		}
		if p := r.Program; p.Died >= 0 {
			lower(rules.High, "the recording ends with the failure at e%d: it does not tell how much the run would have needed after it", p.Died)
		}
		if r.Declined > 0 {
			lower(rules.Medium, "%s not fit; how much the slower algorithms need is not recorded", units.FormatPlural(r.Declined, "workspace of a convolution does", "workspaces of convolutions do"))
		}
		if r.Rescued > 0 && r.Program.Died < 0 {
			lower(rules.Medium, "%s here, after which the program may go another way", units.FormatPlural(r.Rescued, "request that failed in the recording fits", "requests that failed in the recording fit"))
		}
	}
	for i := range recorded.Runs {
		if check := recorded.Runs[i].Check(); check.Comparable && !check.Equal() {
			lower(rules.Medium, "with the recorded settings the simulation comes to %s where the recording has %s", units.FormatBytes(check.SimulatedBytes), units.FormatBytes(check.RecordedBytes))
		}
	}
	if len(why) == 0 {
		why = append(why, "nothing that the recording does not determine changes the result")
	}
	return c, slices.Compact(why)
}

// Check compares the simulation of the recorded settings with the recording.
type Check struct {
	Comparable     bool // false where the recorded run's limit is not known, or another one is tried
	SimulatedBytes int64
	RecordedBytes  int64 // peaks of reserved memory
}

// Equal tells whether the peaks are the same to the byte.
func (c Check) Equal() bool { return c.SimulatedBytes == c.RecordedBytes }

// Check compares a run under the recorded settings with the recording. They must agree
// where the room did not come into play in either.
func (r *Run) Check() Check {
	p := r.Program
	free := r.Lives() && r.Retries == 0 && len(p.retries) == 0 && p.Notes.FailedBefore == 0
	return Check{Comparable: free, SimulatedBytes: r.PeakReserved, RecordedBytes: p.TL.Peak.Reserved.Bytes}
}

// risks names what settings can break or cost beside memory.
func risks(r *Result, v allocator.Version) []string {
	var list []string
	c := &r.Config
	if c.Expandable {
		list = append(list, "expandable segments need a driver and a build that support them (Linux; not every container or vGPU): PyTorch warns and goes on without where they do not")
		list = append(list, "handing tensors to other processes by CUDA IPC, and NCCL or RDMA buffers registered with the allocator, fail with them in some stacks: try one short run")
		if c.Behavior.NativePrivatePools {
			list = append(list, fmt.Sprintf("PyTorch %v keeps native segments for CUDA graphs", v))
		}
	}
	if c.MaxSplitBytes > 0 {
		list = append(list, "a split limit that suits these sizes can waste memory with others: check it again when shapes or batch change")
	}
	if slices.Max(c.RoundupDivisions[:]) > 1 {
		list = append(list, "rounding makes every request larger: peak allocated rises")
	}
	if c.GCThreshold > 0 {
		list = append(list, "garbage collection works only while a memory fraction is set (torch.cuda.set_per_process_memory_fraction)")
	}
	if r.Worst().Declined > 0 {
		list = append(list, "convolutions take slower algorithms where their workspace does not fit")
	}
	return list
}

// Export is the line that puts a configuration in force.
func Export(v allocator.Version, conf string) string {
	if conf == "" {
		return "unset " + Variable(v)
	}
	if strings.ContainsAny(conf, "[]> ") {
		conf = "'" + conf + "'" // a shell would make something of these
	}
	return fmt.Sprintf("export %s=%s", Variable(v), conf)
}

// Finding puts the advice in the form in which every analysis ends; ok is false where
// there is nothing to change.
func (t *Tuner) Finding(a Advice) (f rules.Finding, ok bool) {
	best, was := a.Best, a.Recorded
	f = rules.Finding{Rule: "conf/better-settings", Severity: rules.Info, Confidence: a.Confidence, Event: -1, Bytes: a.SavesBytes}
	switch a.Verdict {
	case Rescue:
		f.Severity = rules.Warning
		f.Title = fmt.Sprintf("with %s this run fits in %s, where the recorded settings run out of memory", name(best.Conf), units.FormatBytes(t.Room.Bytes()))
	case Change:
		f.Title = fmt.Sprintf("with %s this run needs %s, with the recorded settings %s", name(best.Conf), units.FormatBytes(best.SmallestLimit()), units.FormatBytes(was.SmallestLimit()))
	default:
		return rules.Finding{}, false
	}
	f.Evidence = []string{
		fmt.Sprintf("smallest limit under which the run lives: %s against %s", units.FormatBytes(best.SmallestLimit()), units.FormatBytes(was.SmallestLimit())),
		fmt.Sprintf("peak reserved: %s against %s", units.FormatBytes(best.Reserves()), units.FormatBytes(was.Reserves())),
		fmt.Sprintf("retries: %d against %d", best.Retries(), was.Retries()),
	}
	f.Remedies = []rules.Remedy{{Do: Export(t.Version, best.Conf), Effect: f.Title, Bytes: a.SavesBytes}}
	return rules.Complete(f), true
}

// name is how a configuration is called in a sentence.
func name(conf string) string {
	if conf == "" {
		return "PyTorch's default settings"
	}
	return conf
}
