package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/triage"
)

// TriageResult is where a walk from a symptom has come to.
type TriageResult struct {
	triage.Outcome
	Known  map[string]triage.Known // answers that were seen and not given, by their questions
	Sights []triage.Sight
}

// TriageJSON is what triage prints under --json. Lists are never null.
type TriageJSON struct {
	Complete bool                 `json:"complete"` // no question is left
	Answers  []TriageAnswerJSON   `json:"answers"`
	Missing  []TriageQuestionJSON `json:"missing"` // questions that may still come up, the next one first
	Causes   []TriageCauseJSON    `json:"causes"`  // likeliest first
	Seen     []TriageSightJSON    `json:"seen"`
	Unused   []string             `json:"unused"` // answers that were given and not asked for
}

// TriageAnswerJSON is a question that was answered.
type TriageAnswerJSON struct {
	Question string `json:"question"`
	Text     string `json:"text"`
	Answer   string `json:"answer"`
	Says     string `json:"says"`
	Source   string `json:"source"` // what it was seen in; empty where it was given
	Rule     string `json:"rule"`   // the finding that says so; empty where it was given
}

// TriageQuestionJSON is a question.
type TriageQuestionJSON struct {
	Question string             `json:"question"`
	Text     string             `json:"text"`
	Help     string             `json:"help"`
	Answers  []TriageOptionJSON `json:"answers"`
}

// TriageOptionJSON is an answer that a question can have.
type TriageOptionJSON struct {
	Answer string `json:"answer"`
	Says   string `json:"says"`
}

// TriageCauseJSON is a cause that fits.
type TriageCauseJSON struct {
	Rule       string           `json:"rule"`
	Title      string           `json:"title"`
	Confidence string           `json:"confidence"` // low, medium, high
	Because    []string         `json:"because"`
	Check      TriageCheckJSON  `json:"check"`
	Remedies   []RuleRemedyJSON `json:"remedies"` // best first
	Doc        string           `json:"doc"`
}

// TriageCheckJSON is how to confirm a cause.
type TriageCheckJSON struct {
	Run   string   `json:"run"`  // a command line; empty where it is code
	Code  []string `json:"code"` // lines of Python
	Shows string   `json:"shows"`
}

// TriageSightJSON is a finding that was taken into account.
type TriageSightJSON struct {
	Rule       string `json:"rule"`
	Severity   string `json:"severity"`
	Confidence string `json:"confidence"`
	Source     string `json:"source"`
	Text       string `json:"text"`
}

// NewTriageJSON makes the JSON form of a result.
func NewTriageJSON(r *TriageResult) TriageJSON {
	out := TriageJSON{
		Complete: len(r.Open) == 0, Answers: []TriageAnswerJSON{}, Missing: NewTriageQuestionsJSON(r.Open),
		Causes: []TriageCauseJSON{}, Seen: []TriageSightJSON{}, Unused: append([]string{}, r.Unused...),
	}
	for _, t := range r.Turns {
		k := r.Known[t.Question.Key]
		out.Answers = append(out.Answers, TriageAnswerJSON{t.Question.Key, t.Question.Text, t.Option.Value, t.Option.Text, k.Source, k.Rule})
	}
	for _, c := range r.Causes {
		out.Causes = append(out.Causes, newTriageCauseJSON(&c))
	}
	for _, s := range r.Sights {
		out.Seen = append(out.Seen, TriageSightJSON{s.Rule, s.Severity.String(), s.Confidence.String(), s.Source, s.Text})
	}
	return out
}

func newTriageCauseJSON(c *triage.Cause) TriageCauseJSON {
	check := TriageCheckJSON{c.Check.Run, append([]string{}, c.Check.Code...), c.Rule.Confirm}
	out := TriageCauseJSON{c.Rule.ID, c.Rule.Title, c.Confidence.String(), c.Because, check, []RuleRemedyJSON{}, c.Rule.Doc()}
	for _, remedy := range c.Rule.Remedies {
		out.Remedies = append(out.Remedies, RuleRemedyJSON{remedy.Do, remedy.Effect})
	}
	return out
}

// TriageListJSON is the tree of questions, under --list --json.
type TriageListJSON struct {
	Questions []TriageQuestionJSON `json:"questions"`
}

// NewTriageQuestionsJSON makes the JSON form of questions.
func NewTriageQuestionsJSON(some []*triage.Question) []TriageQuestionJSON {
	out := []TriageQuestionJSON{}
	for _, q := range some {
		j := TriageQuestionJSON{Question: q.Key, Text: q.Text, Help: q.Help, Answers: []TriageOptionJSON{}}
		for _, o := range q.Options {
			j.Answers = append(j.Answers, TriageOptionJSON{o.Value, o.Text})
		}
		out = append(out, j)
	}
	return out
}

