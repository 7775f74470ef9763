package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// By is what holders of memory are grouped by.
type By uint8

// Groupings.
const (
	ByLine     By = iota // the innermost line of the user's own code
	ByCategory           // what the memory is for
	ByModule             // where a module was called
	ByStack              // the whole stack
	ByTree               // calls, from the outermost inwards
)

// byNames are the groupings as flags and JSON name them; nouns name their groups,
// one and many.
var (
	byNames = [...]string{ByLine: "line", ByCategory: "category", ByModule: "module", ByStack: "stack", ByTree: "tree"}
	nouns   = [...][2]string{ByLine: {"line", "lines"}, ByCategory: {"category", "categories"}, ByModule: {"module", "modules"}, ByStack: {"stack", "stacks"}, ByTree: {"branch", "branches"}}
)

func (b By) String() string { return byNames[b] }

// MarshalText writes the grouping's name.
func (b By) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a grouping's name.
func (b *By) UnmarshalText(text []byte) error {
	i := slices.Index(byNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown grouping %q, expected one of %s", text, strings.Join(byNames[:], ", "))
	}
	*b = By(i)
	return nil
}

// HolderOptions say how to group what is held, and how much of it to list.
type HolderOptions struct {
	By       By
	Top      int     // groups to list before the rest is summed up; 0 is 10, negative lists all
	MinShare float64 // of the whole, below which a branch of the tree is summed up; 0 is 0.01
}

// HolderReport tells who holds the allocated memory after one event. Bytes and
// blocks of Categories, of Groups and of the children of Tree each add up to
// AllocatedBytes and Blocks exactly.
type HolderReport struct {
	Event          int             `json:"event"`
	AllocatedBytes int64           `json:"allocated_bytes"`
	Blocks         int             `json:"blocks"`
	By             By              `json:"by"`
	Categories     []CategoryShare `json:"categories"`
	Groups         []HolderGroup   `json:"groups,omitempty"` // for every By but ByTree
	Tree           *HolderNode     `json:"tree,omitempty"`   // for ByTree
}

// CategoryShare is what one category holds, how sure that is, and why.
type CategoryShare struct {
	Category   Category         `json:"category"`
	Bytes      int64            `json:"bytes"`
	Blocks     int              `json:"blocks"`
	Share      float64          `json:"share"`
	Confidence rules.Confidence `json:"confidence"` // that at least two thirds of the bytes have
	Reasons    []CategoryReason `json:"reasons"`    // largest first
}

// CategoryReason is one way by which blocks were known to be of their category.
type CategoryReason struct {
	Text       string           `json:"text"`
	Bytes      int64            `json:"bytes"`
	Blocks     int              `json:"blocks"`
	Confidence rules.Confidence `json:"confidence"`
}

// HolderGroup is what one line, module or stack holds. The last group may be the
// rest: then Sites is how many groups it sums up and Name says so.
type HolderGroup struct {
	Name       string           `json:"name"`
	Bytes      int64            `json:"bytes"`
	Blocks     int              `json:"blocks"`
	Share      float64          `json:"share"`
	Category   Category         `json:"category"` // that most of the bytes have
	Operators  []string         `json:"operators,omitempty"`
	Stack      snapshot.StackID `json:"-"` // that holds most
	StackBytes int64            `json:"-"`
	Rest       int              `json:"rest,omitempty"` // how many groups this one sums up; 0 for a group by itself
}

// Held is every block that is allocated after one event, each with its category. It
// is made once and grouped in several ways.
type Held struct {
	tl    *timeline.Timeline
	sites *Sites
	event int
	total amount
	lots  []lot
}

// amount is memory as counted.
type amount struct {
	bytes  int64
	blocks int
}

func (a *amount) add(b amount) { a.bytes += b.bytes; a.blocks += b.blocks }

// lot is the blocks that one site holds for one reason. A recording holds thousands
// of blocks at its peak, and of lots a few hundred.
type lot struct {
	site  snapshot.StackID // Site.Same
	rule  *categoryRule
	early bool // allocated before the recording began, by nobody knows whom
	amount
}

// beforeRecording stands for the line that allocated a block before the first event,
// where the dump does not tell it.
const beforeRecording = "before the recording began"

// Holders tells who holds the memory that is allocated after an event (-1: before the first).
func Holders(tl *timeline.Timeline, sites *Sites, event int, o HolderOptions) *HolderReport {
	return NewHeld(tl, sites, event).Report(o)
}

// Report groups what is held in one way.
func (h *Held) Report(o HolderOptions) *HolderReport {
	r := &HolderReport{Event: h.event, AllocatedBytes: h.total.bytes, Blocks: h.total.blocks, By: o.By, Categories: h.Categories()}
	if o.By == ByTree {
		r.Tree = h.Tree(o)
	} else {
		r.Groups = h.Groups(o)
	}
	return r
}

// NewHeld finds and judges the blocks that are allocated after an event.
func NewHeld(tl *timeline.Timeline, sites *Sites, event int) *Held {
	h := &Held{tl: tl, sites: sites, event: event}
	held := liveAt(tl, event)
	type key struct {
		site  snapshot.StackID
		rule  *categoryRule
		early bool
	}
	index := make(map[key]int)
	c := newClassifier(tl, sites, event, held)
	for _, i := range held {
		e := c.evidenceOf(i)
		k := key{sites.At(tl.Stack(i)).Same, e.rule(), tl.Life(i).Alloc < 0 && tl.Stack(i) == 0}
		n, ok := index[k]
		if !ok {
			n = len(h.lots)
			index[k] = n
			h.lots = append(h.lots, lot{site: k.site, rule: k.rule, early: k.early})
		}
		one := amount{tl.Life(i).SizeBytes, 1}
		h.lots[n].add(one)
		h.total.add(one)
	}
	return h
}

