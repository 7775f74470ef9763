package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// classifier gathers evidence about the blocks that are held at one event.
type classifier struct {
	tl    *timeline.Timeline
	sites *Sites
	notes *notes

	freeSites  bool               // free events tell where they were freed, not where the block was made
	endsInStep bool               // the recording ends within the optimizer
	paramSizes map[int64]bool     // requested bytes of blocks that are surely parameters, or parts of their state
	stateSizes map[int64]bool     // requested bytes of the optimizer's state
	blas       map[blasKey]bool   // workspaces met so far
	alike      map[alikeKey]int   // held blocks of a workspace's size, by site
	private    []timeline.Segment // of private pools, at the event, by address
	leads      map[int]bool       // what followsPass found, by block
}

func newClassifier(tl *timeline.Timeline, sites *Sites, event int, held []int) *classifier {
	c := &classifier{tl: tl, sites: sites, notes: newNotes(tl), private: privateSegments(tl, event)}
	c.paramSizes, c.stateSizes = make(map[int64]bool), make(map[int64]bool)
	c.blas, c.leads = make(map[blasKey]bool), make(map[int]bool)
	c.freeSites = c.freesTellWhere()
	if n := tl.Dev.Events.Len(); n > 0 {
		c.endsInStep = sites.At(tl.Dev.Events.StackAt(n - 1)).marks.has(inOptimizer)
	}
	c.alike = make(map[alikeKey]int)
	for _, i := range held {
		c.count(tl.Block(i))
	}
	return c
}

// count notes the size of a block that is held, before any is judged.
func (c *classifier) count(b timeline.Block) {
	site := c.sites.At(b.Stack)
	if site.marks.has(inConvert|inLoad|inConstructor|inShardInit|inOptimInit) && !site.marks.has(inModule) {
		c.paramSizes[b.RequestedBytes] = true
	}
	if site.marks.has(inOptimizer) {
		c.stateSizes[b.RequestedBytes] = true
	}
	if slices.Contains(blasSizes[:], b.RequestedBytes) {
		c.alike[alikeKey{site.Same, b.Stream, b.RequestedBytes}]++
	}
}

// freesTellWhere tells whether the recording was made with context="all": only then
// does a free event carry the stack of the free. Otherwise it carries the block's
// own, and nearly all pairs are equal.
func (c *classifier) freesTellWhere() bool {
	const enough = 2000
	equal, seen := 0, 0
	for i := 0; i < c.tl.NumBlocks() && seen < enough; i++ {
		l := c.tl.Life(i)
		if l.FreeRequested == timeline.Never || l.Alloc < 0 {
			continue
		}
		made := c.sites.At(c.tl.Stack(i))
		if made.Inner < 0 {
			continue
		}
		seen++
		if made.Same == c.sites.At(c.tl.Dev.Events.StackAt(l.FreeRequested)).Same {
			equal++
		}
	}
	return seen > 0 && equal*20 < seen*19
}

// evidenceOf gathers what is known of block i. Blocks must be asked for in the order
// of their allocation: the first of several alike is the workspace.
func (c *classifier) evidenceOf(i int) evidence {
	b := c.tl.Block(i)
	l, stack := b.Life, b.Stack
	site := c.sites.At(stack)
	e := evidence{
		made: site.marks, kept: l.FreeRequested == timeline.Never, before: l.Alloc < 0, dead: c.endsInStep,
		own: site.Inner >= 0 && site.Inner == site.User, trains: c.sites.Trains(),
		blind:   !c.sites.HasStacks() || stack == 0 && l.Alloc < 0,
		private: c.inPrivatePool(b.Addr), likeParam: c.paramSizes[b.RequestedBytes], likeState: c.stateSizes[b.RequestedBytes],
	}
	e.noCode = !e.blind && site.Inner < 0 && c.sites.isBackward(site)
	if e.blind && !e.before {
		e.made |= c.notes.at(l.Alloc)
		e.leads = c.notes.beforeFirstStep(l.Alloc)
		e.spans = e.kept || c.stepsHeld(l) > 1
	}
	if e.inBackward() && e.likeParam && !e.before {
		e.crosses = c.stepsHeld(l) > 0
	}
	if !e.kept {
		c.lookAtFree(&e, l.FreeRequested, site)
	}
	e.blasSize = e.kept && c.isBLAS(&b, &e)
	if e.own && !e.before && !e.made.has(inModule|inBackward|inOptimizer) {
		e.leads = c.followsPass(i) || c.precedesCall(i)
		e.spans = c.stepsHeld(l) > 1
	}
	return e
}

// stepsHeld returns how many optimizer steps begin while a block is held.
func (c *classifier) stepsHeld(l timeline.Life) int {
	return c.notes.stepsBetween(l.Alloc, min(l.FreeRequested, c.tl.Dev.Events.Len()-1))
}

