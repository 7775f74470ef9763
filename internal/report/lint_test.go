package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/internal/term"
)

// lintPlace is a place that is stored where people name it.
func lintPlace(cell, line, column int) lint.Place {
	at := syntax.Position{Cell: cell, Line: line, Column: column}
	return lint.Place{Position: at, Stored: syntax.Position{Line: line + 10*cell, Column: column}}
}

// lintResult has a finding of each form.
func lintResult() *lint.Result {
	leak := lint.Finding{
		Mistake: rules.Mistake{
			Rule: "leak/loss-with-graph", Severity: rules.Warning, Confidence: rules.High, Message: "the loss is added to total with its graph",
			Evidence: []string{"line 1: total = 0 is outside the loop"}, Related: []rules.Related{{What: "the total begins here"}}, Remedy: "add loss.item()",
			Fix: &rules.Fix{What: "add the loss's value", Edits: []rules.Edit{{Text: "loss.item()"}}},
		},
		File: "a b.py", Path: "src/a b.py", From: lintPlace(0, 2, 6), To: lintPlace(0, 2, 19), Line: "\tif x: total += loss  # 损失 \x1b[2J", Places: []lint.Place{lintPlace(0, 1, 1)},
		Edits: [][2]lint.Place{{lintPlace(0, 2, 15), lintPlace(0, 2, 19)}}, Fingerprint: "00112233aabbccdd:1", Fails: true,
	}
	cell := leak
	cell.File, cell.Path, cell.Line = "nb.ipynb", "nb.ipynb", "total += loss"
	cell.From, cell.To, cell.Places = lintPlace(3, 2, 1), lintPlace(3, 4, 1), []lint.Place{lintPlace(2, 1, 1)}
	cell.Edits = [][2]lint.Place{{lintPlace(3, 2, 10), lintPlace(3, 2, 14)}}
	low := leak
	low.Mistake = rules.Mistake{Rule: "conf/inert-gc", Severity: rules.Info, Confidence: rules.Low, Message: "a,b: 100%\nof it"}
	low.File, low.Path, low.Places, low.Edits, low.Fails = "run.sh", "run.sh", nil, nil, false
	low.Line = strings.Repeat("x", 200)
	low.From, low.To = lintPlace(0, 1, 100), lintPlace(0, 1, 103)
	return &lint.Result{
		Files: 41, Findings: []lint.Finding{leak, cell, low}, Hidden: lint.Hidden{Level: 4, Comments: 2, Baseline: 1},
		Notices: []lint.Notice{
			{Kind: lint.Unread, File: "bad.py", Path: "src/bad.py", At: syntax.Position{Line: 7}, Text: "byte 0xff is not UTF-8", Hint: "save it as UTF-8"},
			{Kind: lint.Stale, File: "none", Text: "x"},
		},
	}
}

