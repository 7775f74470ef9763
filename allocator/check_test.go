package allocator

import (
	"fmt"
	"sort"
	"testing"
)

// check recomputes from the blocks alone all that the Allocator keeps beside
// them, and the rules that blocks obey.
func check(t testing.TB, a *Allocator) {
	t.Helper()
	if err := verify(a); err != nil {
		t.Fatal(err)
	}
}

// tally is what the blocks add up to.
type tally struct {
	requested, allocated, active, reserved int64
	sets                                   map[string][]entry // by heap and kind, in any order
	live                                   int
	blocks                                 int
}

func verify(a *Allocator) error {
	sum := &tally{sets: map[string][]entry{}}
	for seg := range a.segments {
		if a.segments[seg].first != None {
			if err := verifySegment(a, int32(seg), sum); err != nil {
				return fmt.Errorf("segment %#x: %w", a.segments[seg].addr, err)
			}
		}
	}
	got := [4]int64{a.requested, a.allocated, a.active, a.reserved}
	if want := [4]int64{sum.requested, sum.allocated, sum.active, sum.reserved}; got != want {
		return fmt.Errorf("totals %v, the blocks add up to %v", got, want)
	}
	if a.live.n != sum.live {
		return fmt.Errorf("%d blocks by address, %d live", a.live.n, sum.live)
	}
	for i := range a.blocks {
		if a.blocks[i].state == ended {
			sum.blocks++
		}
	}
	if n := len(a.blocks) - len(a.deadBlocks); n != sum.blocks {
		return fmt.Errorf("%d blocks not dead, %d in segments", n, sum.blocks)
	}
	return verifySets(a, sum)
}

func verifySegment(a *Allocator, seg int32, sum *tally) error {
	s := &a.segments[seg]
	at, before := s.addr, None
	for id := s.first; id != None; id = a.blocks[id].next {
		b := &a.blocks[id]
		switch {
		case b.addr != at || b.size <= 0:
			return fmt.Errorf("block of %d bytes at %#x, want it at %#x", b.size, b.addr, at)
		case b.prev != before || b.seg != seg || b.heap != s.heap || b.expandable != s.expandable:
			return fmt.Errorf("block %#x is linked wrongly: %+v", b.addr, *b)
		case before != None && b.state == a.blocks[before].state && !b.live():
			return fmt.Errorf("blocks before and at %#x should be one", b.addr)
		case b.state == dead || b.state == unmapped && !s.expandable:
			return fmt.Errorf("block %#x has state %d", b.addr, b.state)
		}
		if err := sum.add(a, id); err != nil {
			return err
		}
		at, before = b.end(), id
	}
	if at != s.addr+uint64(s.size) {
		return fmt.Errorf("blocks end at %#x, the segment at %#x", at, s.addr+uint64(s.size))
	}
	return nil
}

func (sum *tally) add(a *Allocator, id BlockID) error {
	b := &a.blocks[id]
	sum.blocks++
	if b.state != unmapped {
		sum.reserved += b.size
		sum.sets["index"] = append(sum.sets["index"], entry{b.addr, 0, int32(id)})
	}
	switch b.state {
	case unmapped:
		k := fmt.Sprint("unmapped ", b.heap)
		sum.sets[k] = append(sum.sets[k], entry{b.addr, 0, int32(id)})
	case free:
		k := fmt.Sprint("free ", b.heap)
		sum.sets[k] = append(sum.sets[k], entry{uint64(b.size), b.addr, int32(id)})
	case allocated, pending:
		sum.live++
		sum.requested += b.requested
		sum.active += b.size
		if b.state == allocated {
			sum.allocated += b.size
		}
		if a.live.get(b.addr) != id {
			return fmt.Errorf("live block %#x is not found by its address", b.addr)
		}
	}
	return nil
}

func verifySets(a *Allocator, sum *tally) error {
	for i, h := range a.heaps {
		if err := sameSet(&h.free, sum.sets[fmt.Sprint("free ", i)]); err != nil {
			return fmt.Errorf("free list of %+v: %w", h.heapKey, err)
		}
		if err := sameSet(&h.unmapped, sum.sets[fmt.Sprint("unmapped ", i)]); err != nil {
			return fmt.Errorf("unmapped of %+v: %w", h.heapKey, err)
		}
	}
	if a.indexed {
		if err := sameSet(&a.index, sum.sets["index"]); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	var regions int64
	end := uint64(0)
	for _, r := range entries(&a.regions) {
		if r.hi < end {
			return fmt.Errorf("memory at %#x overlaps what is before it", r.hi)
		}
		end = r.hi + r.lo
		regions += int64(r.lo)
	}
	if regions != sum.reserved {
		return fmt.Errorf("regions hold %d bytes, reserved are %d", regions, sum.reserved)
	}
	return nil
}

func sameSet(s *set, want []entry) error {
	got := entries(s)
	sort.Slice(want, func(i, j int) bool { return want[i].below(want[j].hi, want[j].lo) })
	if len(got) != len(want) || len(got) != s.n {
		return fmt.Errorf("%d entries (count %d), want %d", len(got), s.n, len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("entry %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

func entries(s *set) []entry {
	var out []entry
	for _, leaf := range s.leaves {
		out = append(out, leaf...)
	}
	return out
}
