package analyze

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// DiffSide is one of two recordings to compare, at one event.
type DiffSide struct {
	TL    *timeline.Timeline
	Sites *Sites
	Event int // -1 is before the first
}

// DiffReport tells what changed from one recording to another. The changes of
// Categories, and those of Changed with Rest, each add up to the change of the
// allocated bytes at the two events exactly. Streams, addresses and times are not
// compared: they differ between any two runs.
type DiffReport struct {
	Before     DiffTotals       `json:"before"`
	After      DiffTotals       `json:"after"`
	Settings   []SettingChange  `json:"settings,omitempty"`
	Categories []CategoryChange `json:"categories"`
	Changed    []SiteChange     `json:"changed"`        // largest change first; sites without a change are not listed
	Rest       *SiteChange      `json:"rest,omitempty"` // the changes beyond the top, summed up; nil where all are listed
	Same       int              `json:"same"`           // sites that hold as much as before
}

// DiffTotals are the counters of one side.
type DiffTotals struct {
	Event              int   `json:"event"`
	Events             int   `json:"events"`
	AllocatedBytes     int64 `json:"allocated_bytes"` // at the event
	ReservedBytes      int64 `json:"reserved_bytes"`
	PeakRequestedBytes int64 `json:"peak_requested_bytes"`
	PeakAllocatedBytes int64 `json:"peak_allocated_bytes"`
	PeakReservedBytes  int64 `json:"peak_reserved_bytes"`
}

// SettingChange is an allocator setting that differs.
type SettingChange struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// CategoryChange is what a category held before and after.
type CategoryChange struct {
	Category    Category `json:"category"`
	BeforeBytes int64    `json:"before_bytes"`
	AfterBytes  int64    `json:"after_bytes"`
}

// Change is what became of a site.
type Change string

// What can become of a site.
const (
	Appeared Change = "new"
	Gone     Change = "gone"
	Grew     Change = "grown"
	Shrank   Change = "shrunk"
)

// SiteChange is a place in the code that holds more or less than before.
type SiteChange struct {
	Change       Change           `json:"change"`
	Name         string           `json:"name"`                  // as in the later recording, where it is there
	BeforeName   string           `json:"before_name,omitempty"` // where the earlier one reads otherwise: the line has moved
	Category     Category         `json:"category"`
	BeforeBytes  int64            `json:"before_bytes"`
	AfterBytes   int64            `json:"after_bytes"`
	BeforeBlocks int              `json:"before_blocks"`
	AfterBlocks  int              `json:"after_blocks"`
	Stack        snapshot.StackID `json:"-"`              // in the later recording; in the earlier one where it is gone
	Rest         int              `json:"rest,omitempty"` // how many sites this sums up; 0 for a site
}

// DeltaBytes returns by how much a site grew.
func (c *SiteChange) DeltaBytes() int64 { return c.AfterBytes - c.BeforeBytes }

// Diff compares what two recordings hold, by the place in the code that allocated it.
// top is how many sites to list before the rest is summed up; 0 is 10, negative lists all.
func Diff(before, after DiffSide, top int) *DiffReport {
	native := before.Sites.HasNative() && after.Sites.HasNative()
	a, b := newDiffTable(before, native), newDiffTable(after, native)
	r := &DiffReport{
		Before: before.totals(), After: after.totals(),
		Settings:   settingChanges(before.TL.Rec.Settings, after.TL.Rec.Settings),
		Categories: categoryChanges(a.held.Categories(), b.held.Categories()),
	}
	changes := pair(a, b)
	changed := changes[:0]
	for _, c := range changes {
		if c.BeforeBytes == c.AfterBytes && c.BeforeBlocks == c.AfterBlocks {
			r.Same++
			continue
		}
		changed = append(changed, c)
	}
	slices.SortFunc(changed, func(x, y SiteChange) int {
		return cmp.Or(cmp.Compare(max(y.DeltaBytes(), -y.DeltaBytes()), max(x.DeltaBytes(), -x.DeltaBytes())), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Stack, y.Stack))
	})
	shown := HolderOptions{Top: top}.top(len(changed))
	r.Changed = changed[:shown:shown]
	for _, c := range changed[shown:] {
		if r.Rest == nil {
			r.Rest = new(SiteChange)
		}
		r.Rest.add(c)
	}
	return r
}

func (c *SiteChange) add(o SiteChange) {
	c.Rest++
	c.BeforeBytes += o.BeforeBytes
	c.AfterBytes += o.AfterBytes
	c.BeforeBlocks += o.BeforeBlocks
	c.AfterBlocks += o.AfterBlocks
	c.Name = otherName(c.Rest, "site", "sites")
	c.Change = Shrank
	if c.AfterBytes >= c.BeforeBytes {
		c.Change = Grew
	}
}

