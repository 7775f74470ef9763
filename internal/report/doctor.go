package report

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/term"
)

// DoctorJSON is what doctor prints under --json. Lists are never null. Readers must ignore
// fields that they do not know.
type DoctorJSON struct {
	Verdict DoctorVerdictJSON `json:"verdict"`
	Checks  []DoctorCheckJSON `json:"checks"`
}

// DoctorVerdictJSON sums the checks up.
type DoctorVerdictJSON struct {
	State string `json:"state"` // ok, unknown, note, warning, problem: the worst of the checks
	Text  string `json:"text"`
}

// DoctorCheckJSON is the answer to one question about the machine.
type DoctorCheckJSON struct {
	ID    string   `json:"id"`
	State string   `json:"state"` // ok, unknown, note, warning, problem
	Seen  string   `json:"seen"`  // of what is unknown, why
	Means string   `json:"means"` // empty where it is plain
	Do    []string `json:"do"`    // best first
}

// NewDoctorJSON makes the JSON form of a result.
func NewDoctorJSON(r *doctor.Result) DoctorJSON {
	out := DoctorJSON{Verdict: DoctorVerdictJSON{r.Verdict.State.String(), r.Verdict.Text}, Checks: []DoctorCheckJSON{}}
	for _, c := range r.Checks {
		out.Checks = append(out.Checks, DoctorCheckJSON{c.ID, c.State.String(), c.Seen, c.Means, append([]string{}, c.Do...)})
	}
	return out
}

// doctorStyles are how states stand out. The word is there besides.
var doctorStyles = map[doctor.State]term.Style{
	doctor.Problem: term.Red, doctor.Warning: term.Yellow, doctor.Note: term.Cyan, doctor.OK: term.Green,
}

// Doctor prints a result: the verdict, what is wrong, worst first, and the rest in brief.
func Doctor(w io.Writer, l term.Look, r *doctor.Result) error {
	p := newPage(l, false)
	style := doctorStyles[r.Verdict.State]
	if r.Verdict.State < doctor.Warning {
		style = term.Green
	}
	p.strong(style, sentence(r.Verdict.Text))
	for _, s := range []doctor.State{doctor.Problem, doctor.Warning, doctor.Note} {
		for _, c := range r.Of(s) {
			p.doctorCheck(&c)
		}
	}
	p.doctorBrief("not known:", r.Of(doctor.Unknown))
	p.doctorBrief("fine:", r.Of(doctor.OK))
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) doctorCheck(c *doctor.Check) {
	p.line("")
	p.line(p.look.Paint(doctorStyles[c.State], c.State.String()) + ": " + p.look.Paint(term.Bold, c.ID))
	p.text(2, sentence(c.Seen))
	if c.Means != "" {
		p.text(2, c.Means)
	}
	for _, do := range c.Do {
		p.text(4, "- "+do)
	}
}

// doctorBrief prints a line for each check, with its id before it.
func (p *page) doctorBrief(title string, checks []doctor.Check) {
	if len(checks) == 0 {
		return
	}
	width := 0
	for _, c := range checks {
		width = max(width, len(c.ID))
	}
	p.heading(title)
	for _, c := range checks {
		p.hanging(fmt.Sprintf("  %-*s  ", width, c.ID), c.Seen)
	}
}