func (c *classifier) lookAtFree(e *evidence, event int, made *Site) {
	if event < 0 {
		return // let go of before the recording began
	}
	if !c.freeSites {
		e.freed = c.notes.at(event)
		return
	}
	site := c.sites.At(c.tl.Dev.Events.StackAt(event))
	e.freeKnown = true
	e.freed = site.marks
	e.backFreed = c.sites.isBackward(site)
	e.sameLine = made.Inner >= 0 && site.Same == made.Same
}

// blasKey is what cuBLAS keeps one workspace for, as far as a recording shows it.
type blasKey struct {
	stream   snapshot.StreamID
	backward bool
	size     int64
}

type alikeKey struct {
	site   snapshot.StackID
	stream snapshot.StreamID
	size   int64
}

// blasSizes are PyTorch's default workspaces of cuBLAS, 32 MiB on compute capability
// 9 and newer and 8,519,680 bytes before, and of cuBLASLt, 1 MiB.
var blasSizes = [...]int64{32 << 20, 8519680, 1 << 20}

// isBLAS tells whether a kept block looks like a cuBLAS workspace: one of its sizes,
// and the first such block of its thread and stream. Outside the backward pass it
// must be the only one that its line of code holds, and that line must be one that
// may multiply matrices; threads without the user's code (DataParallel's) are many.
func (c *classifier) isBLAS(b *timeline.Block, e *evidence) bool {
	if e.blind || !slices.Contains(blasSizes[:], b.RequestedBytes) {
		return false
	}
	site := c.sites.At(b.Stack)
	if !e.noCode {
		if !e.made.has(inModule) || !mayMultiply(c.sites.Op(b.Stack)) {
			return false
		}
		if site.User < 0 {
			return true
		}
		if c.alike[alikeKey{site.Same, b.Stream, b.RequestedBytes}] > 1 {
			return false
		}
	}
	k := blasKey{b.Stream, e.noCode, b.RequestedBytes}
	first := !c.blas[k]
	c.blas[k] = true
	return first
}

// mayMultiply tells whether an operator may multiply matrices by cuBLAS. A function
// of a model (or of the user's, which has no operator) may do so with the operator @.
func mayMultiply(op string) bool {
	switch op {
	case "", "linear", "bilinear", "multi_head_attention_forward", "addmm", "mm", "bmm", "matmul", "baddbmm", "einsum":
		return true
	}
	return strings.HasSuffix(op, ".forward") || strings.Contains(op, "attention")
}

// followsPass tells whether the last allocation before block i that belongs to a
// pass lies in the optimizer, in the backward pass or in the set-up of the model:
// then the next forward pass has not begun.
func (c *classifier) followsPass(i int) bool {
	const far = 1 << 16 // blocks looked at before giving up
	found := true
	for k := i - 1; k >= max(0, i-far); k-- {
		known, ok := c.leads[k]
		if !ok {
			known, ok = c.endsPass(k)
		}
		if ok {
			found = known
			break
		}
	}
	c.leads[i] = found
	return found
}

// endsPass tells, of a block that belongs to a pass, whether a forward pass may come next.
func (c *classifier) endsPass(i int) (ends, known bool) {
	site := c.sites.At(c.tl.Stack(i))
	switch {
	case c.tl.Life(i).Alloc < 0:
		return false, true
	case site.Inner < 0, site.marks.has(inOptimizer | inBackward | inConvert | inLoad | inBuckets | inShardInit | inClip | inScaler):
		return true, true
	case site.marks.has(inModule):
		return false, true
	}
	return false, false
}

// precedesCall tells whether the next module is called by the same function of the
// user's, on the same line or further down: in a loop without a backward pass this
// tells a batch from what is made of the model's output.
func (c *classifier) precedesCall(i int) bool {
	const near = 64 // blocks
	mine, ok := c.sites.UserFrame(c.tl.Stack(i))
	for k := i + 1; ok && k < min(i+near, c.tl.NumBlocks()); k++ {
		if !c.sites.At(c.tl.Stack(k)).marks.has(inModule) {
			continue
		}
		for _, f := range c.sites.rec.Stacks.Frames(c.tl.Stack(k)) {
			caller := c.sites.rec.Frames[f]
			if caller.Filename == mine.Filename && caller.Name == mine.Name {
				return caller.Line >= mine.Line
			}
		}
		return false
	}
	return false
}

func privateSegments(tl *timeline.Timeline, event int) []timeline.Segment {
	return segmentsAt(newPrivateSweep(tl).all, event)
}

// segmentsAt returns those of a list that are there after an event, by address.
func segmentsAt(list []timeline.Segment, event int) []timeline.Segment {
	var out []timeline.Segment
	for _, s := range list {
		if s.From <= event && event < s.To {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b timeline.Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

func (c *classifier) inPrivatePool(addr uint64) bool {
	k, exact := slices.BinarySearchFunc(c.private, addr, func(s timeline.Segment, a uint64) int { return cmp.Compare(s.Addr, a) })
	if !exact {
		k--
	}
	return k >= 0 && addr < c.private[k].Addr+uint64(c.private[k].SizeBytes)
}