func (s DiffSide) totals() DiffTotals {
	now := s.TL.TotalsAt(s.Event)
	return DiffTotals{
		Event: s.Event, Events: s.TL.Dev.Events.Len(), AllocatedBytes: now.Allocated, ReservedBytes: now.Reserved,
		PeakRequestedBytes: s.TL.Peak.Requested.Bytes, PeakAllocatedBytes: s.TL.Peak.Allocated.Bytes, PeakReservedBytes: s.TL.Peak.Reserved.Bytes,
	}
}

// diffSite is what one place in the code holds in one recording. Stacks that differ
// only in what a new version of a library adds between are one place.
type diffSite struct {
	loose string // files and functions: the same when lines move
	lines []int  // of the user's frames
	model string // library frames inside the user's, where a library's model is among them
	name  string
	stack snapshot.StackID
	top   int64 // bytes of the lot that stack and category are taken from
	kind  Category
	amount
}

type diffTable struct {
	held   *Held
	strict map[string]*diffSite
	loose  map[string][]*diffSite // in order of lines
	order  []string               // of loose, by first appearance
}

// newDiffTable gathers what one side holds; native tells whether both sides have C++
// frames, so that operators of the backward pass can be told apart.
func newDiffTable(side DiffSide, native bool) *diffTable {
	t := &diffTable{held: NewHeld(side.TL, side.Sites, side.Event), strict: make(map[string]*diffSite), loose: make(map[string][]*diffSite)}
	for _, l := range t.held.lots {
		loose, lines := side.Sites.diffKey(l.site, native)
		strict := fmt.Sprint(loose, lines)
		s := t.strict[strict]
		if s == nil {
			s = &diffSite{loose: loose, lines: lines, model: side.Sites.modelKey(l.site)}
			t.strict[strict] = s
			if t.loose[loose] == nil {
				t.order = append(t.order, loose)
			}
			t.loose[loose] = append(t.loose[loose], s)
		}
		s.add(l.amount)
		if l.bytes > s.top || s.name == "" {
			s.top, s.stack, s.kind, s.name = l.bytes, l.site, l.rule.category, side.Sites.Display(l.site)
		}
	}
	for _, list := range t.loose {
		slices.SortFunc(list, func(a, b *diffSite) int { return slices.Compare(a.lines, b.lines) })
	}
	return t
}

// diffKey describes a stack so that the same code reads the same in another
// recording: files without their folders, which differ between machines, and the
// lines of the user's frames apart, which move when the code is edited. Lines of
// libraries differ between their versions and have no say.
func (s *Sites) diffKey(id snapshot.StackID, native bool) (loose string, lines []int) {
	frames := s.path(id)
	switch {
	case len(frames) == 0 && native:
		return s.Display(id), nil
	case len(frames) == 0:
		line, _, _ := strings.Cut(s.Line(id), ",")
		return line, nil
	}
	var b strings.Builder
	for _, f := range frames {
		s.writeKey(&b, f)
		if s.frame(f).whose == Users {
			lines = append(lines, s.rec.Frames[f].Line)
		}
	}
	return b.String(), lines
}

func (s *Sites) writeKey(b *strings.Builder, f snapshot.FrameID) {
	b.WriteString(path.Base(s.Path(f)))
	b.WriteByte(' ')
	b.WriteString(s.rec.Frames[f].Name)
	b.WriteByte('\n')
}

// modelKey describes the library frames inside the user's innermost one, where a
// library's model is among them; layers of torch alone are too common to match by.
func (s *Sites) modelKey(id snapshot.StackID) string {
	if site := s.At(id); site.User < 0 || site.Via < 0 {
		return ""
	}
	var b strings.Builder
	frames := s.path(id)
	for i := len(frames) - 1; i >= 0 && s.frame(frames[i]).whose != Users; i-- {
		s.writeKey(&b, frames[i])
	}
	return b.String()
}

// pair matches the sites of two recordings: those with equal lines first, then,
// among sites of the same functions, what is left in the order of lines; and last
// those that reach the same function of a library's model from another place.
func pair(a, b *diffTable) []SiteChange {
	var out []SiteChange
	var gone, appeared []*diffSite
	for _, loose := range a.order {
		before, after := slices.Clone(a.loose[loose]), slices.Clone(b.loose[loose])
		before, after, out = pairEqual(before, after, out)
		n := min(len(before), len(after))
		for i := range n {
			out = append(out, change(before[i], after[i]))
		}
		gone, appeared = append(gone, before[n:]...), append(appeared, after[n:]...)
	}
	for _, loose := range b.order {
		if a.loose[loose] == nil {
			appeared = append(appeared, b.loose[loose]...)
		}
	}
	return pairModels(gone, appeared, out)
}

