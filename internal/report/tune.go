package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/tune"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// Tuning is what the command tune found.
type Tuning struct {
	Tuner    *tune.Tuner
	Torch    tune.Torch
	Results  []tune.Result // in the order asked; of a search, the best first
	Advice   *tune.Advice  // of a search
	Findings []rules.Finding
}

// shownResults is how many results of a search are printed; the recorded settings
// always are.
const shownResults = 8

// Tune prints a tuning: the answer first, then what it rests on.
func Tune(w io.Writer, l term.Look, v *Tuning, markdown bool) error {
	p := newPage(l, markdown)
	p.title(v.title())
	p.strong(v.style(), v.answer())
	p.tuneInput(v)
	p.tuneResults(v)
	p.tuneDetails(v)
	p.tuneAdvice(v)
	_, err := io.WriteString(w, p.String())
	return err
}

func (v *Tuning) title() string {
	first := v.Tuner.Programs[0]
	name := first.TL.Rec.Source.Name + ", " + DeviceName(first.TL.Dev)
	if n := len(v.Tuner.Programs); n > 1 {
		name += fmt.Sprintf(", and %d more: one setting for all, judged by the one that needs the most", n-1)
	}
	return name
}

func (v *Tuning) style() term.Style {
	if v.Advice == nil {
		return term.Bold
	}
	return map[tune.Verdict]term.Style{tune.Keep: term.Green, tune.Change: term.Yellow, tune.Rescue: term.Yellow, tune.Nothing: term.Red}[v.Advice.Verdict]
}

// answer is the result in a sentence or two.
func (v *Tuning) answer() string {
	text := v.verdict()
	for _, p := range v.Tuner.Programs {
		if s := p.TL.Start; s.Reserved > 0 {
			return text + fmt.Sprintf(" This is about the recorded part alone: it begins in the middle of the run, with %s reserved for %s that were allocated.",
				units.FormatBytes(s.Reserved), units.FormatBytes(s.Allocated))
		}
	}
	return text
}

func (v *Tuning) verdict() string {
	a := v.Advice
	if a == nil {
		return v.comparison()
	}
	best, was := a.Best, a.Recorded
	switch a.Verdict {
	case tune.Rescue:
		if best.Worst().Program.Died >= 0 {
			return fmt.Sprintf("With %s the request that ended this run fits in %s, with %s to spare. What would have followed is not recorded.",
				ConfName(best.Conf), units.FormatBytes(v.Tuner.Room.Bytes()), units.FormatBytes(v.Tuner.Room.Bytes()-best.PeakReserved()))
		}
		return fmt.Sprintf("With %s this run fits in %s, where the recorded settings run out of memory. It needs %s.",
			ConfName(best.Conf), units.FormatBytes(v.Tuner.Room.Bytes()), units.FormatBytes(best.SmallestLimit()))
	case tune.Change:
		text := fmt.Sprintf("With %s this run lives in %s; as recorded it needs %s.", ConfName(best.Conf), units.FormatBytes(best.SmallestLimit()), units.FormatBytes(was.SmallestLimit()))
		if was.Retries() > best.Retries() {
			text += fmt.Sprintf(" Retries in the room there is: %d instead of %d.", best.Retries(), was.Retries())
		}
		return text
	case tune.Nothing:
		return fmt.Sprintf("No settings make this run fit in %s. The least that it needs is %s, with %s.",
			units.FormatBytes(v.Tuner.Room.Bytes()), units.FormatBytes(best.SmallestLimit()), ConfName(best.Conf))
	}
	return fmt.Sprintf("Your settings are already best: %s. The run needs %s with them, and noticeably less with none of the others that were tried (%d).",
		ConfName(was.Conf), units.FormatBytes(was.SmallestLimit()), len(v.Results)-1)
}

