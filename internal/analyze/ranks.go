package analyze

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// RankRow is what comparing ranks needs of one device of one file.
type RankRow struct {
	File           string
	Rank           int // -1 where nothing tells
	Device         int
	Host           bool
	Main           bool // the device that the process works on: the one with the most events
	Events         int
	AllocatedBytes int64 // peak
	ReservedBytes  int64 // peak
	Verdict        Verdict
	Died           bool
	Lines          []HolderGroup    // all lines of the user's code that hold memory at the peak
	First          []snapshot.Frame // stack of the largest block
}

// Row makes the row of an explanation.
func (x *Explanation) Row() RankRow {
	return RankRow{
		File: x.TL.Rec.Source.Name, Rank: x.TL.Rec.Source.Rank, Device: x.TL.Dev.Index, Host: x.TL.Dev.Kind == snapshot.Host, Events: x.TL.Dev.Events.Len(),
		AllocatedBytes: x.TL.Peak.Allocated.Bytes, ReservedBytes: x.TL.Peak.Reserved.Bytes, Verdict: x.Verdict, Died: x.OOMs.Fatal != nil,
		Lines: NewHeld(x.TL, x.Sites, x.TL.Peak.Allocated.Event).Groups(HolderOptions{By: ByLine, Top: -1}),
		First: x.Sites.Frames(x.Fragmented.LargestRequest.Stack),
	}
}

// RanksReport compares the ranks of one job.
type RanksReport struct {
	Verdict  Verdict   // on the job
	Rows     []RankRow // by rank, then device; the main device of each file first
	Findings []rules.Finding
}

// What makes a rank stand out: the ranks of one job rarely differ by as little as
// this through their data alone.
const (
	oddShare = 0.10
	oddBytes = 256 << 20
)

// strayEvents is the share of a process's events below which a device is not one
// that it works on. DataParallel works on all of its devices about alike.
const strayEvents = 0.05

// CompareRanks compares the devices of several files, or of one.
func CompareRanks(rows []RankRow) RanksReport {
	r := RanksReport{Rows: slices.Clone(rows)}
	markMain(r.Rows)
	slices.SortStableFunc(r.Rows, func(a, b RankRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.File, b.File), -compareBool(a.Main, b.Main), cmp.Compare(a.Device, b.Device))
	})
	r.Findings = append(r.Findings, strays(r.Rows)...)
	if f, ok := oddOneOut(r.Rows); ok {
		r.Findings = append(r.Findings, f)
	}
	for i := range r.Findings {
		r.Findings[i] = rules.Complete(r.Findings[i])
	}
	r.Verdict = r.judge()
	return r
}

// kindOrder is the verdicts by how much they matter to a job.
var kindOrder = []VerdictKind{OutOfMemory, Leaking, Wasting, Unclear, Healthy}

// judge gives the verdict on the job: that of the worst rank, or what sets one apart.
func (r *RanksReport) judge() Verdict {
	for _, kind := range kindOrder[:2] {
		var hit []RankRow
		for _, row := range r.Rows {
			if row.Verdict.Kind == kind {
				hit = append(hit, row)
			}
		}
		if len(hit) > 0 {
			return Verdict{kind, fmt.Sprintf("%s: %s", rankNames(hit, len(r.Rows)), hit[0].Verdict.Text)}
		}
	}
	for _, f := range r.Findings {
		if f.Severity >= rules.Warning {
			return Verdict{Wasting, capital(f.Title) + "."}
		}
	}
	for _, kind := range kindOrder[2:] {
		for _, row := range r.Rows {
			if row.Verdict.Kind == kind {
				return Verdict{kind, fmt.Sprintf("No rank ran out of memory and none leaks. The verdict on %s: %s", rankName(row), row.Verdict.Text)}
			}
		}
	}
	return Verdict{Unclear, "Nothing was recorded."}
}

