package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Options says what to explain.
type Options struct {
	At, Since, Until When
	By               By
	Top              int     // rows of each list; 0 is 10
	CapacityBytes    int64   // of the device, where the caller knows it; else 0
	LimitBytes       int64   // what reserved memory was allowed to reach, where the caller knows it; else 0
	LeaseBytes       int64   // the lease that the limit is of: all that the job may take of the device; else 0
	Census           *Census // what the process itself said of what it held on the device, where it did
	OthersBytes      int64   // of other processes on the device when an allocation failed, where the caller knows it; else 0
}

// Explanation is everything that is known of one device of one recording.
type Explanation struct {
	TL    *timeline.Timeline
	Sites *Sites

	Verdict    Verdict
	Coverage   Coverage
	Window     *Window // nil where the whole recording was looked at
	Steps      Steps
	Peak       timeline.Peak // of the window
	Accounting Accounting
	Holders    *HolderReport
	Modules    []HolderGroup // the same by module
	Kept       *KeptReport   // nil where the process said nothing
	Leaks      LeakReport
	Fragmented Fragmented
	OOMs       OOMs
	Findings   []rules.Finding // the most severe first

	capBytes int64 // what reserved memory can grow to, by what is said of the device; 0 where unknown
}

// Window is the part of a recording that was looked at, both ends included.
type Window struct{ FromEvent, ToEvent int }

// Explain answers every question about one device. An error tells that a moment of
// opt is not in the recording.
func Explain(tl *timeline.Timeline, sites *Sites, opt Options) (*Explanation, error) {
	x := &Explanation{TL: tl, Sites: sites, Coverage: Cover(tl), OOMs: FindOOMs(tl, opt.OthersBytes), Steps: FindSteps(tl, sites)}
	if f := x.OOMs.Fatal; f != nil {
		f.Cap = f.Cap.told(opt.LimitBytes, opt.LeaseBytes)
	}
	m := moments{tl: tl, steps: x.Steps, oom: x.OOMs.Fatal}
	w, err := m.windowOf(opt.Since, opt.Until)
	if err != nil {
		return nil, err
	}
	x.Peak = peakIn(tl, w)
	at, err := m.at(opt.At, w, x.Peak)
	if err != nil {
		return nil, err
	}
	if !w.whole(tl) {
		x.Window = &Window{w.from, w.to}
		x.OOMs = x.OOMs.within(w)
	}
	x.account(at, opt)
	leaks := x.leakOptions(w, opt)
	x.capBytes = leaks.CapBytes
	x.Leaks = Leaks(tl, sites, x.stepsToJudge(w), leaks)
	if opt.Census != nil {
		x.Kept = Kept(tl, sites, opt.Census)
	}
	x.nameKeepers()
	x.Fragmented = findFragmentation(tl, sites, tl.StateAt(x.fragmentedAt()), w)
	x.collect(opt)
	x.Verdict = x.judge()
	return x, nil
}

// account takes the accounting and the holders at one event.
func (x *Explanation) account(at int, opt Options) {
	x.Accounting = Account(x.TL, x.TL.StateAt(at))
	held := NewHeld(x.TL, x.Sites, at)
	x.Holders = held.Report(HolderOptions{By: opt.By, Top: opt.Top})
	x.Modules = held.Groups(HolderOptions{By: ByModule, Top: opt.Top})
}

// expandable tells whether expandable segments were in force.
func (x *Explanation) expandable() bool {
	s := x.TL.Rec.Settings
	return s != nil && s.ExpandableSegments
}

func (x *Explanation) stepsToJudge(w window) Steps {
	if w.whole(x.TL) {
		return x.Steps
	}
	s, _ := stepsIn(x.Steps, w)
	return s
}

// leakOptions says what memory can grow to, and when the run died.
func (x *Explanation) leakOptions(w window, opt Options) LeakOptions {
	o := LeakOptions{CapBytes: cmp.Or(opt.LimitBytes, opt.CapacityBytes), DiedAt: -1}
	if f := x.OOMs.Fatal; f != nil && f.Event <= w.to {
		o.DiedAt = f.Event
		o.CapBytes = f.Cap.allowed()
	}
	return o
}

// fragmentedAt is the event at which fragmentation matters: the failure that ended
// the run, else the peak of reserved memory.
func (x *Explanation) fragmentedAt() int {
	if f := x.OOMs.Fatal; f != nil {
		return f.Event
	}
	return x.Peak.Reserved.Event
}

// collect brings all findings together, the most severe first.
func (x *Explanation) collect(opt Options) {
	set := settingsInForce(x.TL.Rec.Settings)
	add := func(list ...rules.Finding) {
		for _, f := range list {
			f = rules.Complete(f)
			set.adapt(&f)
			x.Findings = append(x.Findings, f)
		}
	}
	if f := x.OOMs.Fatal; f != nil && x.leakBehind(f) != nil { // what to mend comes before what it led to
		add(x.Leaks.Findings...)
		add(x.oomFindings()...)
	} else {
		add(x.oomFindings()...)
		add(x.Leaks.Findings...)
	}
	add(x.fragmentationFindings()...)
	add(x.peakFindings()...)
	add(x.settingsFindings(opt)...)
	add(x.coverageFindings()...)
	slices.SortStableFunc(x.Findings, func(a, b rules.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
}

func (x *Explanation) settingsFindings(opt Options) []rules.Finding {
	ev := SettingsEvidenceOf(x.TL)
	ev.CapacityBytes, ev.LimitBytes = opt.CapacityBytes, opt.LimitBytes
	if f := x.OOMs.Fatal; f != nil && f.Cap.Kind == FractionCap {
		ev.LimitBytes = cmp.Or(ev.LimitBytes, f.Cap.allowed())
	}
	if g := x.Fragmented.Growth; g.ReservedBytes > g.AllocatedPeakBytes {
		ev.FlatGrowthBytes = g.ReservedBytes - g.AllocatedPeakBytes
	}
	return Settings(x.TL.Rec.Settings, ev)
}

// stack returns a finding's stack.
func (x *Explanation) stack(id snapshot.StackID) []snapshot.Frame { return x.Sites.Frames(id) }

// finding returns the first finding of a rule, or nil.
func (x *Explanation) finding(rule string) *rules.Finding {
	for i := range x.Findings {
		if x.Findings[i].Rule == rule {
			return &x.Findings[i]
		}
	}
	return nil
}

// Seconds returns the time of event i from the first event, and false where events
// carry no time.
func (x *Explanation) Seconds(i int) (float64, bool) {
	e := x.TL.Dev.Events
	if i < 0 || i >= e.Len() || e.At(0).TimeUS == 0 {
		return 0, false
	}
	return float64(e.At(i).TimeUS-e.At(0).TimeUS) / 1e6, true
}
