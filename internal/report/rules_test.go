package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
)

// madeRule has all that a page may hold.
var madeRule = &rules.Rule{
	ID: "frag/made", Kind: rules.Symptom, Title: "A page for a test",
	Summary: "A sentence of *some* length that has to be wrapped where the terminal is narrow.",
	Root:    rules.AsyncFrees, Signals: []rules.Signal{rules.Recording, rules.Text},
	FoundBy: []string{"explain"}, Applies: "PyTorch 2.1 and newer",
	Shows:   "One paragraph.\n\nAnother, with `code * 2 * 3` and a [leak/link](../leak/link.md).",
	Why:     "Because.",
	Confirm: "- One item\n  on two lines.\n- Two.",
	Change:  "- Do this. → 2 × less.\n\n```python\nif x:\n    y = \"a line of code that is never wrapped\"\n\nz\n```\n\nLast.",
	Fits:    "- [frag/other](other.md): when it rains.",
	Sources: []string{"pytorch#1, pytorch PR#2", "a book"},
}

const madePage = `frag/made: A page for a test

A sentence of some length that has to be wrapped where the terminal is narrow.

A symptom. Can be seen in: a recording, a message or log. Reported by: ullage
explain. Root: asynchronous frees. Applies to: PyTorch 2.1 and newer.

How it shows
  One paragraph.

  Another, with ~code * 2 * 3~ and a leak/link.

Why it happens
  Because.

How to confirm
  - One item on two lines.
  - Two.

What to change
  - Do this. → 2 × less.

    if x:
        y = "a line of code that is never wrapped"

    z

  Last.

Causes it fits
  - frag/other: when it rains.

Sources
  - pytorch#1, pytorch PR#2
  - a book
`

func TestRulePage(t *testing.T) {
	var got bytes.Buffer
	if err := RulePage(&got, term.Look{Unicode: true}, madeRule); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(madePage, "~", "`"), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRulePageNarrowASCII(t *testing.T) {
	var got bytes.Buffer
	if err := RulePage(&got, term.Look{Terminal: true, Width: 30}, madeRule); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A sentence of some length that\nhas to be wrapped where the\nterminal is narrow.\n",
		"  - Do this. -> 2 x less.\n",
		"  - pytorch#1, pytorch PR#2\n",
		"        y = \"a line of code that is never wrapped\"\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
}

// TestEveryPagePrints: no Markdown is left over, no line but code or a long word is
// wider than the terminal, and every word of the page is there.
func TestEveryPagePrints(t *testing.T) {
	for _, r := range rules.All() {
		var b bytes.Buffer
		if err := RulePage(&b, term.Look{Width: 72, Unicode: true}, r); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "](") || strings.Contains(text, "```") || strings.Contains(text, "**") {
			t.Errorf("%s: Markdown is left over:\n%s", r.ID, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if term.Width(line) > 72 && len(strings.Fields(line)) > 1 && !strings.Contains(r.Shows+r.Change+r.Confirm, strings.TrimSpace(line)) && !strings.HasPrefix(line, r.ID) {
				t.Errorf("%s: a line of %d columns: %q", r.ID, term.Width(line), line)
			}
		}
		for _, source := range r.Sources {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), source) {
				t.Errorf("%s: source %q is missing", r.ID, source)
			}
		}
	}
}

func TestRuleList(t *testing.T) {
	var b bytes.Buffer
	if err := RuleList(&b, term.Look{}, rules.Match("conf/")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) != 1+len(rules.Match("conf/")) || !strings.HasPrefix(lines[0], "RULE") {
		t.Errorf("%s", b.String())
	}
}

func TestRulesJSONHasNoNull(t *testing.T) {
	text, err := json.Marshal(NewRulesJSON(rules.All()))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("null")) {
		t.Error("a list is null")
	}
	if empty, _ := json.Marshal(NewRulesJSON(nil)); string(empty) != `{"rules":[]}` {
		t.Errorf("no rules: %s", empty)
	}
}