// rankNames names the rows to which a verdict applies: the first, and how many more.
func rankNames(hit []RankRow, of int) string {
	name := capital(rankName(hit[0]))
	if len(hit) > 1 {
		name += fmt.Sprintf(", and %d more of %d", len(hit)-1, of)
	}
	return name
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// markMain marks the GPU with the most events of each file; without events, that
// with the most memory.
func markMain(rows []RankRow) {
	best := make(map[string]int)
	for i := range rows {
		if rows[i].Host {
			continue
		}
		k, ok := best[rows[i].File]
		if !ok || cmp.Or(cmp.Compare(rows[i].Events, rows[k].Events), cmp.Compare(rows[i].ReservedBytes, rows[k].ReservedBytes)) > 0 {
			best[rows[i].File] = i
		}
	}
	for _, i := range best {
		rows[i].Main = true
	}
}

// strays finds memory that a process put on a GPU that it does not work on.
func strays(rows []RankRow) []rules.Finding {
	mains := make(map[string]RankRow)
	owners := make(map[int]RankRow)
	for _, r := range rows {
		if r.Main {
			mains[r.File] = r
			owners[r.Device] = r
		}
	}
	var list []rules.Finding
	for _, r := range rows {
		own := mains[r.File]
		if r.Main || r.Host || r.ReservedBytes == 0 || float64(r.Events) >= strayEvents*float64(own.Events) {
			continue
		}
		f := rules.Finding{
			Rule: "ranks/context-on-gpu0", Severity: rules.Warning, Confidence: rules.Medium, Bytes: r.ReservedBytes, Event: -1, Stack: r.First,
			Title:    fmt.Sprintf("%s works on GPU %d, but also put %s on GPU %d", rankName(r), own.Device, units.FormatBytes(r.ReservedBytes), r.Device),
			Evidence: []string{"a CUDA context there takes some 500 MiB more, which no recording shows"},
		}
		if owner, ok := owners[r.Device]; ok && owner.File != r.File {
			f.Confidence = rules.High
			f.Evidence = append(f.Evidence, fmt.Sprintf("GPU %d is the one that %s works on", r.Device, rankName(owner)))
		}
		list = append(list, f)
	}
	return list
}

func rankName(r RankRow) string {
	if r.Rank >= 0 {
		return fmt.Sprintf("rank %d", r.Rank)
	}
	return path.Base(slashes(r.File))
}

// capital begins a sentence with a capital, unless it begins with the name of a file.
func capital(s string) string {
	if first, _, _ := strings.Cut(s, " "); s == "" || strings.ContainsAny(first, "._/\\") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// oddOneOut finds the rank whose peak is farthest from the middle one's.
func oddOneOut(rows []RankRow) (rules.Finding, bool) {
	var ranks []RankRow
	for _, r := range rows {
		if r.Main && r.Rank >= 0 { // files that are no ranks may be anything
			ranks = append(ranks, r)
		}
	}
	if len(ranks) < 2 {
		return rules.Finding{}, false
	}
	slices.SortStableFunc(ranks, func(a, b RankRow) int { return cmp.Compare(a.AllocatedBytes, b.AllocatedBytes) })
	middle := ranks[(len(ranks)-1)/2]
	odd := ranks[len(ranks)-1]
	if low := ranks[0]; middle.AllocatedBytes-low.AllocatedBytes > odd.AllocatedBytes-middle.AllocatedBytes {
		odd = low
	}
	diff := odd.AllocatedBytes - middle.AllocatedBytes
	if max(diff, -diff) < oddBytes || float64(max(diff, -diff)) < oddShare*float64(middle.AllocatedBytes) {
		return rules.Finding{}, false
	}
	f := rules.Finding{
		Rule: "ranks/odd-one-out", Severity: rules.Info, Confidence: rules.High, Bytes: max(diff, -diff), Event: -1,
		Title: fmt.Sprintf("%s peaks at %s allocated, %s at %s", rankName(odd), units.FormatBytes(odd.AllocatedBytes), rankName(middle), units.FormatBytes(middle.AllocatedBytes)),
	}
	if len(ranks) > 2 {
		f.Severity = rules.Warning // of two, neither is the odd one
	}
	f.Evidence = lineChanges(middle, odd)
	return f, true
}

// lineChanges names the lines that hold most of the difference of two ranks.
func lineChanges(from, to RankRow) []string {
	bytes := make(map[string]int64)
	for _, g := range from.Lines {
		bytes[g.Name] -= g.Bytes
	}
	for _, g := range to.Lines {
		bytes[g.Name] += g.Bytes
	}
	var names []string
	for n := range bytes {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(abs(bytes[b]), abs(bytes[a])), cmp.Compare(a, b))
	})
	var list []string
	for _, n := range names[:min(len(names), 3)] {
		if bytes[n] != 0 {
			list = append(list, fmt.Sprintf("%s at %s", units.FormatBytesDelta(bytes[n]), n))
		}
	}
	return list
}

func abs(n int64) int64 { return max(n, -n) }
