package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Fitting is what the command fit found of one process.
type Fitting struct {
	Command    string
	Prediction *fit.Prediction
	Cards      []fit.Card
	X          *analyze.Explanation // of the predicted recording, at its peak
	Budgets    []BudgetJSON
	Partial    string     // why the trace does not show whole steps of the program; "" where it does
	Notes      []string   // what the prediction assumes
	Sweep      *SweptFlag // an argument that was varied; nil for none
	Remedies   []FitRemedy
	Ranks      []FitRank // those that were traced, in their order; Prediction is the one's that needs most
}

// Fit prints a prediction: the answer first, then whose memory it is, then the cards.
func Fit(w io.Writer, l term.Look, v *Fitting, markdown bool) error {
	p := newPage(l, markdown)
	p.x = v.X
	p.title(v.Command)
	p.strong(v.style(), v.Answer())
	p.fitSweep(v.Sweep)
	p.fitNumbers(v)
	p.fitRanks(v)
	p.fitHolders()
	p.fitTerms(v)
	p.fitRemedies(v)
	p.fitCards(v)
	p.fitNotes(v)
	for _, b := range v.Budgets {
		p.line("")
		p.line(b.Text())
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (v *Fitting) style() term.Style {
	switch {
	case v.Prediction.Fits.Failed != nil:
		return term.Red
	case v.Partial != "", v.Prediction.SafeProcess > v.Prediction.Job.Profile.TotalBytes:
		return term.Yellow
	}
	return term.Green
}

// Answer is the verdict in a sentence or two.
func (v *Fitting) Answer() string {
	p := v.Prediction
	of := v.ofRanks()
	if v.Partial != "" {
		of = fmt.Sprintf("In part only: %s. What it did by then: ", v.Partial) + of
	}
	if v.Sweep != nil {
		of = v.Sweep.Answer() + of
	}
	card := fmt.Sprintf("%s (%s)", p.Job.Profile.Device, units.FormatBytes(p.Job.Profile.TotalBytes))
	upTo, why := "", ""
	if p.IsRough() {
		upTo = " to " + units.FormatBytes(p.HighBytes)
		why = "; the range is for what cuDNN may choose: " + p.Job.RoughText()
	}
	need := fmt.Sprintf("It reserves %s%s at its peak (%s allocated%s), and is safe with a limit of %s; with the context the process takes %s.",
		units.FormatBytes(p.Best.PeakReserved), upTo, units.FormatBytes(p.Best.PeakAllocated), why, units.FormatBytes(p.Safe), units.FormatBytes(p.ProcessBytes))
	switch {
	case p.Fits.Failed != nil:
		return of + fmt.Sprintf("Does not fit on %s: a request of %s fails%s. %s", card, units.FormatBytes(p.Fits.Failed.Err.RequestedBytes), v.where(), need)
	case p.SafeProcess > p.Job.Profile.TotalBytes:
		return of + fmt.Sprintf("Fits on %s, but only just: the safe bound lies above what the card has. %s", card, need)
	}
	return of + fmt.Sprintf("Fits on %s. %s", card, need)
}

// where names the line at which the run ends.
func (v *Fitting) where() string {
	t, stack := v.Prediction.Job.Trace, v.Prediction.Fits.Failed.Stack
	if stack < 0 {
		return ""
	}
	for _, f := range t.Stacks[stack].Frames {
		if at := t.Frames[f]; !strings.Contains(at.File, "site-packages") && !strings.Contains(at.File, "dist-packages") {
			return fmt.Sprintf(" at %s:%d", at.File, at.Line)
		}
	}
	return ""
}

func (p *page) fitNumbers(v *Fitting) {
	f := v.Prediction
	p.heading("What it needs")
	t := newGrid("what", ">expected", ">safe bound", "meaning")
	t.row("allocated", units.FormatBytes(f.Best.PeakAllocated), "", "peak of what the program holds")
	t.row("reserved", units.FormatBytes(f.Best.PeakReserved), units.FormatBytes(f.Safe), "peak of what PyTorch holds of the device")
	t.row("context", units.FormatBytes(f.ContextBytes), units.FormatBytes(f.ContextBytes+f.Job.Profile.Context.SpreadBytes), "CUDA and its libraries, outside of PyTorch's allocator")
	t.row("process", units.FormatBytes(f.ProcessBytes), units.FormatBytes(f.SafeProcess), "what nvidia-smi will show")
	p.grid(t)
	for _, m := range f.Why {
		p.text(2, fmt.Sprintf("Safe bound: %s for %s.", units.FormatBytes(m.Bytes), m.Text))
	}
}

// fitHolders prints whose memory it is, as explain does.
func (p *page) fitHolders() {
	if p.x != nil {
		p.accounting()
		p.holders()
	}
}

func (p *page) fitTerms(v *Fitting) {
	t := newGrid("taken by", ">requests", ">largest")
	for term, use := range v.Prediction.Job.Terms {
		if use.Requests > 0 {
			t.row(fit.Term(term).String(), units.FormatCount(int64(use.Requests)), units.FormatBytes(use.Largest))
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading("What operators take for themselves")
	p.grid(t)
	if j := v.Prediction.Job; j.Exact+j.Guesses > 0 {
		where := "an H200"
		if own := j.Profile.Calibration; own != nil && len(own.Convolutions.Rows) > 0 {
			where = "this card or an H200"
		}
		p.text(2, fmt.Sprintf("Workspaces of convolutions: %s measured on %s, %s estimated from measured ones like them.", units.FormatCount(int64(j.Exact)), where, units.FormatCount(int64(j.Guesses))))
	}
}

func (p *page) fitCards(v *Fitting) {
	if len(v.Cards) == 0 {
		return
	}
	p.heading("Cards")
	t := newGrid("card", ">memory", ">left for PyTorch", "fits", ">to spare", "known from")
	for _, c := range v.Cards {
		t.row(c.Profile.Name, units.FormatBytes(c.Profile.TotalBytes), units.FormatBytes(c.Room), cardVerdict(&c), units.FormatBytesDelta(c.Spare), c.Profile.Origin+" facts")
	}
	p.grid(t)
	p.text(2, fmt.Sprintf("Kernels are those of %s; on another card cuDNN and attention may take others.", v.Prediction.Job.Profile.Name))
}

func cardVerdict(c *fit.Card) string {
	switch {
	case !c.Lives():
		return "no"
	case !c.Safe:
		return "just"
	case c.Run.Retries > 0:
		return "yes, with cache flushes"
	}
	return "yes"
}

func (p *page) fitNotes(v *Fitting) {
	if len(v.Notes) == 0 {
		return
	}
	p.heading("What this assumes")
	for _, n := range v.Notes {
		p.text(2, "- "+n)
	}
}
