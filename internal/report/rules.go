package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
)

// RulesJSON is the catalogue, or a part of it, under --json.
type RulesJSON struct {
	Rules []RuleJSON `json:"rules"`
}

// RuleJSON is one rule under --json. Texts are Markdown; lists are never null.
type RuleJSON struct {
	ID         string           `json:"id"`
	Kind       string           `json:"kind"` // symptom, cause
	Title      string           `json:"title"`
	Summary    string           `json:"summary"`
	Root       string           `json:"root"` // none where it has none
	Signals    []string         `json:"signals"`
	FoundBy    []string         `json:"found_by"` // commands that report it
	Applies    string           `json:"applies"`  // empty where it is limited to nothing
	Doc        string           `json:"doc"`      // path of its page in the repository
	HowItShows string           `json:"how_it_shows"`
	Why        string           `json:"why"`
	Confirm    string           `json:"how_to_confirm"`
	Change     string           `json:"what_to_change"`
	Remedies   []RuleRemedyJSON `json:"remedies"` // best first
	Causes     []string         `json:"causes"`   // that it fits, likeliest first
	Symptoms   []string         `json:"symptoms"` // that it may be the cause of
	Sources    []string         `json:"sources"`
}

// RuleRemedyJSON is an instruction and what following it changes.
type RuleRemedyJSON struct {
	Do     string `json:"do"`
	Effect string `json:"effect"`
}

// NewRulesJSON makes the JSON form of some rules.
func NewRulesJSON(some []*rules.Rule) RulesJSON {
	out := RulesJSON{Rules: []RuleJSON{}}
	for _, r := range some {
		j := RuleJSON{
			ID: r.ID, Kind: string(r.Kind), Title: r.Title, Summary: r.Summary, Root: string(r.Root),
			Signals: []string{}, FoundBy: append([]string{}, r.FoundBy...), Applies: r.Applies, Doc: r.Doc(),
			HowItShows: r.Shows, Why: r.Why, Confirm: r.Confirm, Change: r.Change, Remedies: []RuleRemedyJSON{},
			Causes: append([]string{}, r.Causes...), Symptoms: append([]string{}, rules.Symptoms(r.ID)...), Sources: append([]string{}, r.Sources...),
		}
		for _, s := range r.Signals {
			j.Signals = append(j.Signals, string(s))
		}
		for _, remedy := range r.Remedies {
			j.Remedies = append(j.Remedies, RuleRemedyJSON{remedy.Do, remedy.Effect})
		}
		out.Rules = append(out.Rules, j)
	}
	return out
}

// RuleList prints a line for each rule.
func RuleList(w io.Writer, l term.Look, some []*rules.Rule) error {
	t := term.Table{Columns: []term.Column{{Title: "RULE"}, {Title: "KIND"}, {Title: "REPORTED BY"}, {Title: "TITLE", Cut: term.CutAtEnd}}}
	for _, r := range some {
		found := strings.Join(r.FoundBy, ", ")
		if found == "" {
			found = "-"
		}
		t.Row(r.ID, string(r.Kind), found, r.Title)
	}
	return t.Print(w, l)
}

// signalWords says in a sentence what shows a rule.
var signalWords = map[rules.Signal]string{
	rules.Static: "source code", rules.Recording: "a recording", rules.Text: "a message or log", rules.Live: "a running process",
}

// RulePage prints the whole page of a rule, as plain text.
func RulePage(w io.Writer, l term.Look, r *rules.Rule) error {
	p := newProse(l)
	p.line(l.Paint(term.Bold, r.ID+": "+r.Title))
	p.line("")
	p.text(0, r.Summary)
	p.line("")
	p.text(0, ruleFacts(r))
	for _, s := range ruleSections(r) {
		p.line("")
		p.line(l.Paint(term.Bold, s.heading))
		p.text(2, s.text)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// RuleMarkdown returns the same page in Markdown, without its title.
func RuleMarkdown(r *rules.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", r.Summary, ruleFacts(r))
	for _, s := range ruleSections(r) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.heading, strings.TrimSpace(s.text))
	}
	return b.String()
}

// ruleSection is a part of a rule's page. Its text is Markdown.
type ruleSection struct{ heading, text string }

// ruleSections returns the parts that a rule's page has.
func ruleSections(r *rules.Rule) []ruleSection {
	all := []ruleSection{
		{"How it shows", r.Shows},
		{"Why it happens", r.Why},
		{"How to confirm", r.Confirm},
		{"What to change", r.Change},
		{"Causes it fits", r.Fits},
		{"May be behind", markdownList(rules.Symptoms(r.ID))},
		{"Sources", markdownList(r.Sources)},
	}
	return slices.DeleteFunc(all, func(s ruleSection) bool { return s.text == "" })
}

func markdownList(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "- " + strings.Join(items, "\n- ")
}

// ruleFacts is a sentence of what the front matter of a page says.
func ruleFacts(r *rules.Rule) string {
	var shown []string
	for _, s := range r.Signals {
		shown = append(shown, signalWords[s])
	}
	facts := fmt.Sprintf("A %s. Can be seen in: %s.", r.Kind, strings.Join(shown, ", "))
	if len(r.FoundBy) > 0 {
		facts += " Reported by: ullage " + strings.Join(r.FoundBy, ", ullage ") + "."
	} else {
		facts += " No command reports it by itself."
	}
	if r.Root != rules.NoRoot {
		facts += fmt.Sprintf(" Root: %s.", r.Root)
	}
	if r.Applies != "" {
		facts += fmt.Sprintf(" Applies to: %s.", r.Applies)
	}
	return facts
}
