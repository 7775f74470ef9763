package lod

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// blocksWhere returns the blocks of which is is true.
func blocksWhere(d *Device, is func(timeline.Life) bool) (ids []uint32) {
	for b := range d.TL.NumBlocks() {
		if is(d.TL.Life(b)) {
			ids = append(ids, uint32(b))
		}
	}
	return ids
}

// TestLive: the blocks that are live at an event, and their sums.
func TestLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		i := rapid.IntRange(-1, d.Events-1).Draw(t, "event")
		want := blocksWhere(d, func(l timeline.Life) bool { return l.LiveAfter(i) })
		if diff := gocmp.Diff(want, d.LiveAt(i)); diff != "" {
			t.Fatalf("live after e%d (-want +got):\n%s", i, diff)
		}
		limit := rapid.IntRange(0, 9).Draw(t, "limit")
		if few, all := d.fewLive(i, limit); all != (len(want) <= limit) || all && !slices.Equal(few, want) {
			t.Fatalf("up to %d live after e%d: %v, %v; want %v", limit, i, few, all, want)
		}
		if diff := gocmp.Diff(naiveFold(d, want), d.FoldLive(i, bySize(d))); diff != "" {
			t.Fatalf("sums after e%d (-want +got):\n%s", i, diff)
		}
	})
}

func naiveFold(d *Device, ids []uint32) []Sum {
	list := []Sum{}
	for _, b := range ids {
		k := slices.IndexFunc(list, func(s Sum) bool { return s.Group == bySize(d)(int(b)) })
		if k < 0 {
			k, list = len(list), append(list, Sum{Group: bySize(d)(int(b))})
		}
		list[k].Bytes += d.TL.Life(int(b)).SizeBytes
		list[k].Blocks++
	}
	sortSums(list)
	return list
}

// TestBorn: what a range of events allocates.
func TestBorn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		from := rapid.IntRange(0, d.Events).Draw(t, "from")
		to := rapid.IntRange(from, d.Events).Draw(t, "to")
		want := naiveFold(d, blocksWhere(d, func(l timeline.Life) bool { return l.Alloc >= from && l.Alloc < to }))
		if diff := gocmp.Diff(want, d.FoldBorn(from, to, bySize(d))); diff != "" {
			t.Fatalf("events [%d, %d) (-want +got):\n%s", from, to, diff)
		}
	})
}

// TestSeek: the next and the previous event of each kind.
func TestSeek(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		g := d.Group(bySize(d))
		i := rapid.IntRange(-1, d.Events).Draw(t, "event")
		block := rapid.IntRange(0, max(d.TL.NumBlocks()-1, 0)).Draw(t, "block")
		group := rapid.Uint32Range(0, uint32(g.Groups)).Draw(t, "group")
		action := func(e int) snapshot.Action { return d.TL.Dev.Events.At(e).Action }
		isLost := func(e int) bool {
			return slices.ContainsFunc(d.lost, func(b uint32) bool { return d.TL.Life(int(b)).FreeRequested == e && g.Of(int(b)) == group })
		}
		for _, c := range []struct {
			what       string
			next, prev int
			is         func(e int) bool
		}{
			{"segment", d.NextSegment(i), d.PrevSegment(i), func(e int) bool { return action(e).MovesSegment() }},
			{"failed allocation", d.NextOOM(i), d.PrevOOM(i), func(e int) bool { return action(e) == snapshot.OOM }},
			{"group", g.NextOf(group, i), g.PrevOf(group, i), func(e int) bool {
				b := d.TL.BlockOf(e)
				return isLost(e) || b >= 0 && g.Of(b) == group && (d.TL.Life(b).Alloc == e || d.TL.Life(b).FreeRequested == e)
			}},
		} {
			checkSeek(t, d, c.what, i, c.next, c.prev, c.is)
		}
		if d.TL.NumBlocks() > 0 {
			l := d.TL.Life(block)
			checkSeek(t, d, "block", i, d.NextOfBlock(block, i), d.PrevOfBlock(block, i), func(e int) bool {
				return e == l.Alloc || e == l.FreeRequested || e == l.FreeCompleted
			})
		}
	})
}

func checkSeek(t *rapid.T, d *Device, what string, i, next, prev int, is func(e int) bool) {
	wantNext, wantPrev := -1, -1
	for e := d.Events - 1; e > i; e-- {
		if e >= 0 && is(e) {
			wantNext = e
		}
	}
	for e := range min(max(i, 0), d.Events) {
		if is(e) {
			wantPrev = e
		}
	}
	if next != wantNext || prev != wantPrev {
		t.Fatalf("%s from e%d of %d: next e%d, previous e%d; not e%d, e%d", what, i, d.Events, wantNext, wantPrev, next, prev)
	}
}