// comparison is the answer where settings were given.
func (v *Tuning) comparison() string {
	var parts []string
	for i := range v.Results {
		r := &v.Results[i]
		text := fmt.Sprintf("%s: reserves %s", capital(ConfName(r.Conf)), units.FormatBytes(r.PeakReserved()))
		if f := r.Worst().Failed; f != nil {
			text = fmt.Sprintf("%s: out of memory at e%d", capital(ConfName(r.Conf)), f.Event)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + "."
}

// ConfName is how a configuration is called in a sentence.
func ConfName(conf string) string {
	if conf == "" {
		return "PyTorch's defaults"
	}
	return conf
}

func (p *page) tuneInput(v *Tuning) {
	p.heading("What was replayed")
	for _, g := range v.Tuner.Programs {
		p.text(2, "- "+programText(g))
	}
	p.text(2, "- Recorded under: "+v.recordedText()+".")
	p.text(2, "- "+torchText(v.Torch))
	p.text(2, "- "+roomText(v.Tuner.Room))
	if c := v.check(); c != "" {
		p.text(2, "- "+c)
	}
	runs, calls := v.Tuner.Simulations()
	p.text(2, fmt.Sprintf("- %s runs were simulated, %s calls of the allocator in all.", units.FormatCount(runs), units.FormatCount(calls)))
}

func (v *Tuning) recordedText() string {
	text := ConfName(v.Tuner.Recorded.Conf)
	if !v.Tuner.AsSpelled {
		text += " (what was in force at its end; the string it was started with says otherwise)"
	}
	return text
}

func programText(g *tune.Program) string {
	n := g.Notes
	parts := []string{fmt.Sprintf("%s, %s: %s calls", g.TL.Rec.Source.Name, DeviceName(g.TL.Dev), units.FormatCount(int64(g.Len())))}
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, units.FormatCount(int64(n))+" "+map[bool]string{true: one, false: many}[n == 1])
		}
	}
	add(n.EmptyCaches, "empty_cache inferred from what was given back", "empty_cache inferred from what was given back")
	add(n.DeferredFrees, "free that waited for a stream", "frees that waited for a stream")
	add(n.PrivatePools, "private pool", "private pools")
	add(n.FailedBefore, "request that failed when it was recorded", "requests that failed when it was recorded")
	add(n.Odd, "inconsistent event left out", "inconsistent events left out")
	if b := g.TL.Start.Allocated; b > 0 {
		parts = append(parts, fmt.Sprintf("begins with %s allocated, of which only the size is known", units.FormatBytes(b)))
	}
	if g.Died >= 0 {
		parts = append(parts, fmt.Sprintf("ends with the failure at e%d: what would have followed is unknown", g.Died))
	}
	return strings.Join(parts, "; ") + "."
}

func torchText(t tune.Torch) string {
	text := fmt.Sprintf("PyTorch %v is simulated, as asked.", t.Version)
	if !t.Given {
		text = fmt.Sprintf("PyTorch %v is assumed, the newest that is known", t.Version)
		if t.Why != "" {
			text = fmt.Sprintf("PyTorch %v is assumed: the newest that can have made the recording (%s)", t.Version, t.Why)
		}
		text += "; a recording does not name its release, --torch does."
	}
	if t.Contradicted() {
		text += fmt.Sprintf(" The recording itself looks like one of %v to %v.", t.Oldest, t.Newest)
	}
	return text
}

func roomText(r tune.Room) string {
	n := units.FormatBytes(r.Bytes())
	switch r.Source {
	case tune.Given:
		text := "Room: " + n
		if r.LimitBytes > 0 && r.LimitBytes == r.Bytes() {
			return text + ", a memory fraction."
		}
		return text + fmt.Sprintf(": the device's %s less %s for the CUDA context and libraries.", units.FormatBytes(r.DeviceBytes), units.FormatBytes(tune.ContextBytes))
	case tune.FromFailure:
		return "Room: " + n + ", from the request that failed in the recording; --limit and --device-memory try others."
	case tune.FromRetries:
		return "Room: " + n + " at least, from memory that was released for a request in the recording; --limit and --device-memory try others."
	}
	return "Room: without bound. --limit or --device-memory tell of retries and failures on your card."
}