// pairModels matches sites by their library frames alone, where one site on each
// side has them, and lists the others as gone and new.
func pairModels(gone, appeared []*diffSite, out []SiteChange) []SiteChange {
	before, after := byModel(gone), byModel(appeared)
	for _, s := range gone {
		if len(before[s.model]) == 1 && len(after[s.model]) == 1 {
			out = append(out, change(s, after[s.model][0]))
		} else {
			out = append(out, change(s, nil))
		}
	}
	for _, s := range appeared {
		if len(before[s.model]) != 1 || len(after[s.model]) != 1 {
			out = append(out, change(nil, s))
		}
	}
	return out
}

func byModel(list []*diffSite) map[string][]*diffSite {
	m := make(map[string][]*diffSite)
	for _, s := range list {
		if s.model != "" {
			m[s.model] = append(m[s.model], s)
		}
	}
	return m
}

// pairEqual takes out of two sorted lists the sites whose lines are equal.
func pairEqual(before, after []*diffSite, out []SiteChange) (restBefore, restAfter []*diffSite, _ []SiteChange) {
	for len(before) > 0 && len(after) > 0 {
		switch c := slices.Compare(before[0].lines, after[0].lines); {
		case c == 0:
			out = append(out, change(before[0], after[0]))
			before, after = before[1:], after[1:]
		case c < 0:
			restBefore, before = append(restBefore, before[0]), before[1:]
		default:
			restAfter, after = append(restAfter, after[0]), after[1:]
		}
	}
	return append(restBefore, before...), append(restAfter, after...), out
}

// change describes a pair; one of the two may be nil.
func change(before, after *diffSite) SiteChange {
	var c SiteChange
	if before != nil {
		c.Change, c.Name, c.Category, c.Stack = Gone, before.name, before.kind, before.stack
		c.BeforeBytes, c.BeforeBlocks = before.bytes, before.blocks
	}
	if after == nil {
		return c
	}
	c.Change = Appeared
	c.AfterBytes, c.AfterBlocks, c.Category, c.Stack = after.bytes, after.blocks, after.kind, after.stack
	if before != nil {
		c.Change = Shrank
		if after.bytes >= before.bytes {
			c.Change = Grew
		}
		if before.loose != after.loose || !slices.Equal(before.lines, after.lines) {
			c.BeforeName = before.name
		}
	}
	c.Name = after.name
	return c
}

func categoryChanges(before, after []CategoryShare) []CategoryChange {
	var all [numCategories]CategoryChange
	for _, c := range before {
		all[c.Category].BeforeBytes = c.Bytes
	}
	for _, c := range after {
		all[c.Category].AfterBytes = c.Bytes
	}
	var out []CategoryChange
	for i, c := range all {
		if c.BeforeBytes != 0 || c.AfterBytes != 0 {
			c.Category = Category(i)
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(x, y CategoryChange) int {
		return cmp.Compare(max(y.BeforeBytes, y.AfterBytes), max(x.BeforeBytes, x.AfterBytes))
	})
	return out
}

// settingChanges lists the settings that differ, by the names that PyTorch gives them.
func settingChanges(before, after *snapshot.Settings) []SettingChange {
	a, b := settingTexts(before), settingTexts(after)
	var out []SettingChange
	for i := range a {
		if a[i].text != b[i].text {
			out = append(out, SettingChange{a[i].name, a[i].text, b[i].text})
		}
	}
	return out
}

type settingText struct{ name, text string }

func settingTexts(s *snapshot.Settings) []settingText {
	names := [...]string{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size", "garbage_collection_threshold", "expandable_segments", "roundup_power2_divisions"}
	out := make([]settingText, len(names))
	for i, n := range names {
		out[i] = settingText{n, "not recorded"}
	}
	if s == nil {
		return out
	}
	out[0].text = strconv.Quote(s.Conf)
	out[1].text = "unlimited"
	if s.MaxSplitBytes >= 0 {
		out[1].text = strconv.FormatInt(s.MaxSplitBytes, 10) + " bytes"
	}
	out[2].text = strconv.FormatFloat(s.GCThreshold, 'g', -1, 64)
	out[3].text = strconv.FormatBool(s.ExpandableSegments)
	out[4].text = "off"
	if s.RoundupDivisions != [16]int{} {
		out[4].text = fmt.Sprint(s.RoundupDivisions)
	}
	return out
}
