package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// ExplainOptions say how much to print.
type ExplainOptions struct {
	Verbose  bool // the replay's own figures too
	Markdown bool
}

// Explanation prints what is known of one device: the verdict first, then the
// evidence, then what to do.
func Explanation(w io.Writer, l term.Look, x *analyze.Explanation, o ExplainOptions) error {
	p := newPage(l, o.Markdown)
	p.x, p.o = x, o
	p.verdict()
	p.coverage()
	p.accounting()
	p.holders()
	p.kept()
	p.findings()
	_, err := io.WriteString(w, p.String())
	return err
}

// Title names a device of a recording: "oom.pickle, rank 3, GPU 0".
func Title(x *analyze.Explanation) string {
	parts := []string{x.TL.Rec.Source.Name}
	if r := x.TL.Rec.Source.Rank; r >= 0 {
		parts = append(parts, fmt.Sprintf("rank %d", r))
	}
	return strings.Join(append(parts, DeviceName(x.TL.Dev)), ", ")
}

// DeviceName names a device: "GPU 0", "pinned host memory".
func DeviceName(d *snapshot.Device) string {
	if d.Kind == snapshot.Host {
		return "pinned host memory"
	}
	return fmt.Sprintf("GPU %d", d.Index)
}

var verdictStyles = map[analyze.VerdictKind]term.Style{
	analyze.OutOfMemory: term.Red, analyze.Leaking: term.Red, analyze.Wasting: term.Yellow, analyze.Healthy: term.Green, analyze.Unclear: term.Bold,
}

func (p *page) verdict() {
	p.title(Title(p.x))
	p.strong(verdictStyles[p.x.Verdict.Kind], p.x.Verdict.Text)
}

func (p *page) coverage() {
	x, c := p.x, &p.x.Coverage
	p.heading("What was recorded")
	if c.Begins == analyze.NoEvents {
		p.text(2, "No history, only the state at the dump.")
	} else {
		p.text(2, fmt.Sprintf("%s%s, %s%s. %s", units.FormatPlural(c.Events, "event", "events"), p.span(), units.FormatPlural(c.Allocs, "allocation", "allocations"), p.stacks(), beginnings[c.Begins]))
		p.text(2, p.steps())
	}
	if x.Window != nil {
		p.text(2, fmt.Sprintf("Looked at: events e%d to e%d.", max(x.Window.FromEvent, 0), x.Window.ToEvent))
	}
	p.text(2, "Settings: "+settingsText(x.TL.Rec)+".")
	p.text(2, "Not in a recording: "+strings.Join(analyze.NotShown(), ", ")+".")
	if p.o.Verbose {
		p.replay()
	}
	for _, warning := range x.TL.Rec.Warnings {
		p.text(2, "Note: "+warning+".")
	}
}

var beginnings = map[analyze.Beginning]string{
	analyze.FromFirst:  "Complete: it begins before the first allocation.",
	analyze.MidRun:     "It begins while memory was in use.",
	analyze.RingCut:    "The beginning is lost: the ring was full.",
	analyze.RingLikely: "The beginning is missing: the ring was probably full.",
}

func (p *page) span() string {
	c := &p.x.Coverage
	if c.LastTimeUS <= c.FirstTimeUS {
		return ""
	}
	return " in " + units.FormatDuration(time.Duration(c.LastTimeUS-c.FirstTimeUS)*time.Microsecond)
}

func (p *page) stacks() string {
	c := &p.x.Coverage
	kind := "Python stacks"
	if c.Cpp {
		kind = "Python and C++ stacks"
	}
	switch {
	case c.Allocs == 0:
		return ""
	case c.WithStack == 0:
		return ", without stacks"
	}
	return fmt.Sprintf(", %s with %s", units.FormatShare(int64(c.WithStack), int64(c.Allocs)), kind)
}

func (p *page) steps() string {
	s := p.x.Steps
	if s.Len() == 0 {
		return "Steps: none found. " + sentence(s.Why)
	}
	return fmt.Sprintf("Steps: s0 to s%d, by %s (%s confidence). %s", s.Len()-1, s.Source, s.Confidence, sentence(s.Why))
}

// replay prints how far the simulated allocator agrees with the recording.
func (p *page) replay() {
	r := p.x.TL.Replay
	text := fmt.Sprintf("Replay: %s of %s allocations at their recorded address (%s).", units.FormatCount(int64(r.Equal)), units.FormatCount(int64(r.Allocs)), units.FormatShare(int64(r.Equal), int64(r.Allocs)))
	if r.First >= 0 && r.Allocs > 0 {
		text += fmt.Sprintf(" The first difference is event e%d.", r.First)
	}
	p.text(2, text)
}

func settingsText(rec *snapshot.Recording) string {
	s := rec.Settings
	switch {
	case s == nil && rec.Truncated != nil:
		return "not in what could be read"
	case s == nil:
		return "not in this file (torch before 2.3)"
	case s.Conf == "":
		return "PyTorch's defaults"
	}
	return s.Conf
}

