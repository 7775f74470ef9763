package rules

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryPageParses(t *testing.T) {
	all := All()
	if len(all) < 100 {
		t.Fatalf("%d rules, want the whole catalogue", len(all))
	}
	for i, r := range all {
		if i > 0 && inOrder(all[i-1], r) >= 0 {
			t.Errorf("%s stands after %s", r.ID, all[i-1].ID)
		}
		if r.Kind == Cause && len(r.Causes) > 0 {
			t.Errorf("%s is a cause and names causes", r.ID)
		}
		if r.Kind == Cause && r.Family() == "leak" && r.Root == NoRoot {
			t.Errorf("%s is a cause of a leak without a root", r.ID)
		}
	}
}

// TestLinks checks that every link leads to a page of the catalogue, by the right path,
// and that no rule points at itself.
func TestLinks(t *testing.T) {
	for _, r := range All() {
		for _, text := range []string{r.Summary, r.Shows, r.Why, r.Confirm, r.Change, r.Fits} {
			for _, link := range ruleLink.FindAllStringSubmatch(text, -1) {
				to, err := Get(link[1])
				switch {
				case err != nil:
					t.Errorf("%s: %v", r.Doc(), err)
				case to == r:
					t.Errorf("%s links to itself", r.Doc())
				case path.Join(path.Dir(r.Doc()), link[2]) != to.Doc():
					t.Errorf("%s: the link to %s leads to %s", r.Doc(), to.ID, link[2])
				}
			}
		}
	}
}

// TestStyle keeps the pages short, whole and free of what belongs nowhere in them.
func TestStyle(t *testing.T) {
	for _, r := range All() {
		if n := len(r.Title); n > 80 {
			t.Errorf("%s: a title of %d letters", r.ID, n)
		}
		if strings.HasSuffix(r.Title, ".") || !strings.HasSuffix(r.Summary, ".") {
			t.Errorf("%s: the title ends without a full stop, the summary with one", r.ID)
		}
		for _, remedy := range r.Remedies {
			if !strings.HasSuffix(remedy.Do, ".") || remedy.Effect == "" {
				t.Errorf("%s: %q is not of the form \"Do this. → What it changes.\"", r.ID, remedy.Do)
			}
		}
		if r.Kind == Symptom && r.Root == NoRoot && r.Family() == "ranks" {
			t.Errorf("%s: a difference between ranks has a root", r.ID)
		}
	}
}

func TestGet(t *testing.T) {
	r, err := Get("leak/growing-site")
	if err != nil || r.Kind != Symptom || r.Doc() != "docs/rules/leak/growing-site.md" {
		t.Fatalf("Get = %+v, %v", r, err)
	}
	for _, c := range []struct{ id, near string }{
		{"leak/growing-sites", "leak/growing-site"},
		{"leak/growingsite", "leak/growing-site"},
		{"frag/growing-site", "leak/growing-site"},
		{"inert-gc", "conf/inert-gc"},
		{"conf/inertgc", "conf/inert-gc"},
		{"eval", "leak/eval-without-no-grad"},
		{"zzzzzzzz", ""},
		{"", ""},
		{strings.Repeat("a", 1<<20), ""},
	} {
		_, err := Get(c.id)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Fatalf("Get(%.20q): %v", c.id, err)
		}
		if c.near == "" && len(unknown.Near) > 0 || c.near != "" && !slices.Contains(unknown.Near, c.near) {
			t.Errorf("Get(%.20q): near %v, want %q", c.id, unknown.Near, c.near)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, r := range Match("conf/") {
		if r.Family() != "conf" {
			t.Errorf("Match(conf/) has %s", r.ID)
		}
	}
	if len(Match("")) != len(All()) || len(Match("conf/")) == 0 || Match("no") != nil {
		t.Error("Match")
	}
}

// TestEveryCauseIsNamed: a cause that no symptom leads to would not be found by anyone
// who starts from what they see. Settings are found by themselves.
func TestEveryCauseIsNamed(t *testing.T) {
	for _, r := range All() {
		if r.Kind == Cause && r.Family() != "conf" && len(Symptoms(r.ID)) == 0 {
			t.Errorf("no symptom names %s", r.ID)
		}
	}
}

func TestComplete(t *testing.T) {
	f := Complete(Finding{Rule: "frag/pinned-segment"})
	if f.Title == "" || len(f.Remedies) == 0 || f.Causes[0] != "frag/variable-shapes" {
		t.Errorf("Complete left it empty: %+v", f)
	}
	own := Finding{Rule: "frag/pinned-segment", Title: "t", Causes: []string{}, Remedies: []Remedy{{Do: "x"}}}
	if diff := cmp.Diff(own, Complete(own)); diff != "" {
		t.Errorf("Complete changed what was there:\n%s", diff)
	}
}

const page = `---
kind: cause
root: none
signals: static
---
# leak/x: A title

A summary
on two lines.

## How it shows

Text.

## Why it happens

Text.

## How to confirm

Text.

## What to change

- Do this
  and that. → It goes.
- Do the other.

` + "```python\n- no item\n```\n"

func TestParsePage(t *testing.T) {
	r, err := parsePage("leak/x", page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Remedy{{Do: "Do this and that.", Effect: "It goes."}, {Do: "Do the other."}}
	if diff := cmp.Diff(want, r.Remedies); diff != "" {
		t.Error(diff)
	}
	if r.Summary != "A summary on two lines." {
		t.Errorf("summary %q", r.Summary)
	}
	crlf, err := parsePage("leak/x", strings.ReplaceAll(page, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, crlf); diff != "" {
		t.Errorf("with the line ends of Windows:\n%s", diff)
	}
}

func TestParsePageErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no front matter", "---\nkind", "kind", "no front matter"},
		{"kind", "kind: cause", "kind: rumour", "want symptom or cause"},
		{"root", "root: none", "root: evil", "unknown root"},
		{"key", "root: none", "colour: red", "unknown key"},
		{"no signals", "signals: static", "signals:", "no signals"},
		{"signal", "signals: static", "signals: smoke", "unknown signal"},
		{"another id", "# leak/x", "# leak/y", "first line"},
		{"no summary", "A summary\non two lines.\n", "", "no summary"},
		{"unknown section", "## How to confirm", "## How to pray", "unknown section"},
		{"missing section", "## How to confirm\n\nText.\n", "", "is missing"},
		{"empty section", "## How to confirm\n\nText.", "## How to confirm\n", "is empty"},
		{"order", "## How it shows\n\nText.\n\n## Why it happens", "## Why it happens\n\nText.\n\n## How it shows", "stands after"},
		{"no remedy", "- Do", "Do", "no list"},
		{"cause without a link", "```python", "## Causes it fits\n\n- this\n\n```python", "link to a rule"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.ReplaceAll(page, c.old, c.new)
			if _, err := parsePage("leak/x", text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for _, id := range []string{"x", "leak/", "leak/X", "leaks/x", "leak/x/y", "leak/-x"} {
		if _, err := parsePage(id, strings.ReplaceAll(page, "leak/x", id)); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
}