// Triage prints a result: what is known, what it is likely to be, how to confirm and what to
// change; and before the end, what to tell next.
func Triage(w io.Writer, l term.Look, r *TriageResult) error {
	p := newPage(l, false)
	p.strong(term.Bold, triageVerdict(r))
	p.triageAnswers(r)
	p.triageSeen(r.Sights)
	if len(r.Open) > 0 {
		p.triageLeft(r.Causes)
		p.triageNext(r)
	} else {
		for i := range r.Causes {
			p.triageCause(i, &r.Causes[i])
		}
		p.line("")
		p.text(0, "'ullage rules' with the id of one prints its whole page.")
	}
	if len(r.Unused) > 0 {
		p.line("")
		p.text(0, "Not asked for on this way, and left alone: "+strings.Join(r.Unused, ", ")+".")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// triageVerdict is the answer in a sentence, with no more certainty than there is.
func triageVerdict(r *TriageResult) string {
	switch {
	case len(r.Causes) == 0 && len(r.Sights) == 0:
		return "Nothing is known yet: tell what happens."
	case len(r.Causes) == 0:
		return "What was seen does not tell the cause: tell what happens."
	}
	first := r.Causes[0]
	name := fmt.Sprintf("%s: %s.", first.Rule.ID, first.Rule.Title)
	switch {
	case first.Confidence == rules.High:
		return "Very likely " + name
	case len(r.Open) > 0 && first.Seen:
		return "Not told apart yet: answer the next question. What was seen points to " + name
	case len(r.Open) > 0:
		return "Not told apart yet: answer the next question."
	case first.Confidence == rules.Medium:
		return "Likely " + name
	}
	return "Perhaps " + name
}

func (p *page) triageAnswers(r *TriageResult) {
	if len(r.Turns) == 0 {
		return
	}
	p.heading("What is known")
	for _, t := range r.Turns {
		text := strings.TrimSuffix(t.Question.Text, "?") + ": " + t.Option.Text
		if k, seen := r.Known[t.Question.Key]; seen {
			text += fmt.Sprintf(" (%s in %s)", k.Rule, k.Source)
		}
		p.text(2, "- "+text)
	}
}

// maxSeen is how many findings are printed; --json has all.
const maxSeen = 8

// triageSeen prints the findings that are warnings or worse.
func (p *page) triageSeen(sights []triage.Sight) {
	var lines []string
	for _, s := range sights {
		if s.Severity >= rules.Warning {
			lines = append(lines, fmt.Sprintf("- %s: %s [%s]", s.Source, s.Text, s.Rule))
		}
	}
	if len(lines) == 0 {
		return
	}
	p.heading("What was seen")
	for _, line := range lines[:min(len(lines), maxSeen)] {
		p.text(2, line)
	}
	if more := len(lines) - maxSeen; more > 0 {
		p.text(2, fmt.Sprintf("%d more; --json has them all.", more))
	}
}

// triageLeft lists the causes that are left while questions are open: a line each, for most
// of them are none.
func (p *page) triageLeft(causes []triage.Cause) {
	if len(causes) == 0 {
		return
	}
	p.heading("What it may be")
	g := newGrid("rule", "confidence", "title")
	for _, c := range causes {
		g.row(c.Rule.ID, c.Confidence.String(), c.Rule.Title)
	}
	p.grid(g)
}

func (p *page) triageCause(i int, c *triage.Cause) {
	p.heading(fmt.Sprintf("%d. %s: %s", i+1, c.Rule.ID, c.Rule.Title))
	p.text(2, fmt.Sprintf("Confidence %s: %s.", c.Confidence, strings.Join(c.Because, "; ")))
	p.text(2, c.Rule.Summary)
	p.text(2, "To confirm:")
	if c.Check.Run != "" {
		p.line("    " + c.Check.Run)
	}
	for _, line := range c.Check.Code {
		p.line("    " + line)
	}
	p.text(4, c.Rule.Confirm)
	p.text(2, "To change:")
	for _, remedy := range c.Rule.Remedies {
		p.text(4, "- "+remedy.Do+" → "+remedy.Effect)
	}
}

// triageNext prints the question that comes next, and how to answer it.
func (p *page) triageNext(r *TriageResult) {
	next := r.Open[0]
	p.heading("Next question: " + next.Text)
	p.text(2, next.Help)
	p.triageOptions(next)
	if more := len(r.Open) - 1; more > 0 {
		p.text(2, fmt.Sprintf("After it may come: %s.", questionKeys(r.Open[1:])))
	}
}

func questionKeys(some []*triage.Question) string {
	var keys []string
	for _, q := range some {
		keys = append(keys, q.Key)
	}
	return strings.Join(keys, ", ")
}

func (p *page) triageOptions(q *triage.Question) {
	width := 0
	for _, o := range q.Options {
		width = max(width, len(o.Value))
	}
	for _, o := range q.Options {
		p.hanging(fmt.Sprintf("    --answer %s=%-*s  ", q.Key, width, o.Value), o.Text)
	}
}

// TriagePrompt prints a question as it is put in a terminal, with its answers numbered.
func TriagePrompt(w io.Writer, l term.Look, q *triage.Question) error {
	p := newPage(l, false)
	p.line("")
	p.strong(term.Bold, q.Text)
	width := 0
	for _, o := range q.Options {
		width = max(width, len(o.Value))
	}
	for i, o := range q.Options {
		p.hanging(fmt.Sprintf("  %2d  %-*s  ", i+1, width, o.Value), o.Text)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// TriageHelp prints why a question is asked, and how to find out.
func TriageHelp(w io.Writer, l term.Look, q *triage.Question) error {
	p := newPage(l, false)
	p.text(0, q.Help)
	_, err := io.WriteString(w, p.String())
	return err
}

// TriageList prints the whole tree of questions.
func TriageList(w io.Writer, l term.Look, all []*triage.Question) error {
	p := newPage(l, false)
	for i, q := range all {
		if i > 0 {
			p.line("")
		}
		p.line(p.look.Paint(term.Bold, q.Key+": "+q.Text))
		p.text(2, q.Help)
		p.triageOptions(q)
	}
	_, err := io.WriteString(w, p.String())
	return err
}