// check tells how the simulation of the recorded settings compares with the recording.
func (v *Tuning) check() string {
	for i := range v.Results {
		if !v.Results[i].Recorded {
			continue
		}
		c := v.Results[i].Runs[0].Check()
		switch {
		case !c.Comparable:
		case c.Equal():
			return fmt.Sprintf("Check: with the recorded settings the simulation comes to the recorded peak, %s, to the byte.", units.FormatBytes(c.RecordedBytes))
		default:
			return fmt.Sprintf("Check: with the recorded settings the simulation comes to %s, the recording has %s.", units.FormatBytes(c.SimulatedBytes), units.FormatBytes(c.RecordedBytes))
		}
	}
	return ""
}

func (p *page) tuneResults(v *Tuning) {
	head := "Settings, as asked"
	if v.Advice != nil {
		head = "Settings, best first"
	}
	p.heading(head)
	g := newGrid(">needs", ">reserved", ">allocated", ">frag", ">retries", ">calls", ">stall", "settings")
	g.head = true
	for _, i := range v.Shown() {
		g.row(resultRow(&v.Results[i])...)
	}
	p.grid(g)
	if n := len(v.Results) - len(v.Shown()); n > 0 {
		p.text(2, fmt.Sprintf("%d more were tried; --json has them all.", n))
	}
	p.text(2, "needs: the smallest limit under which the run lives. reserved, allocated: peaks in the room there is. frag: 1 - peak active / peak reserved. calls: of the driver, and their stall as measured on an idle H200; a cudaFree also waits for what is queued.")
}

// Shown returns the places in Results of those to print: those that were asked for; of a search the
// best with each set of options, the recorded settings and PyTorch's defaults. One that
// changes nothing against a simpler one that is shown is left out.
func (v *Tuning) Shown() []int {
	var list []int
	families := map[string]bool{}
	for i := range v.Results {
		r := &v.Results[i]
		family := strings.Join(slices.Sorted(slices.Values(r.Given)), ",")
		same := slices.ContainsFunc(list, func(k int) bool { return alike(&v.Results[k], r) })
		if v.Advice == nil || r.Recorded || r.Conf == "" || len(list) < shownResults && !families[family] && !same {
			list = append(list, i)
		}
		families[family] = true
	}
	return list
}

// alike tells whether b does what a does, with no fewer options.
func alike(a, b *tune.Result) bool {
	x, y := a.Worst(), b.Worst()
	return len(b.Given) >= len(a.Given) && x.Stats == y.Stats && x.Segments == y.Segments
}

func resultRow(r *tune.Result) []string {
	w := r.Worst()
	needs := "?"
	if n := r.SmallestLimit(); n > 0 {
		needs = units.FormatBytes(n)
	}
	conf := ConfName(r.Conf)
	if r.Recorded {
		conf += " (as recorded)"
	}
	reserved := units.FormatBytes(w.PeakReserved)
	if w.Failed != nil {
		reserved = "OOM"
	}
	calls := w.Calls.Mallocs + w.Calls.Frees + w.Calls.Maps + w.Calls.Unmaps
	stall := units.FormatDuration(time.Duration(w.Calls.StallUS()) * time.Microsecond)
	return []string{
		needs, reserved, units.FormatBytes(w.PeakAllocated), fmt.Sprintf("%.1f %%", 100*w.Fragmentation()),
		units.FormatCount(int64(w.Retries)), units.FormatCount(int64(calls)), stall, conf,
	}
}

// tuneDetails prints what a row of the table has no room for.
func (p *page) tuneDetails(v *Tuning) {
	var lines []string
	for _, i := range v.Shown() {
		r := &v.Results[i]
		if v.Advice != nil && r != v.Advice.Best && !r.Recorded {
			continue
		}
		for _, text := range v.details(r) {
			lines = append(lines, fmt.Sprintf("- %s: %s.", ConfName(r.Conf), text))
		}
	}
	if len(lines) == 0 {
		return
	}
	p.heading("Notes")
	for _, text := range lines {
		p.text(2, text)
	}
}

