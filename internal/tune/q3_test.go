package tune

import (
	"fmt"
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestH(t *testing.T) {
	for _, f := range strings.Fields(os.Getenv("QF")) {
		fh, _ := os.Open(f)
		in, err := snapshot.Open(fh, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := in.Recording()
		if err != nil {
			t.Fatal(err)
		}
		tl := timeline.Build(rec, rec.Devices[0])
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Println("heap", m.HeapAlloc>>20)
		t0 := time.Now()
		p, err := Compile(tl, -1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("compile", time.Since(t0), len(p.ops), cap(p.ops), len(p.requests), p.slots, fmt.Sprintf("%+v", p.Notes))
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Println("heap", m.HeapAlloc>>20, "sys", m.Sys>>20)
		room := RecordedRoom([]*Program{p})
		tu := New(allocator.Newest, []*Program{p}, room, Options{})
		for _, c := range []string{"", "expandable_segments:True", "max_split_size_mb:20", "max_split_size_mb:128", "roundup_power2_divisions:8"} {
			s, _ := ParseSetting(allocator.Newest, c)
			t0 = time.Now()
			r := tu.try(p, &s)
			d := time.Since(t0)
			fmt.Println(c, d, float64(len(p.ops))/d.Seconds()/1e6, "Mops/s", float64(tl.Dev.Events.Len())/d.Seconds()/1e6, "Mev/s", r.PeakReserved>>20, r.Retries)
		}
		if os.Getenv("QS") != "" {
			t0 = time.Now()
			rs := tu.Search()
			fmt.Println(f, fmt.Sprintf("%+v %+v", room, p.bound()), tu.count.Runs.Load(), tu.count.Events.Load(), time.Since(t0), len(rs))
			for i, r := range rs {
				if i > 9 && !r.Recorded {
					continue
				}
				v := r.Worst()
				fmt.Printf("  %-60s lives %v smallest %.1f±%d peak %d alloc %d ret %d  spread %+v rec %v\n", r.Conf, r.Lives(), float64(r.SmallestLimit())/(1<<20), v.ToleranceBytes>>20, v.PeakReserved>>20, v.PeakAllocated>>20, v.Retries, v.Spread, r.Recorded)
			}
		}
		runtime.ReadMemStats(&m)
		fmt.Println("heap", m.HeapAlloc>>20, "sys", m.Sys>>20)
	}
}
