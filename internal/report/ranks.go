package report

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// RanksJSON compares the ranks of one job under --json.
type RanksJSON struct {
	Verdict  VerdictJSON   `json:"verdict"` // on the job
	Rows     []RankJSON    `json:"rows"`
	Findings []FindingJSON `json:"findings"`
}

// RankJSON is one device of one rank.
type RankJSON struct {
	File           string `json:"file"`
	Rank           *int   `json:"rank"`
	Device         int    `json:"device"`
	Main           bool   `json:"main"` // the device that the process works on
	Events         int    `json:"events"`
	AllocatedBytes int64  `json:"peak_allocated_bytes"`
	ReservedBytes  int64  `json:"peak_reserved_bytes"`
	Verdict        string `json:"verdict"`
}

// NewRanksJSON makes the JSON form of a comparison of ranks.
func NewRanksJSON(r analyze.RanksReport) *RanksJSON {
	j := &RanksJSON{Verdict: VerdictJSON{string(r.Verdict.Kind), r.Verdict.Text}, Rows: []RankJSON{}, Findings: FindingsJSON(r.Findings)}
	for _, row := range r.Rows {
		j.Rows = append(j.Rows, RankJSON{row.File, ordinal(row.Rank), row.Device, row.Main, row.Events, row.AllocatedBytes, row.ReservedBytes, string(row.Verdict.Kind)})
	}
	return j
}

// Ranks prints a table of all ranks, and what sets one apart.
func Ranks(w io.Writer, l term.Look, r analyze.RanksReport, markdown bool) error {
	p := newPage(l, markdown)
	in := fmt.Sprintf("%d files", files(r.Rows))
	if files(r.Rows) == 1 {
		in = "1 file"
	}
	p.title(fmt.Sprintf("%d devices in %s", len(r.Rows), in))
	p.strong(verdictStyles[r.Verdict.Kind], r.Verdict.Text)
	p.line("")
	t := newGrid(">rank", "device", ">peak allocated", ">peak reserved", "verdict", "file")
	t.head = true
	for _, row := range r.Rows {
		rank := "-"
		if row.Rank >= 0 {
			rank = fmt.Sprint(row.Rank)
		}
		device := fmt.Sprintf("GPU %d", row.Device)
		switch {
		case row.Host:
			device = "pinned host"
		case !row.Main:
			device += " (not its own)"
		}
		t.row(rank, device, units.FormatBytes(row.AllocatedBytes), units.FormatBytes(row.ReservedBytes), string(row.Verdict.Kind), row.File)
	}
	p.grid(t)
	for i := range r.Findings {
		p.line("")
		p.finding(&r.Findings[i])
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func files(rows []analyze.RankRow) int {
	seen := make(map[string]bool)
	for _, r := range rows {
		seen[r.File] = true
	}
	return len(seen)
}

// BudgetJSON is a budget and whether it was kept.
type BudgetJSON struct {
	File       string `json:"file"`
	Device     int    `json:"device"`
	Name       string `json:"name"` // requested, allocated, reserved
	LimitBytes int64  `json:"limit_bytes"`
	PeakBytes  int64  `json:"peak_bytes"`
	Kept       bool   `json:"kept"`
}

// Text says how a budget stands.
func (b BudgetJSON) Text() string {
	word := "is within"
	if !b.Kept {
		word = "is over"
	}
	return fmt.Sprintf("%s, GPU %d: peak %s %s %s the budget of %s", b.File, b.Device, b.Name, units.FormatBytes(b.PeakBytes), word, units.FormatBytes(b.LimitBytes))
}
