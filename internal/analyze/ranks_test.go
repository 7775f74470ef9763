package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/rules"
)

// rankRow is a rank on a device of its own.
func rankRow(rank int, allocatedMiB int64) RankRow {
	return RankRow{
		File: fmt.Sprintf("job/rank%d.pickle", rank), Rank: rank, Device: rank, Events: 1000, AllocatedBytes: allocatedMiB * mib, ReservedBytes: allocatedMiB * mib,
		Verdict: Verdict{Healthy, "Healthy: fine."},
		Lines:   []HolderGroup{{Name: "train.py:10 step", Bytes: allocatedMiB * mib}},
	}
}

func rankRules(r RanksReport) []string {
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.Severity.String()+" "+f.Rule)
	}
	return ids
}

// TestOddRank finds the rank that stands out, if one does.
func TestOddRank(t *testing.T) {
	for _, c := range []struct {
		name  string
		mibs  []int64
		want  []string
		title string
	}{
		{"all alike", []int64{8000, 8010, 7990, 8005}, nil, ""},
		{"one is higher", []int64{8000, 8010, 12000, 8005}, []string{"warning ranks/odd-one-out"}, "rank 2 peaks at 11.72 GiB allocated, rank 3 at 7.82 GiB"},
		{"one is lower", []int64{8000, 4000, 8010, 8005}, []string{"warning ranks/odd-one-out"}, "rank 1 peaks at 3.91 GiB allocated, rank 0 at 7.81 GiB"},
		{"two that differ", []int64{8000, 12000}, []string{"info ranks/odd-one-out"}, "rank 1 peaks at 11.72 GiB allocated, rank 0 at 7.81 GiB"},
		{"much in bytes, little in share", []int64{80000, 80010, 84000}, nil, ""},
		{"much in share, little in bytes", []int64{100, 110, 300}, nil, ""},
		{"one rank", []int64{8000}, nil, ""},
		{"none", nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows []RankRow
			for rank, n := range c.mibs {
				rows = append(rows, rankRow(rank, n))
			}
			r := CompareRanks(rows)
			if diff := cmp.Diff(c.want, rankRules(r)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(c.want) == 0 {
				return
			}
			if f := r.Findings[0]; f.Title != c.title || !strings.Contains(strings.Join(f.Evidence, "\n"), "train.py:10 step") {
				t.Errorf("%s: %q", f.Title, f.Evidence)
			}
		})
	}
}

// TestStrayMemory finds what ranks put on GPUs that others work on, and lets devices
// that a process does work on be.
func TestStrayMemory(t *testing.T) {
	stray := func(rank, device, events int, mibs int64) RankRow {
		r := rankRow(rank, mibs)
		r.Device, r.Events = device, events
		return r
	}
	for _, c := range []struct {
		name string
		rows []RankRow
		want []string
	}{
		{"a context on GPU 0", []RankRow{rankRow(0, 9000), rankRow(1, 9000), stray(1, 0, 4, 1024)}, []string{"warning ranks/context-on-gpu0"}},
		{"from every rank", []RankRow{rankRow(0, 9000), rankRow(1, 9000), stray(1, 0, 4, 1024), rankRow(2, 9000), stray(2, 0, 4, 1024)}, []string{"warning ranks/context-on-gpu0", "warning ranks/context-on-gpu0"}},
		{"DataParallel", []RankRow{rankRow(0, 9000), stray(0, 1, 900, 8000)}, nil},
		{"an empty device", []RankRow{rankRow(0, 9000), stray(0, 1, 4, 0)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := CompareRanks(c.rows)
			if diff := cmp.Diff(c.want, rankRules(r)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, f := range r.Findings {
				if f.Confidence != rules.High || f.Bytes != 1024*mib || !strings.Contains(f.Title, "1.00 GiB on GPU 0") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestJobVerdict takes the worst rank's verdict for the job's.
func TestJobVerdict(t *testing.T) {
	with := func(rank int, kind VerdictKind) RankRow {
		r := rankRow(rank, 8000)
		r.Verdict = Verdict{kind, "It is " + string(kind) + "."}
		return r
	}
	for _, c := range []struct {
		rows []RankRow
		want Verdict
	}{
		{[]RankRow{with(0, Healthy), with(1, OutOfMemory), with(2, Leaking)}, Verdict{OutOfMemory, "Rank 1: It is out-of-memory."}},
		{[]RankRow{with(0, OutOfMemory), with(1, OutOfMemory), with(2, Healthy)}, Verdict{OutOfMemory, "Rank 0, and 1 more of 3: It is out-of-memory."}},
		{[]RankRow{with(0, Wasting), with(1, Leaking)}, Verdict{Leaking, "Rank 1: It is leak."}},
		{[]RankRow{with(0, Healthy), with(1, Wasting)}, Verdict{Wasting, "No rank ran out of memory and none leaks. The verdict on rank 1: It is fragmentation."}},
		{[]RankRow{with(0, Healthy), with(1, Healthy)}, Verdict{Healthy, "No rank ran out of memory and none leaks. The verdict on rank 0: It is healthy."}},
		{nil, Verdict{Unclear, "Nothing was recorded."}},
	} {
		if got := CompareRanks(c.rows).Verdict; got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// TestRanksInAnyOrder: the order in which files are given changes nothing.
func TestRanksInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []RankRow
		for rank := range rapid.IntRange(0, 6).Draw(t, "ranks") {
			rows = append(rows, rankRow(rank, rapid.Int64Range(0, 10000).Draw(t, "MiB")))
			if rapid.Bool().Draw(t, "stray") {
				s := rankRow(rank, rapid.Int64Range(0, 2000).Draw(t, "stray MiB"))
				s.Device, s.Events = 7, rapid.IntRange(0, 100).Draw(t, "events")
				rows = append(rows, s)
			}
		}
		want := CompareRanks(rows)
		if diff := cmp.Diff(want, CompareRanks(rapid.Permutation(rows).Draw(t, "order"))); diff != "" {
			t.Fatalf("(-as given +in another order):\n%s", diff)
		}
	})
}