func TestLintText(t *testing.T) {
	const want = `2 probable leaks and 1 that may be none or do little harm in 3 of 41 files.

a b.py:2:6: warning leak/loss-with-graph: the loss is added to total with its graph
    2 |  if x: total += loss  # 损失 \x1b[2J
      |      ^^^^^^^^^^^^^
  because line 1: total = 0 is outside the loop
  do      add loss.item()
  fix     add the loss's value (--fix does it)

nb.ipynb:cell 3:2:1: warning leak/loss-with-graph: the loss is added to total with its graph
    2 | total += loss
      | ^^^^^^^^^^^^^
  because line 1: total = 0 is outside the loop
  see     cell 2, line 1: the total begins here
  do      add loss.item()
  fix     add the loss's value (--fix does it)

run.sh:1:100: info conf/inert-gc: a,b: 100%; of it (may be none)
    1 | XXX
      | YYY

Not shown: 4 that may be none or do little harm (--all), 2 that comments hide, 1 in the baseline.
`
	var b strings.Builder
	if err := LintText(&b, term.Look{Unicode: true}, lintResult()); err != nil {
		t.Fatal(err)
	}
	long := strings.NewReplacer("XXX", strings.Repeat("x", 120), "YYY", strings.Repeat(" ", 60)+"^^^").Replace(want)
	if diff := cmp.Diff(long, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLintVerdict(t *testing.T) {
	one := func(rule string, confidence rules.Confidence) lint.Finding {
		return lint.Finding{Mistake: rules.Mistake{Rule: rule, Severity: rules.Warning, Confidence: confidence}, File: rule}
	}
	for want, findings := range map[string][]lint.Finding{
		"Nothing found in 2 files":                             nil,
		"1 probable leak in 1 of 2 files":                      {one("leak/a", rules.High)},
		"1 probable leak and 1 other mistake in 2 files":       {one("leak/a", rules.High), one("peak/a", rules.Medium)},
		"1 probable mistake in 1 of 2 files":                   {one("peak/a", rules.Medium)},
		"2 that may be none or do little harm in 1 of 2 files": {one("peak/a", rules.Low), one("peak/a", rules.Low)},
	} {
		if got := LintVerdict(&lint.Result{Files: 2, Findings: findings}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLintGitHub(t *testing.T) {
	const want = `::warning file=src/a b.py,line=2,col=6,endLine=2,endColumn=19,title=leak/loss-with-graph::the loss is added to total with its graph%0Aadd loss.item()
::warning file=nb.ipynb,line=32,col=1,endLine=34,endColumn=1,title=leak/loss-with-graph::cell 3, line 2: the loss is added to total with its graph%0Aadd loss.item()
::notice file=run.sh,line=1,col=100,endLine=1,endColumn=103,title=conf/inert-gc::a,b: 100%25%0Aof it
2 probable leaks and 1 that may be none or do little harm in 3 of 41 files.
`
	var b strings.Builder
	if err := LintGitHub(&b, lintResult()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLintGitHubHostile: names and messages neither begin a command of their own nor steer a terminal.
func TestLintGitHubHostile(t *testing.T) {
	r := lintResult()
	r.Findings = r.Findings[:1]
	r.Findings[0].Path = "a\n::error::b,c:\x1b[31m%.py"
	r.Findings[0].Message = "say\n::warning::\x1b]0;title\a"
	var b strings.Builder
	if err := LintGitHub(&b, r); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(b.String(), "\n")
	if strings.ContainsAny(b.String(), "\x1b\a") || strings.Count(b.String(), "\n") != 2 ||
		!strings.HasPrefix(line, "::warning file=a%0A%3A%3Aerror%3A%3Ab%2Cc%3A") || !strings.Contains(line, "::say%0A::warning::") {
		t.Errorf("%q", b.String())
	}
}

// TestSARIF holds the log against the schema of the standard, and GitHub's limits.
func TestSARIF(t *testing.T) {
	schema := sarifValidator(t)
	many := lintResult()
	worst := many.Findings[0]
	worst.Severity = rules.Error
	for i := range sarifMaxResults {
		f := many.Findings[2]
		f.Fingerprint = fmt.Sprintf("%016x:1", i)
		many.Findings = append(many.Findings, f)
	}
	many.Findings = append(many.Findings, worst)
	for name, r := range map[string]*lint.Result{"none": {Files: 1}, "some": lintResult(), "too many": many} {
		text, err := json.Marshal(NewSARIF(r, "v1.2.3"))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if schema.Validate(map[string]any{"version": "2.1", "runs": []any{}}) == nil {
		t.Error("the schema takes a log of another version")
	}
	run := NewSARIF(many, "v1").Runs[0]
	if len(run.Results) != sarifMaxResults || run.Results[0].Level != "error" {
		t.Errorf("of too many, %d are left, and the first is %s", len(run.Results), run.Results[0].Level)
	}
	for _, r := range run.Tool.Driver.Rules {
		if len(r.Bag.Tags) > 20 {
			t.Errorf("%s has %d tags", r.ID, len(r.Bag.Tags))
		}
	}
}

// TestSARIFContent: what a reader of the log goes by.
func TestSARIFContent(t *testing.T) {
	run := NewSARIF(lintResult(), "v1").Runs[0]
	first, cell := run.Results[0], run.Results[1]
	if got := run.Tool.Driver.Rules[first.RuleIndex].ID; got != first.RuleID {
		t.Errorf("the index of %s leads to %s", first.RuleID, got)
	}
	at := first.Locations[0].Physical
	if at.Artifact != (sarifArtifact{"src/a%20b.py", sarifRoot}) || *at.Region != (sarifRegion{StartLine: 2, StartColumn: 6, EndLine: 2, EndColumn: 19}) {
		t.Errorf("%+v, %+v", at.Artifact, at.Region)
	}
	if first.Fingerprints["primaryLocationLineHash"] != "00112233aabbccdd:1" || len(first.Fixes) != 1 || first.Related[0].Message.Text != "the total begins here" {
		t.Errorf("%+v", first)
	}
	if got := cell.Locations[0].Physical.Region.StartLine; got != 32 || len(cell.Fixes) > 0 || !strings.HasPrefix(cell.Message.Text, "cell 3, line 2: ") {
		t.Errorf("a notebook's result is on line %d of the file: %+v", got, cell)
	}
	if notes := run.Invocations[0]; notes.Successful || len(notes.Notices) != 2 || notes.Notices[0].Level != "error" {
		t.Errorf("%+v", notes)
	}
	if got := sarifFile("/abs/x y.py"); got != (sarifArtifact{URI: "file:///abs/x%20y.py"}) {
		t.Errorf("%+v", got)
	}
}

func sarifValidator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(sarifSchema, value); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
