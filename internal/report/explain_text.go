package report

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// TextJSON is what a log or a message says, under --json. Amounts are those of the
// text, rounded as it is; what it does not give is null.
type TextJSON struct {
	File     string        `json:"file"`
	Lines    int           `json:"lines"`
	Verdict  string        `json:"verdict"`
	OOMs     []TextOOMJSON `json:"ooms"`
	Findings []FindingJSON `json:"findings"`
	Notes    []string      `json:"notes"`
	Unknown  []string      `json:"unknown"`
	Next     []string      `json:"next"`
}

// TextOOMJSON is one out-of-memory message.
type TextOOMJSON struct {
	Rank             *int   `json:"rank"`
	GPU              *int   `json:"gpu"`
	Cause            string `json:"cause"`
	Confidence       string `json:"confidence"`
	Cap              string `json:"cap"`
	Count            int    `json:"count"`
	RequestBytes     *int64 `json:"request_bytes"`
	CapacityBytes    *int64 `json:"capacity_bytes"`
	FreeBytes        *int64 `json:"free_bytes"`
	LimitBytes       *int64 `json:"limit_bytes"`
	AllocatedBytes   *int64 `json:"allocated_bytes"`
	CachedBytes      *int64 `json:"cached_bytes"`
	OutsideBytes     *int64 `json:"outside_pytorch_bytes"`
	OthersBytes      *int64 `json:"other_processes_bytes"`
	UnexplainedBytes *int64 `json:"unexplained_bytes"`
}

// NewTextJSON makes the JSON form of what a text says.
func NewTextJSON(file string, rep *message.Report, t *analyze.TextResult) TextJSON {
	j := TextJSON{
		File: file, Lines: rep.Lines, Verdict: t.Verdict, OOMs: []TextOOMJSON{}, Findings: FindingsJSON(t.Findings),
		Notes: append([]string{}, t.Notes...), Unknown: append([]string{}, t.Unknown...), Next: append([]string{}, t.Next...),
	}
	for _, o := range t.OOMs {
		a := &o.Account
		j.OOMs = append(j.OOMs, TextOOMJSON{
			Rank: ordinal(o.Message.Source.Rank), GPU: ordinal(o.Message.GPU), Cause: string(o.Cause), Confidence: o.Confidence.String(), Cap: string(o.Cap), Count: o.Message.Count,
			RequestBytes: known(a.RequestBytes), CapacityBytes: known(a.CapacityBytes), FreeBytes: known(a.FreeBytes), LimitBytes: known(a.LimitBytes),
			AllocatedBytes: known(a.AllocatedBytes), CachedBytes: known(a.CachedBytes), OutsideBytes: known(a.OutsideBytes), OthersBytes: known(a.OthersBytes), UnexplainedBytes: known(a.UnexplainedBytes),
		})
	}
	return j
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// Text prints what a log or a message says.
func Text(w io.Writer, l term.Look, file string, rep *message.Report, t *analyze.TextResult, markdown bool) error {
	p := newPage(l, markdown)
	p.title(fmt.Sprintf("%s: a text of %s", file, lines(rep.Lines)))
	p.strong(term.Bold, t.Verdict)
	for i := range t.OOMs {
		p.textAccount(&t.OOMs[i])
	}
	for i := range t.Findings {
		if i == 0 {
			p.heading("Findings and what to do")
		} else {
			p.line("")
		}
		p.finding(&t.Findings[i])
	}
	p.list("Beside that", t.Notes)
	p.list("What a text cannot say", t.Unknown)
	if len(t.Next) > 0 {
		p.heading("To know more")
		for _, n := range t.Next {
			p.line("  " + n)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return units.FormatCount(int64(n)) + " lines"
}

func (p *page) list(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	p.heading(heading)
	for _, s := range items {
		p.text(2, "- "+s)
	}
}

// textAccount prints how a message splits the device.
func (p *page) textAccount(o *analyze.TextOOM) {
	a := &o.Account
	where := "Memory as the message has it"
	if o.Message.GPU >= 0 {
		where = fmt.Sprintf("GPU %d as the message has it", o.Message.GPU)
	}
	if r := o.Message.Source.Rank; r >= 0 {
		where = fmt.Sprintf("Rank %d, %s", r, where)
	}
	t := newGrid("what", ">bytes")
	for _, row := range []struct {
		name  string
		bytes int64
	}{
		{"capacity", a.CapacityBytes},
		{"limit (memory fraction)", a.LimitBytes},
		{"asked of the driver", a.RequestBytes},
		{"allocated by PyTorch", a.AllocatedBytes},
		{"cached by PyTorch", a.CachedBytes},
		{"this process, outside PyTorch", a.OutsideBytes},
		{"other processes", a.OthersBytes},
		{"not accounted for", a.UnexplainedBytes},
		{"free", a.FreeBytes},
	} {
		if row.bytes >= 0 {
			t.row(row.name, units.FormatBytes(row.bytes))
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading(where)
	p.grid(t)
	for _, odd := range o.Odd {
		p.text(2, "- "+odd)
	}
}
