package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// A recording tells where memory was allocated, not what keeps it. A process that is
// watched says that itself when a recording is written: by which names, graphs and
// cycles each of its storages is reached. Both are joined by address.

// Census is what a process said of the storages it held when a recording was written.
type Census struct {
	Complete bool
	Notes    []string // what it could not see
	Keepers  []Keeper
}

// Keeper is a name or a graph in a process, and the storages on one device that it keeps.
type Keeper struct {
	Path      string // "trainer.loss_history[…]"
	Where     string // of the path's first name: "local 't' of main() at train.py:88"; "" for a global
	Kind      string // python, grad, optimizer, graph, cycle, native, unknown
	Places    int    // of one container
	SavedBy   []string
	Addresses []uint64
}

// Text is the keeper in one line.
func (k *Keeper) Text() string {
	text, about := k.Path, k.Where
	if _, name, ok := strings.Cut(k.Where, "'"); ok && strings.HasPrefix(name, k.Path+"'") {
		text, about = k.Where, ""
	}
	if k.Places > 1 {
		text += " × " + units.FormatCount(int64(k.Places))
	}
	if len(k.SavedBy) > 0 {
		about = strings.TrimPrefix(about+"; saved by "+strings.Join(k.SavedBy[:min(len(k.SavedBy), 3)], ", "), "; ")
	}
	if about != "" {
		text += " (" + about + ")"
	}
	return text
}

// KeptReport tells what kept the memory that was allocated at a recording's end. The
// bytes of Keepers and Unnamed add up to AllocatedBytes.
type KeptReport struct {
	AllocatedBytes int64     `json:"allocated_bytes"`
	Complete       bool      `json:"complete"`
	Notes          []string  `json:"notes"`
	Keepers        []KeptBy  `json:"keepers"` // the most bytes first
	Unnamed        []Unnamed `json:"unnamed"` // blocks that no storage of the census stands on

	of    map[int]int // block: its place in Keepers
	tl    *timeline.Timeline
	sites *Sites
}

// KeptBy is a keeper with the blocks that it keeps.
type KeptBy struct {
	Path        string     `json:"path"`
	Where       string     `json:"where,omitempty"`
	Kind        string     `json:"kind"`
	Places      int        `json:"places"`
	SavedBy     []string   `json:"saved_by,omitempty"`
	Bytes       int64      `json:"bytes"`
	Blocks      int        `json:"blocks"`
	AllocatedAt []KeptSite `json:"allocated_at"` // the most bytes first
	Text        string     `json:"-"`
}

// KeptSite is a line that allocated kept memory.
type KeptSite struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Unnamed is memory that Python knows nothing of: C++ holds it, or it is no tensor's.
type Unnamed struct {
	Category    Category   `json:"category"`
	Bytes       int64      `json:"bytes"`
	Blocks      int        `json:"blocks"`
	AllocatedAt []KeptSite `json:"allocated_at"`
}

// keptBytes gathers the blocks of one keeper.
type keptBytes struct {
	amount
	lines map[string]int64
}

func (k *keptBytes) add(line string, bytes int64) {
	if k.lines == nil {
		k.lines = make(map[string]int64)
	}
	k.amount.add(amount{bytes, 1})
	k.lines[line] += bytes
}

