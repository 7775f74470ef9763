package timeline

import (
	stdcmp "cmp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestRanges holds the set against a plain list: more ranges than a leaf has room for,
// cut at random.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranges
		var want []mapped
		step := rapid.Uint64Range(1, 5).Draw(t, "step")
		n := rapid.Uint64Range(0, 4*leafCap).Draw(t, "ranges")
		for i := range n { // in an order that fills leaves everywhere
			at := 1000 + (i*7919%max(n, 1))*10*step
			if n%7919 != 0 && len(r.over(at, at+10*step)) == 0 {
				r.add(at, at+10*step, int32(i))
				want = append(want, mapped{at, at + 10*step, int32(i)})
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "cuts") {
			from := rapid.Uint64Range(0, 1000+40*leafCap*step).Draw(t, "from")
			to := from + rapid.Uint64Range(1, 200*step).Draw(t, "length")
			gone := r.cut(from, to)
			var rest, wantGone []mapped
			for _, g := range want {
				if g.to <= from || g.from >= to {
					rest = append(rest, g)
					continue
				}
				wantGone = append(wantGone, g)
				for _, part := range []mapped{{g.from, from, g.id}, {to, g.to, g.id}} {
					if part.from < part.to {
						rest = append(rest, part)
					}
				}
			}
			want = rest
			slices.SortFunc(wantGone, byFrom)
			if diff := cmp.Diff(wantGone, gone, cmp.AllowUnexported(mapped{})); diff != "" {
				t.Fatalf("cut of [%d, %d) (-want +got):\n%s", from, to, diff)
			}
			checkRanges(t, &r, want)
		}
		checkRanges(t, &r, want)
	})
}

func byFrom(a, b mapped) int { return stdcmp.Compare(a.from, b.from) }

func checkRanges(t *rapid.T, r *ranges, want []mapped) {
	slices.SortFunc(want, byFrom)
	if !slices.Equal(r.all(), want) {
		t.Fatalf("ranges %v, want %v", r.all(), want)
	}
	var bytes int64
	for i, g := range want {
		bytes += int64(g.to - g.from)
		if got, ok := r.find(g.from); !ok || got != g {
			t.Fatalf("at %d: %v, %v", g.from, got, ok)
		}
		if id, ok := r.near(g.to, g.to+1); !ok || id != g.id && (i+1 == len(want) || want[i+1].from != g.to+1) {
			t.Fatalf("near the end of %v: %d, %v", g, id, ok)
		}
	}
	if r.bytes != bytes {
		t.Fatalf("%d bytes, want %d", r.bytes, bytes)
	}
}

// BenchmarkManySegments replays hostile orders of segments. Budget: 3 µs an event,
// however many there are.
func BenchmarkManySegments(b *testing.B) {
	const n = 200_000
	for name, event := range map[string]func(i int) snapshot.Event{
		"descending": func(i int) snapshot.Event {
			return snapshot.Event{Action: snapshot.SegmentAlloc, Addr: 1<<50 - uint64(i)*4*mib, SizeBytes: 2 * mib}
		},
		"freed-before-they-came": func(i int) snapshot.Event {
			return snapshot.Event{Action: snapshot.SegmentFree, Addr: 1<<40 + uint64(i)*4*mib, SizeBytes: 2 * mib}
		},
		"pages-apart": func(i int) snapshot.Event {
			return snapshot.Event{Action: snapshot.SegmentMap, Addr: 1<<50 - uint64(i)*4*mib, SizeBytes: 2 * mib}
		},
	} {
		b.Run(name, func(b *testing.B) {
			var events []snapshot.Event
			for i := range n {
				events = append(events, event(i))
			}
			rec, dev := trace(snapshot.GPU, events)
			for b.Loop() {
				Build(rec, dev)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		})
	}
}