// Categories returns what each category holds, largest first.
func (h *Held) Categories() []CategoryShare {
	var of [numCategories]map[*categoryRule]amount
	for _, l := range h.lots {
		c := l.rule.category
		if of[c] == nil {
			of[c] = make(map[*categoryRule]amount)
		}
		a := of[c][l.rule]
		a.add(l.amount)
		of[c][l.rule] = a
	}
	var out []CategoryShare
	for c, reasons := range of {
		if reasons != nil {
			out = append(out, h.share(Category(c), reasons))
		}
	}
	slices.SortStableFunc(out, func(a, b CategoryShare) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

func (h *Held) share(c Category, reasons map[*categoryRule]amount) CategoryShare {
	s := CategoryShare{Category: c}
	var sure [rules.High + 1]int64
	for r, a := range reasons {
		s.Bytes += a.bytes
		s.Blocks += a.blocks
		sure[r.confidence] += a.bytes
		s.Reasons = append(s.Reasons, CategoryReason{r.reason, a.bytes, a.blocks, r.confidence})
	}
	s.Share = h.shareOf(s.Bytes)
	s.Confidence = rules.Low
	for at, bytes := rules.High, int64(0); at > rules.Low; at-- {
		if bytes += sure[at]; bytes*3 >= s.Bytes*2 {
			s.Confidence = at
			break
		}
	}
	slices.SortFunc(s.Reasons, func(a, b CategoryReason) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Text, b.Text))
	})
	return s
}

func (h *Held) shareOf(bytes int64) float64 {
	if h.total.bytes == 0 {
		return 0
	}
	return float64(bytes) / float64(h.total.bytes)
}

// Groups returns what is held by line, module, stack or category, largest first; what
// is beyond the top is summed up in the last group.
func (h *Held) Groups(o HolderOptions) []HolderGroup {
	gather := make(map[nameKey]*grouping)
	var order []*grouping
	for _, l := range h.lots {
		name, id := h.name(l, o.By), snapshot.StackID(0)
		if o.By == ByStack {
			id = l.site // two stacks may read alike in one line
		}
		g := gather[nameKey{name, id}]
		if g == nil {
			g = newGrouping(name)
			gather[nameKey{name, id}] = g
			order = append(order, g)
		}
		g.add(l, h.sites.Op(l.site))
	}
	slices.SortFunc(order, func(a, b *grouping) int {
		return cmp.Or(cmp.Compare(b.total.bytes, a.total.bytes), cmp.Compare(a.name, b.name))
	})
	top := o.top(len(order))
	groups := make([]HolderGroup, 0, top+1)
	for _, g := range order[:top] {
		groups = append(groups, h.group(g))
	}
	if rest := order[top:]; len(rest) > 0 {
		groups = append(groups, h.rest(rest, o.By))
	}
	return groups
}

// top returns how many of n groups are listed. A rest of one would take the place
// of the group it stands for.
func (o HolderOptions) top(n int) int {
	top := o.Top
	if top == 0 {
		top = 10
	}
	if top < 0 || n <= top+1 {
		return n
	}
	return top
}

func (h *Held) name(l lot, by By) string {
	switch {
	case by == ByCategory:
		return l.rule.category.String()
	case l.early:
		return beforeRecording
	}
	switch by {
	case ByModule:
		return h.sites.Module(l.site)
	case ByStack:
		return h.sites.Display(l.site)
	}
	return h.sites.Line(l.site)
}

// nameKey tells groups apart.
type nameKey struct {
	name string
	site snapshot.StackID // for ByStack
}

// grouping is a HolderGroup in the making.
type grouping struct {
	name       string
	total      amount
	categories [numCategories]int64
	stacks     map[snapshot.StackID]int64
	operators  map[string]int64
}

func newGrouping(name string) *grouping {
	return &grouping{name: name, stacks: make(map[snapshot.StackID]int64), operators: make(map[string]int64)}
}

func (g *grouping) add(l lot, operator string) {
	g.total.add(l.amount)
	g.categories[l.rule.category] += l.bytes
	g.stacks[l.site] += l.bytes
	if operator != "" {
		g.operators[operator] += l.bytes
	}
}

func (h *Held) group(g *grouping) HolderGroup {
	out := HolderGroup{Name: g.name, Bytes: g.total.bytes, Blocks: g.total.blocks, Share: h.shareOf(g.total.bytes)}
	for c, bytes := range g.categories {
		if bytes > g.categories[out.Category] {
			out.Category = Category(c)
		}
	}
	for id, bytes := range g.stacks {
		if bytes > out.StackBytes || bytes == out.StackBytes && id < out.Stack {
			out.Stack, out.StackBytes = id, bytes
		}
	}
	out.Operators = largest(g.operators, 3)
	return out
}

func (h *Held) rest(list []*grouping, by By) HolderGroup {
	sum := newGrouping(otherName(len(list), nouns[by][0], nouns[by][1]))
	for _, g := range list {
		sum.total.add(g.total)
		for c, bytes := range g.categories {
			sum.categories[c] += bytes
		}
	}
	out := h.group(sum)
	out.Rest = len(list)
	return out
}

// largest returns the n keys with most bytes.
func largest(of map[string]int64, n int) []string {
	keys := make([]string, 0, len(of))
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}