func (p *page) accounting() {
	x, a := p.x, &p.x.Accounting
	p.heading(fmt.Sprintf("Memory at %s", p.moment(a.Event)))
	t := newGrid("what", ">bytes", ">share", "meaning")
	row := func(name string, bytes int64, note string) {
		t.row(name, units.FormatBytes(bytes), units.FormatShare(bytes, a.ReservedBytes), note)
	}
	row("requested", a.RequestedBytes, "what the program asked for and holds")
	row("rounding", a.RoundingBytes, "what the allocator gave beyond that")
	row("pending free", a.PendingFreeBytes, "freed, still in use on a stream")
	row("cached free", a.CachedBytes, p.cachedNote())
	row("reserved", a.ReservedBytes, "what PyTorch holds of the device")
	p.grid(t)
	pk := x.Peak
	if x.Coverage.Begins != analyze.NoEvents {
		p.text(2, fmt.Sprintf("Peaks: requested %s, allocated %s, reserved %s.", peakText(pk.Requested), peakText(pk.Allocated), peakText(pk.Reserved)))
	}
}

func peakText(e timeline.Extreme) string {
	if e.Event < 0 {
		return units.FormatBytes(e.Bytes) + " before the first event"
	}
	return fmt.Sprintf("%s at e%d", units.FormatBytes(e.Bytes), e.Event)
}

func (p *page) cachedNote() string {
	var largest, whole int64
	for _, g := range p.x.Accounting.Free {
		largest, whole = max(largest, g.LargestBytes), whole+g.WholeBytes
	}
	if p.x.Accounting.CachedBytes == 0 {
		return ""
	}
	return fmt.Sprintf("largest piece %s; empty_cache would return %s", units.FormatBytes(largest), units.FormatBytes(whole))
}

// moment names an event: "e51107 (the peak of allocated memory, step 8, 2.87 s)".
func (p *page) moment(event int) string {
	switch {
	case p.x.Coverage.Begins == analyze.NoEvents:
		return "the dump"
	case event < 0:
		return "the beginning"
	}
	var notes []string
	if event == p.x.Peak.Allocated.Event {
		notes = append(notes, "the most allocated")
	}
	if k := p.x.Steps.Of(event); k >= 0 && k < p.x.Steps.Len() {
		notes = append(notes, fmt.Sprintf("step s%d", k))
	}
	if s, ok := p.x.Seconds(event); ok {
		notes = append(notes, fmt.Sprintf("%.2fs", s))
	}
	if len(notes) == 0 {
		return fmt.Sprintf("e%d", event)
	}
	return fmt.Sprintf("e%d (%s)", event, strings.Join(notes, ", "))
}

func (p *page) holders() {
	h := p.x.Holders
	if h.AllocatedBytes == 0 {
		return
	}
	blocks := units.FormatCount(int64(h.Blocks)) + " blocks"
	if h.Blocks == 1 {
		blocks = "1 block"
	}
	p.heading(fmt.Sprintf("Who holds the %s in %s", units.FormatBytes(h.AllocatedBytes), blocks))
	p.subheading("by category")
	t := newGrid(">bytes", ">share", "category", "how that is known")
	for _, c := range h.Categories {
		why := ""
		if len(c.Reasons) > 0 {
			why = fmt.Sprintf("%s confidence: %s", c.Confidence, c.Reasons[0].Text)
		}
		t.row(units.FormatBytes(c.Bytes), units.FormatShare(c.Bytes, h.AllocatedBytes), c.Category.String(), why)
	}
	p.grid(t)
	p.groups(h)
}

// groups prints who holds it in the way that was asked for; by line, which is the
// default, modules too, for a training loop is often a single line.
func (p *page) groups(h *analyze.HolderReport) {
	if h.Tree != nil {
		p.line("")
		p.tree(term.Tree{Total: h.AllocatedBytes, Bar: 10, Indent: 2}, p.treeNode(h.Tree))
		return
	}
	if h.By != analyze.ByCategory {
		p.groupTable("by "+h.By.String(), h.Groups, h.AllocatedBytes)
	}
	if h.By == analyze.ByLine && len(p.x.Modules) > 1 && !slices.EqualFunc(h.Groups, p.x.Modules, sameGroup) {
		p.groupTable("by module", p.x.Modules, h.AllocatedBytes)
	}
}

func sameGroup(a, b analyze.HolderGroup) bool { return a.Name == b.Name && a.Bytes == b.Bytes }

func (p *page) groupTable(name string, groups []analyze.HolderGroup, whole int64) {
	p.subheading(name)
	t := newGrid(">bytes", ">share", ">blocks", "mostly", "where")
	for _, g := range groups {
		t.row(units.FormatBytes(g.Bytes), units.FormatShare(g.Bytes, whole), units.FormatCount(int64(g.Blocks)), g.Category.String(), g.Name)
	}
	p.grid(t)
}

func (p *page) treeNode(n *analyze.HolderNode) term.Node {
	out := term.Node{Label: p.plain.Replace(term.Clean(n.Name)), Bytes: n.Bytes}
	for _, c := range n.Children {
		out.Children = append(out.Children, p.treeNode(c))
	}
	return out
}

func (p *page) findings() {
	if len(p.x.Findings) == 0 {
		return
	}
	p.heading("Findings and what to do")
	for i := range p.x.Findings {
		f := &p.x.Findings[i]
		if i > 0 {
			p.line("")
		}
		p.finding(f)
	}
}