func (k *keptBytes) sites() []KeptSite {
	out := []KeptSite{}
	for _, name := range slices.Sorted(maps.Keys(k.lines)) {
		out = append(out, KeptSite{name, k.lines[name]})
	}
	slices.SortStableFunc(out, func(a, b KeptSite) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// Kept joins a census with the blocks that are allocated at the end of a recording.
func Kept(tl *timeline.Timeline, sites *Sites, census *Census) *KeptReport {
	r := &KeptReport{Complete: census.Complete, Notes: append([]string{}, census.Notes...), of: make(map[int]int), tl: tl, sites: sites}
	end := tl.Dev.Events.Len() - 1
	live := liveByAddress(tl, end)
	keepers := make([]keptBytes, len(census.Keepers))
	for n, k := range census.Keepers {
		for _, addr := range k.Addresses {
			i := blockAt(tl, live, addr)
			if i < 0 {
				continue
			}
			if _, taken := r.of[i]; !taken {
				r.of[i] = n
				keepers[n].add(r.line(i), tl.Life(i).SizeBytes)
			}
		}
	}
	r.name(census, keepers)
	r.rest(live, end)
	return r
}

// name lists the keepers that keep anything, the most bytes first.
func (r *KeptReport) name(census *Census, keepers []keptBytes) {
	order := make([]int, 0, len(keepers))
	for n := range keepers {
		if keepers[n].blocks > 0 {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keepers[b].bytes, keepers[a].bytes) })
	place := make(map[int]int, len(order))
	r.Keepers = make([]KeptBy, 0, len(order))
	for _, n := range order {
		k, b := &census.Keepers[n], &keepers[n]
		place[n] = len(r.Keepers)
		r.AllocatedBytes += b.bytes
		r.Keepers = append(r.Keepers, KeptBy{
			Path: k.Path, Where: k.Where, Kind: k.Kind, Places: k.Places, SavedBy: k.SavedBy,
			Bytes: b.bytes, Blocks: b.blocks, AllocatedAt: b.sites(), Text: k.Text(),
		})
	}
	for i, n := range r.of {
		r.of[i] = place[n]
	}
}

// rest sums up what no keeper keeps, by what it is for.
func (r *KeptReport) rest(live []int, end int) {
	var by [numCategories]keptBytes
	c := newClassifier(r.tl, r.sites, end, live)
	for _, i := range live {
		if _, ok := r.of[i]; !ok {
			e := c.evidenceOf(i)
			by[e.rule().category].add(r.line(i), r.tl.Life(i).SizeBytes)
		}
	}
	r.Unnamed = []Unnamed{}
	for category := range by {
		if b := &by[category]; b.blocks > 0 {
			r.AllocatedBytes += b.bytes
			r.Unnamed = append(r.Unnamed, Unnamed{Category(category), b.bytes, b.blocks, b.sites()})
		}
	}
	slices.SortStableFunc(r.Unnamed, func(a, b Unnamed) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// line names the line that allocated a block.
func (r *KeptReport) line(i int) string {
	stack := r.tl.Stack(i)
	if stack == 0 && r.tl.Life(i).Alloc < 0 {
		return beforeRecording
	}
	return r.sites.Display(stack)
}

// liveByAddress returns the blocks that are allocated after an event, ascending by address.
func liveByAddress(tl *timeline.Timeline, event int) []int {
	var live []int
	for i := range tl.NumBlocks() {
		if tl.Life(i).LiveAfter(event) {
			live = append(live, i)
		}
	}
	slices.SortFunc(live, func(a, b int) int { return cmp.Compare(tl.Block(a).Addr, tl.Block(b).Addr) })
	return live
}

// blockAt returns the block that an address lies in, or -1.
func blockAt(tl *timeline.Timeline, live []int, addr uint64) int {
	n, found := slices.BinarySearchFunc(live, addr, func(i int, addr uint64) int { return cmp.Compare(tl.Block(i).Addr, addr) })
	if !found {
		n--
	}
	if n < 0 {
		return -1
	}
	if b := tl.Block(live[n]); addr-b.Addr < uint64(b.SizeBytes) {
		return live[n]
	}
	return -1
}

// maxKeepers is how many keepers of a leak are named in its finding.
const maxKeepers = 3

// evidenceFor says what keeps the blocks of some sites, or "" if nothing is known to, and
// the cause if what keeps most of them tells it.
func (r *KeptReport) evidenceFor(stacks []snapshot.StackID) (text, cause string) {
	bytes := make(map[int]int64)
	all, named := int64(0), int64(0)
	for i, n := range r.blocksOf(stacks) {
		size := r.tl.Life(i).SizeBytes
		all += size
		if n >= 0 {
			bytes[n] += size
			named += size
		}
	}
	if named == 0 {
		return "", ""
	}
	order := slices.SortedFunc(maps.Keys(bytes), func(a, b int) int { return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, n := range order[:min(len(order), maxKeepers)] {
		parts = append(parts, fmt.Sprintf("%s, %s", r.Keepers[n].Text, units.FormatBytes(bytes[n])))
	}
	if more := len(order) - maxKeepers; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if bytes[order[0]]*2 > all {
		cause = r.Keepers[order[0]].cause()
	}
	return fmt.Sprintf("when the recording was written, %s of the %s from there were held by %s", units.FormatBytes(named), units.FormatBytes(all), strings.Join(parts, "; ")), cause
}

// blocksOf returns the blocks of some sites that are allocated at the end, each with
// its place in Keepers, or -1.
func (r *KeptReport) blocksOf(stacks []snapshot.StackID) map[int]int {
	same := make(map[snapshot.StackID]bool, len(stacks))
	for _, s := range stacks {
		same[r.sites.At(s).Same] = true
	}
	found := make(map[int]int)
	end := r.tl.Dev.Events.Len() - 1
	for i := range r.tl.NumBlocks() {
		if r.tl.Life(i).LiveAfter(end) && same[r.sites.At(r.tl.Stack(i)).Same] {
			n, ok := r.of[i]
			if !ok {
				n = -1
			}
			found[i] = n
		}
	}
	return found
}

// nameKeepers adds to the findings of leaks what kept their blocks at the end. Where it
// tells the cause, that is the likeliest one.
func (x *Explanation) nameKeepers() {
	if x.Kept == nil {
		return
	}
	for i, g := range x.Leaks.Growing { // each has the finding at its own place
		text, cause := x.Kept.evidenceFor(g.Stacks)
		if text == "" {
			continue
		}
		f := &x.Leaks.Findings[i]
		f.Evidence = slices.Insert(f.Evidence, min(1, len(f.Evidence)), text)
		if cause != "" {
			blame(f, cause)
		}
	}
}

// blame makes a cause a finding's first, and its remedy, if there is one, too.
func blame(f *rules.Finding, cause string) {
	f.Causes = append([]string{cause}, slices.DeleteFunc(slices.Clone(f.Causes), func(c string) bool { return c == cause })...)
	do := causeRemedies[cause]
	if do == "" || len(f.Remedies) == 0 {
		return
	}
	first := f.Remedies[0] // what mending it brings is the same whatever the cause
	first.Do = do
	f.Remedies[0].Bytes, f.Remedies[0].Effect = 0, ""
	f.Remedies = append([]rules.Remedy{first}, slices.DeleteFunc(f.Remedies, func(r rules.Remedy) bool { return r.Do == do })...)
}

// cause is the rule that a keeper's text stands for, or "" where it may be any.
func (k *KeptBy) cause() string {
	switch {
	case k.Kind == "cycle":
		return "leak/reference-cycle"
	case strings.Contains(k.Where, "hook on "):
		return "leak/hook-cache"
	case strings.HasPrefix(k.Path, "lru_cache of "):
		return "leak/cached-method"
	case strings.HasPrefix(k.Path, "ctx."):
		return "leak/tensor-on-ctx"
	case strings.HasPrefix(k.Path, "Out["):
		return "leak/notebook-out"
	case strings.Contains(k.Where, ", kept by ") && !suspended.MatchString(k.Where):
		return "leak/exception-frame"
	}
	return ""
}

// suspended matches variables that are kept by what is to be gone on with, not by an error.
var suspended = regexp.MustCompile(`^local '[^']*' of (async )?(generator|coroutine) `)

// Keeper returns in a line what keeps block i at the end of the recording, and false where
// the census does not tell.
func (r *KeptReport) Keeper(i int) (string, bool) {
	n, ok := r.of[i]
	if !ok {
		return "", false
	}
	return r.Keepers[n].Text, true
}
