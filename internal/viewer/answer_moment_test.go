package viewer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/table"
)

// answered are recordings of every kind, as the tests of single answers use them.
var answered = []string{
	"recordings/bert_varlen-lim16.pickle.xz", "recordings/bert_varlen-ring.pickle.xz", "recordings/cudagraph.pickle.xz",
	"recordings/fsdp2-rank0.pickle.xz", "recordings/leak_eval_outputs-oom.pickle.xz", "gpu/oom_stranded_on_stream.pickle.xz", "gpu/late_start.pickle.xz",
}

// device is the first device of a recording, with the path of its answers.
func device(t testing.TB, name string) (*Device, string) {
	t.Helper()
	s := serve(t, name)
	return s.session.devices()[0], first(t, s)
}

// TestMomentAtThePeak: what fills the segments at the peak adds up to what explain says.
func TestMomentAtThePeak(t *testing.T) {
	for _, name := range answered {
		t.Run(name, func(t *testing.T) {
			s := serve(t, name)
			x := answerJSON[struct{ Accounting report.AccountingJSON }](t, s, first(t, s)+"/explain").Accounting
			m := answerJSON[momentJSON](t, s, fmt.Sprintf("%s/moment?event=%d", first(t, s), x.Event))
			var byState [3]int64
			var reserved int64
			for i := range m.Segments {
				g := &m.Segments[i]
				reserved += g.SizeBytes
				checkSpans(t, g)
				for k, state := range g.Spans.State {
					byState[state] += g.Spans.Size[k]
				}
			}
			want := [3]int64{x.CachedBytes, x.RequestedBytes + x.RoundingBytes, x.PendingFreeBytes}
			if byState != want || reserved != x.ReservedBytes {
				t.Errorf("e%d: free, allocated, pending %v of %d; explain has %v of %d", x.Event, byState, reserved, want, x.ReservedBytes)
			}
			if m.Totals.AllocatedBytes != byState[1] || m.Totals.ReservedBytes != reserved {
				t.Errorf("totals %+v, the segments hold %v", m.Totals, byState)
			}
		})
	}
}

// checkSpans checks that spans ascend without gaps and fill their segment.
func checkSpans(t testing.TB, g *momentSegment) {
	t.Helper()
	var at int64
	for k, offset := range g.Spans.Offset {
		if offset != at {
			t.Fatalf("segment %s: span %d begins at %d, the one before ends at %d", g.Address, k, offset, at)
		}
		at += g.Spans.Size[k]
		if (g.Spans.Block[k] < 0) != (g.Spans.State[k] == 0) {
			t.Fatalf("segment %s: span %d of state %d is block %d", g.Address, k, g.Spans.State[k], g.Spans.Block[k])
		}
	}
	if at != g.SizeBytes {
		t.Fatalf("segment %s of %d bytes is filled up to %d", g.Address, g.SizeBytes, at)
	}
}

// TestAnyMoment: at any event a moment is the replay's state, and the event's own row.
func TestAnyMoment(t *testing.T) {
	d, path := device(t, "recordings/leak_eval_outputs-oom.pickle.xz")
	s := serve(t, "recordings/leak_eval_outputs-oom.pickle.xz")
	rapid.Check(t, func(rt *rapid.T) {
		event := rapid.IntRange(-1, d.Events()-1).Draw(rt, "event")
		by := rapid.SampledFrom(groupingNames[:]).Draw(rt, "by")
		m := answerJSON[momentJSON](t, s, fmt.Sprintf("%s/moment?by=%s&event=%d", path, by, event))
		state := d.TL.StateAt(event)
		if len(m.Segments) != len(state.Segments) || (m.Action == nil) != (event < 0) {
			rt.Fatalf("e%d: %d segments and action %v; the replay has %d", event, len(m.Segments), m.Action, len(state.Segments))
		}
		for i := range m.Segments {
			checkSpans(t, &m.Segments[i])
			for k, b := range m.Segments[i].Spans.Block {
				if b >= 0 && m.Segments[i].Spans.Group[k] != d.Grouping(by).Named(b) {
					rt.Fatalf("e%d: block %d is in group %d", event, b, m.Segments[i].Spans.Group[k])
				}
			}
		}
	})
}

// TestBlocksAndEvents: a block's answer is its row of the table with more, and so is an event's.
func TestBlocksAndEvents(t *testing.T) {
	for _, name := range answered {
		d, path := device(t, name)
		s := serve(t, name)
		for _, b := range []int{0, d.TL.NumBlocks() / 2, d.TL.NumBlocks() - 1} {
			j := answerJSON[blockJSON](t, s, fmt.Sprintf("%s/block/%d", path, b))
			row := d.made.tables().Row("blocks", b)
			got := map[string]any{
				"address": j.Address, "size_bytes": j.SizeBytes, "requested_bytes": j.RequestedBytes, "stream": j.Stream, "category": j.Category,
				"site": j.Site, "site_id": j.SiteID, "module": j.Module, "op": j.Op, "alloc_event": j.AllocEvent,
			}
			for name, value := range got {
				if value != row[name] {
					t.Errorf("%s: %s of block %d is %v, in the table %v", d.File, name, b, value, row[name])
				}
			}
			if len(j.Frames) != len(d.Sites.Frames(d.TL.Stack(b))) {
				t.Errorf("%s: block %d has %d frames", d.File, b, len(j.Frames))
			}
		}
		last := answerJSON[map[string]any](t, s, fmt.Sprintf("%s/event/%d", path, d.Events()-1))
		if int(last["event"].(float64)) != d.Events()-1 || last["totals"] == nil || last["frames"] == nil {
			t.Errorf("%s: the last event is %v", d.File, last)
		}
	}
}

