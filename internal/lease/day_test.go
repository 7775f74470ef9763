package lease

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var days = flag.Int("days", 3, "days of TestDay")

// job is what somebody will ask for, and how long it will take, which nobody says beforehand.
type job struct {
	request Request
	comesMS int64
	takesMS int64
}

// oneDay is 500 jobs by ten users on eight GPUs: most are small and short, some take a whole GPU for
// an hour, a few take four or eight. Two of the users ask for six tenths of all.
func oneDay(d dice) []job {
	var jobs []job
	for range 500 {
		j := job{comesMS: int64(d.intn(12 * hourMS)), takesMS: int64(3+d.intn(20)) * minuteMS}
		j.request = Request{User: fmt.Sprint("u", pick(d, 0, 1, d.intn(10), d.intn(10))), MemoryBytes: int64(8+d.intn(40)) * gib, Devices: 1, Key: fmt.Sprint(len(jobs))}
		switch d.intn(10) {
		case 0, 1:
			j.request.MemoryBytes, j.takesMS = 130*gib, int64(20+d.intn(40))*minuteMS
		case 2:
			j.request.Devices, j.request.MemoryBytes, j.takesMS = pick(d, 2, 4, 4, 8), 100*gib, int64(5+d.intn(25))*minuteMS
		}
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(x, y job) int { return cmp.Compare(x.comesMS, y.comesMS) })
	return jobs
}

// outcome is what became of a day.
type outcome struct {
	waitMS []int64 // of each job
	others []int64 // of the jobs of those who ask for little
	endMS  int64   // when the last one ended
	usedMS int64   // GiB·ms that the jobs held
}

// live plays a day. First come, first served is played by asking for a job only when the one before
// it has started.
func live(t *testing.T, jobs []job, p Policy, fcfs bool) outcome {
	b := New()
	must(b.SetPolicy(0, "root", p))
	var devices []Device
	for i := range 8 {
		devices = append(devices, Device{UUID: fmt.Sprint("G", i), CapacityBytes: 140 * gib})
	}
	must(b.SetDevices(0, "root", devices, nil))
	for _, d := range devices {
		must(b.SetForeign(0, d.UUID, 0))
	}
	var o outcome
	next := 0
	ends, mine := map[ID]int64{}, map[ID]job{}
	for now := int64(0); next < len(jobs) || len(mine) > 0; now += minuteMS {
		for _, id := range slices.Sorted(maps.Keys(ends)) {
			if ends[id] <= now {
				must(b.Release(now, id, "x", Exited))
				must(b.Freed(now, id))
				delete(ends, id)
				delete(mine, id)
				o.endMS = now
			}
		}
		for next < len(jobs) && jobs[next].comesMS <= now && !(fcfs && len(b.queue) > 0) {
			id, _, err := b.Submit(now, jobs[next].request)
			if err != nil {
				t.Fatal(err)
			}
			mine[id] = jobs[next]
			next++
		}
		for _, id := range slices.Sorted(maps.Keys(mine)) {
			j := mine[id]
			if _, started := ends[id]; !started && b.live[id].State == Granted {
				ends[id] = now + j.takesMS
				o.waitMS = append(o.waitMS, now-j.comesMS)
				if j.request.User > "u1" {
					o.others = append(o.others, now-j.comesMS)
				}
				o.usedMS += b.live[id].Bytes() / gib * j.takesMS
			}
		}
	}
	slices.Sort(o.waitMS)
	return o
}

// utilisation is the share of all memory that was held until the last job ended.
func (o *outcome) utilisation() float64 { return float64(o.usedMS) / float64(8*140*o.endMS) }

func mean(all []int64) (sum int64) {
	for _, w := range all {
		sum += w
	}
	return sum / int64(len(all))
}

// TestDay: letting those past who cannot delay the first makes jobs wait less on average than first
// come, first served. With -v it prints the figures of docs/decisions/queue-order.md.
func TestDay(t *testing.T) {
	quota := Policy{Quotas: []Quota{{Scope: User, Name: Each, PeakBytes: 800 * gib}}}
	for seed := range uint64(*days) {
		jobs := oneDay(newSeeded(seed))
		plain, ours, bounded := live(t, jobs, Policy{}, true), live(t, jobs, Policy{}, false), live(t, jobs, quota, false)
		for _, row := range []struct {
			name string
			o    outcome
		}{{"first come, first served", plain}, {"backfill", ours}, {"backfill, 800 GiB each", bounded}} {
			t.Logf("| %d | %s | %.0f %% | %d | %d | %d | %d | %.1f |", seed, row.name, 100*row.o.utilisation(), mean(row.o.waitMS)/minuteMS,
				row.o.waitMS[len(row.o.waitMS)/2]/minuteMS, row.o.waitMS[len(row.o.waitMS)-1]/minuteMS, mean(row.o.others)/minuteMS, float64(row.o.endMS)/float64(hourMS))
		}
		if len(ours.waitMS) != len(jobs) || mean(ours.waitMS) >= mean(plain.waitMS) {
			t.Errorf("day %d: jobs wait %d ms on average, and %d when served in order", seed, mean(ours.waitMS), mean(plain.waitMS))
		}
	}
}