func (v *Tuning) details(r *tune.Result) []string {
	var list []string
	w := r.Worst()
	if f := w.Failed; f != nil && f.Event >= 0 {
		list = append(list, fmt.Sprintf("out of memory at e%d, a request of %s%s; reserved %s then", f.Event, units.FormatBytes(f.RequestedBytes), siteText(w.Program, f.Event), units.FormatBytes(f.ReservedBytes)))
	}
	if s := w.Spread; s.Runs > 0 {
		list = append(list, spreadText(s))
	}
	return append(list, v.Tuner.Notes(r)...)
}

func spreadText(s tune.Spread) string {
	text := fmt.Sprintf("the same in %d orders of addresses", s.OfOrders)
	if !s.Same {
		text = fmt.Sprintf("the same peak of reserved memory in %d orders of addresses", s.OfOrders)
	}
	if s.Low != s.High {
		text = fmt.Sprintf("peak reserved within %s, up to %s, in %d orders of addresses", units.FormatBytes(s.High-s.Low), units.FormatBytes(s.High), s.OfOrders)
	}
	if n := s.Runs - s.OfOrders; n > 0 {
		text += " and with memory at the beginning both as it lay and placed anew"
	}
	if s.Lives > 0 && s.Lives < s.Runs {
		text += fmt.Sprintf("; it lives in %d of %d", s.Lives, s.Runs)
	}
	return text
}

// siteText names the line of code that made a request.
func siteText(g *tune.Program, event int) string {
	for _, frame := range analyze.FoldFrames(stackOf(g, event)) {
		if !strings.HasPrefix(frame, "…") { // what is folded is a library's
			return " at " + frame
		}
	}
	return ""
}

func stackOf(g *tune.Program, event int) []snapshot.Frame {
	var frames []snapshot.Frame
	for _, k := range g.TL.Rec.Stacks.Frames(g.TL.Dev.Events.StackAt(event)) {
		frames = append(frames, g.TL.Rec.Frames[k])
	}
	return frames
}

func (p *page) tuneAdvice(v *Tuning) {
	a := v.Advice
	if a == nil {
		return
	}
	if a.Verdict == tune.Keep {
		p.heading("How sure")
		p.text(2, fmt.Sprintf("%s. %s.", capital(a.Confidence.String()), capital(strings.Join(a.Why, "; "))))
		return
	}
	p.heading("What to do")
	if a.Verdict == tune.Nothing {
		p.text(2, fmt.Sprintf("Make room for %s, or make the run smaller: a smaller batch, activation checkpointing, lower precision. 'ullage explain' says what fills the memory.", units.FormatBytes(a.Best.SmallestLimit())))
		return
	}
	p.text(2, "Before the program starts:")
	p.code(tune.Export(v.Tuner.Version, a.Best.Conf))
	p.text(2, "- Saves: "+v.savings()+".")
	p.text(2, fmt.Sprintf("- How sure: %s. %s.", a.Confidence, capital(strings.Join(a.Why, "; "))))
	if a.Best.Worst().Program.Died >= 0 {
		p.text(2, "- Mind: settings only put off a leak; 'ullage explain' says whether there is one.")
	}
	for _, risk := range a.Risks {
		p.text(2, "- Mind: "+risk+".")
	}
}

func (v *Tuning) savings() string {
	best, was := v.Advice.Best, v.Advice.Recorded
	text := fmt.Sprintf("needs %s instead of %s (%s less)", units.FormatBytes(best.SmallestLimit()), units.FormatBytes(was.SmallestLimit()), units.FormatShare(v.Advice.SavesBytes, was.SmallestLimit()))
	if was.Lives() {
		text += fmt.Sprintf("; reserves %s instead of %s in the room there is", units.FormatBytes(best.Reserves()), units.FormatBytes(was.Reserves()))
	}
	return text
}

// code prints a line to be copied.
func (p *page) code(text string) {
	if p.markdown {
		p.line("```sh")
		p.line(text)
		p.line("```")
		p.line("")
		return
	}
	p.line("    " + p.plain.Replace(term.Clean(text)))
}
