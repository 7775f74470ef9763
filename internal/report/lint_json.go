package report

import (
	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
)

// LintJSON is the output of lint --json.
type LintJSON struct {
	Verdict  string            `json:"verdict"`
	Files    int               `json:"files"`
	Findings []LintFindingJSON `json:"findings"`
	Hidden   LintHiddenJSON    `json:"hidden"`
	Notices  []LintNoticeJSON  `json:"notices"`
	Fixed    []LintFixedJSON   `json:"fixed"`
	Grew     []LintGrewJSON    `json:"grew"` // under --with
}

// LintGrewJSON is a place where memory grew in a recording, and that no rule explains.
type LintGrewJSON struct {
	File         string  `json:"file"` // empty where it is in none of those that were checked
	Line         int     `json:"line"`
	Function     string  `json:"function"`
	Source       string  `json:"source"`
	What         string  `json:"what"`
	BytesPerStep float64 `json:"bytes_per_step"`
	EverySteps   int     `json:"every_steps"`
	LiveBytes    int64   `json:"live_bytes"`
	Recording    string  `json:"recording"`
}

// LintFindingJSON is one mistake.
type LintFindingJSON struct {
	Rule        string            `json:"rule"`
	File        string            `json:"file"`
	Cell        *int              `json:"cell"`
	Line        int               `json:"line"`
	Column      int               `json:"column"`
	EndLine     int               `json:"end_line"`
	EndColumn   int               `json:"end_column"`
	Severity    string            `json:"severity"`
	Confidence  string            `json:"confidence"`
	Message     string            `json:"message"`
	Source      string            `json:"source"`
	Evidence    []string          `json:"evidence"`
	Related     []LintRelatedJSON `json:"related"`
	Remedy      string            `json:"remedy"`
	Fix         *LintFixJSON      `json:"fix"`
	Doc         string            `json:"doc"`
	Fingerprint string            `json:"fingerprint"`
	Fails       bool              `json:"fails"`
}

// LintRelatedJSON is another place that a mistake rests on.
type LintRelatedJSON struct {
	Cell   *int   `json:"cell"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	What   string `json:"what"`
}

// LintFixJSON is a repair that is certain.
type LintFixJSON struct {
	What  string         `json:"what"`
	Edits []LintEditJSON `json:"edits"`
}

// LintEditJSON is a piece of text to replace.
type LintEditJSON struct {
	Cell      *int   `json:"cell"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Text      string `json:"text"`
}

// LintHiddenJSON counts what is not shown.
type LintHiddenJSON struct {
	Level    int `json:"level"`
	Comments int `json:"comments"`
	Baseline int `json:"baseline"`
}

// LintNoticeJSON is what there is to know beside findings.
type LintNoticeJSON struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	Cell *int   `json:"cell"`
	Line int    `json:"line"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// LintFixedJSON is a file that repairs were made in, or would be.
type LintFixedJSON struct {
	File    string `json:"file"`
	Repairs int    `json:"repairs"`
	Diff    string `json:"diff"`
}

// NewLintJSON makes the JSON form of a result.
func NewLintJSON(r *lint.Result, fixed []lint.Fixed) LintJSON {
	j := LintJSON{
		Verdict: LintVerdict(r), Files: r.Files, Findings: []LintFindingJSON{}, Notices: []LintNoticeJSON{}, Fixed: []LintFixedJSON{}, Grew: []LintGrewJSON{},
		Hidden: LintHiddenJSON{Level: r.Hidden.Level, Comments: r.Hidden.Comments, Baseline: r.Hidden.Baseline},
	}
	for _, g := range r.Grew {
		j.Grew = append(j.Grew, LintGrewJSON(g))
	}
	for i := range r.Findings {
		j.Findings = append(j.Findings, newLintFindingJSON(&r.Findings[i]))
	}
	for _, n := range r.Notices {
		j.Notices = append(j.Notices, LintNoticeJSON{Kind: string(n.Kind), File: n.File, Cell: cellOf(n.At.Cell), Line: n.At.Line, Text: n.Text, Hint: n.Hint})
	}
	for _, f := range fixed {
		j.Fixed = append(j.Fixed, LintFixedJSON{File: f.File, Repairs: f.Count, Diff: f.Diff})
	}
	return j
}

func newLintFindingJSON(f *lint.Finding) LintFindingJSON {
	j := LintFindingJSON{
		Rule: f.Rule, File: f.File, Cell: cellOf(f.From.Cell), Line: f.From.Line, Column: f.From.Column, EndLine: f.To.Line, EndColumn: f.To.Column,
		Severity: f.Severity.String(), Confidence: f.Confidence.String(), Message: f.Message, Source: f.Line, Evidence: append([]string{}, f.Evidence...),
		Related: []LintRelatedJSON{}, Remedy: f.Remedy, Doc: docOf(f.Rule), Fingerprint: f.Fingerprint, Fails: f.Fails,
	}
	for i, r := range f.Related {
		at := f.Places[i]
		j.Related = append(j.Related, LintRelatedJSON{cellOf(at.Cell), at.Line, at.Column, r.What})
	}
	if f.Fix != nil {
		j.Fix = &LintFixJSON{What: f.Fix.What, Edits: []LintEditJSON{}}
		for i, e := range f.Fix.Edits {
			from, to := f.Edits[i][0], f.Edits[i][1]
			j.Fix.Edits = append(j.Fix.Edits, LintEditJSON{cellOf(from.Cell), from.Line, from.Column, to.Line, to.Column, e.Text})
		}
	}
	return j
}

// cellOf is the number of a cell, or nil outside of notebooks.
func cellOf(number int) *int {
	if number == 0 {
		return nil
	}
	return &number
}

// docOf is the path of a rule's page; empty for a rule without one.
func docOf(id string) string {
	rule, err := rules.Get(id)
	if err != nil {
		return ""
	}
	return rule.Doc()
}
