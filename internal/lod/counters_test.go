package lod

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/timeline"
)

// counted returns the counters after every event.
func counted(d *Device) (all []timeline.Totals) {
	d.TL.Walk(0, d.Events, func(_ int, now timeline.Totals) { all = append(all, now) })
	return all
}

// drawEdges draws edges of buckets, empty ones among them.
func drawEdges(t *rapid.T, events int) []int {
	edge := rapid.SliceOfN(rapid.IntRange(0, events), 2, 40).Draw(t, "edges")
	slices.Sort(edge)
	return edge
}

// TestBuckets: every bucket has what the events in it have, and the highest value of
// all of them is the peak.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		all, edge := counted(d), drawEdges(t, d.Events)
		got, want := d.Counters.Buckets(edge), naiveBuckets(d, all, edge)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("buckets of %d events (-each event +got):\n%s", d.Events, diff)
		}
		at, bytes := d.Counters.peaks(edge)
		for j, e := range at {
			if want := naivePeak(all, edge[j], edge[j+1]); e != want || bytes[j] != got.Max[Allocated][j] {
				t.Fatalf("bucket %d, events [%d, %d): the peak is at %d, not %d, or not %d", j, edge[j], edge[j+1], want, e, bytes[j])
			}
		}
		for j, sum := range d.Counters.areas(edge) {
			var want uint64
			for _, v := range all[edge[j]:edge[j+1]] {
				want += uint64(v.Allocated)
			}
			if sum != want {
				t.Fatalf("bucket %d: allocated adds up to %d, not %d", j, want, sum)
			}
		}
	})
}

func naiveBuckets(d *Device, all []timeline.Totals, edge []int) *Buckets {
	b := &Buckets{Edge: edge}
	before := func(i int) values {
		if i == 0 {
			return valuesOf(d.TL.Start)
		}
		return valuesOf(all[i-1])
	}
	for j := range len(edge) - 1 {
		last := before(edge[j+1])
		x := extent{last, last}
		for _, v := range all[edge[j]:edge[j+1]] {
			x.join(extent{valuesOf(v), valuesOf(v)})
		}
		for s := range numSeries {
			b.Min[s], b.Max[s], b.Last[s] = append(b.Min[s], x.min[s]), append(b.Max[s], x.max[s]), append(b.Last[s], last[s])
		}
	}
	return b
}

// naivePeak returns the first event of [from, to) after which allocated is highest.
func naivePeak(all []timeline.Totals, from, to int) int {
	at := -1
	for i := from; i < to; i++ {
		if at < 0 || all[i].Allocated > all[at].Allocated {
			at = i
		}
	}
	return at
}

// TestCountersAt: the counters after any one event are those of the timeline.
func TestCountersAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		i := rapid.IntRange(-1, d.Events-1).Draw(t, "event")
		if got, want := d.Counters.At(i), d.TL.TotalsAt(i); got != want {
			t.Fatalf("after e%d: %+v, not %+v", i, want, got)
		}
	})
}

// TestPeakIsNeverLost: the buckets of every level of detail have the timeline's peaks.
func TestPeakIsNeverLost(t *testing.T) {
	s := newScene(3, false)
	s.run(5000)
	d := New(s.build(0))
	for _, walk := range []int{0, walkEvents} {
		d.Counters.walkUpTo = walk
		for level := range 14 {
			var highest values
			for i := int64(0); ; i++ {
				_, edge, ok := d.EventEdges(Tile(level, i))
				if !ok {
					break
				}
				b := d.Counters.Buckets(edge)
				for s := range numSeries {
					highest[s] = max(highest[s], slices.Max(b.Max[s]))
				}
			}
			p := d.TL.Peak
			if want := (values{p.Allocated.Bytes, p.Reserved.Bytes, p.Active.Bytes, p.Requested.Bytes}); highest != want {
				t.Errorf("level %d: the highest values are %v, the peaks %v", level, highest, want)
			}
		}
	}
}

// TestTimes: times are those of events where the clock does not run backwards, and an
// event is found by its time.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		var now int64
		var times []int64
		for i := range d.Events {
			now = max(now, d.TL.Dev.Events.At(i).TimeUS-d.Times.FirstUS)
			times = append(times, now)
			if got := d.Times.At(i); got != now {
				t.Fatalf("e%d is at %d us, not %d", i, now, got)
			}
		}
		if d.Times.EndUS != now {
			t.Fatalf("the last event is at %d us, not %d", now, d.Times.EndUS)
		}
		us := rapid.Int64Range(-1, now+2).Draw(t, "time")
		want, _ := slices.BinarySearch(times, us)
		if got := d.Times.Event(us); got != want {
			t.Fatalf("e%d is the first at %d us or later, not e%d", want, us, got)
		}
	})
}

// TestTimeEdges: the buckets of a tile of times have the events of those times, each in
// one bucket.
func TestTimeEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		r := Range{Level: rapid.IntRange(0, 14).Draw(t, "level"), First: rapid.Int64Range(0, 40).Draw(t, "first"), N: rapid.IntRange(1, 20).Draw(t, "n")}
		r, edge, ok := d.TimeEdges(r)
		if !ok {
			if r.First<<r.Level <= d.Times.EndUS {
				t.Fatalf("no buckets from %d us; the last event is at %d us", r.From(), d.Times.EndUS)
			}
			return
		}
		for j := range r.N {
			low, high := (r.First+int64(j))<<r.Level, (r.First+int64(j)+1)<<r.Level
			for i := range d.Events {
				us := d.Times.At(i)
				if in := edge[j] <= i && i < edge[j+1]; in != (us >= low && us < high) {
					t.Fatalf("bucket [%d, %d) us is events [%d, %d); e%d is at %d us", low, high, edge[j], edge[j+1], i, us)
				}
			}
		}
	})
}

// TestWithoutTimes: a recording without times has no axis of time, and counts events.
func TestWithoutTimes(t *testing.T) {
	s := newScene(1, false)
	s.run(100)
	s.events.HasTimes = false
	tl := s.build(0)
	tl.Dev.Events.HasTimes = false
	d := New(tl)
	if _, _, ok := d.TimeEdges(Tile(0, 0)); ok || d.Times.At(50) != 0 || d.Times.Event(10) != 0 {
		t.Error("a recording without times has some")
	}
	if _, ok := d.CountersTile(Tile(0, 0), true); ok {
		t.Error("a recording without times has a tile of them")
	}
	if _, ok := d.CountersTile(Tile(0, 0), false); !ok {
		t.Error("a recording without times has no counters")
	}
}