// TestSiteNumbers: a site has one number, in the table, in a block's answer and in the
// groups of the timeline, where it has one name too.
func TestSiteNumbers(t *testing.T) {
	d, path := device(t, "recordings/bert_varlen-lim16.pickle.xz")
	s := serve(t, "recordings/bert_varlen-lim16.pickle.xz")
	names := map[int]string{}
	for _, g := range answerJSON[deviceJSON](t, s, path).Groupings {
		if g.By == "site" {
			for _, x := range g.Groups {
				names[x.ID] = x.Name
			}
		}
	}
	a := answerJSON[struct{ Data [][]any }](t, s, path+"/table/sites?count=1000")
	for _, row := range a.Data {
		id := int(row[0].(float64))
		if name, ok := names[id]; ok && name != row[1] {
			t.Errorf("site %d is %q in the table and %q in the groups", id, row[1], name)
		}
		delete(names, id)
	}
	if len(names) > 0 {
		t.Errorf("these groups are not in the table: %v", names)
	}
	for b := 0; b < d.TL.NumBlocks(); b += 997 {
		if got, want := answerJSON[blockJSON](t, s, fmt.Sprintf("%s/block/%d", path, b)).SiteID, d.Grouping("site").Of(b); got != want {
			t.Errorf("block %d is of site %d, in the groups of %d", b, got, want)
		}
	}
}

// TestNext: a step finds what a walk over all events finds.
func TestNext(t *testing.T) {
	const name = "recordings/bert_varlen-lim16.pickle.xz"
	d, path := device(t, name)
	s := serve(t, name)
	rapid.Check(t, func(rt *rapid.T) {
		of := rapid.SampledFrom(kindsOfNext).Draw(rt, "of")
		event := rapid.IntRange(-1, d.Events()-1).Draw(rt, "event")
		block := rapid.IntRange(0, d.TL.NumBlocks()-1).Draw(rt, "block")
		dir := rapid.SampledFrom([]string{"next", "prev"}).Draw(rt, "dir")
		got := answerJSON[nextJSON](t, s, fmt.Sprintf("%s/next?block=%d&dir=%s&event=%d&of=%s", path, block, dir, event, of))
		want := -1
		is := isOf(d, of, block)
		for i := event; ; {
			if dir == "next" {
				i++
			} else {
				i--
			}
			if i < 0 || i >= d.Events() {
				break
			}
			if is(i) {
				want = i
				break
			}
		}
		if (got.Event == nil) != (want < 0) || got.Event != nil && *got.Event != want {
			rt.Fatalf("%s of %s from e%d (block %d): %v, want %d", dir, of, event, block, got.Event, want)
		}
	})
}

// isOf tells whether an event is one that steps of a kind stop at.
func isOf(d *Device, of string, block int) func(i int) bool {
	list := map[string][]int{"oom": d.TL.OOMs, "step": d.X.Steps.Bounds, "retry": d.made.retries()}[of]
	return func(i int) bool {
		e, b := d.TL.Dev.Events.At(i), d.TL.BlockOf(i)
		frees := b >= 0 && d.TL.Life(b).FreeRequested == i
		allocates := b >= 0 && d.TL.Life(b).Alloc == i
		switch of {
		case "alloc":
			return table.ActionName(e.Action) == "alloc"
		case "free":
			return frees
		case "segment":
			return e.Action.MovesSegment()
		case "block":
			return b == block
		case "site":
			return (frees || allocates) && d.made.lines().OfBlock(d.TL, b) == d.made.lines().OfBlock(d.TL, block)
		}
		for _, event := range list {
			if event == i {
				return true
			}
		}
		return false
	}
}

// TestCompare: what changed is what explain --against prints.
func TestCompare(t *testing.T) {
	s := serve(t, "recordings/ddp-rank0.pickle.xz", "recordings/ddp-rank1.pickle.xz")
	list := s.session.devices()
	j := answerJSON[compareJSON](t, s, fmt.Sprintf("compare?a=%s/0&b=%s/0", list[0].ID, list[1].ID))
	side := func(d *Device) analyze.DiffSide {
		return analyze.DiffSide{TL: d.TL, Sites: d.Sites, Event: d.TL.Peak.Allocated.Event}
	}
	want := analyze.Diff(side(list[0]), side(list[1]), -1)
	if diff := cmp.Diff([2]analyze.DiffTotals{want.Before, want.After}, [2]analyze.DiffTotals{j.Totals.Before, j.Totals.After}); diff != "" {
		t.Errorf("totals (-diff +answer):\n%s", diff)
	}
	var sites, categories int64
	for _, c := range j.Sites {
		sites += c.ChangeBytes
	}
	for _, c := range j.Categories {
		categories += c.ChangeBytes
	}
	if change := want.After.AllocatedBytes - want.Before.AllocatedBytes; sites != change || categories != change {
		t.Errorf("sites change by %d and categories by %d, the whole by %d", sites, categories, change)
	}
	if len(j.Sites) != len(want.Changed) || j.Same != want.Same {
		t.Errorf("%d sites changed and %d not; want %d and %d", len(j.Sites), j.Same, len(want.Changed), want.Same)
	}
}
