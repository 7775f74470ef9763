package report

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

// FitRemedy is what a remedy comes to.
type FitRemedy struct {
	Name   string // as it was asked for
	Do     string // what the user does
	Did    string // what was changed here, or the formula
	Cost   string
	Method Method
	WhyNot string // why it does not apply; "" where it does

	Prediction *fit.Prediction // with it; nil where it does not apply
}

// Method is how an effect was found.
type Method string

// Methods.
const (
	ByTrace      Method = "traced"    // the program was traced again with the remedy
	ByFormula    Method = "formula"   // sizes of the trace were changed by a published rule, and replayed
	BySimulation Method = "simulated" // the same requests, in an allocator with other settings
)

// SavedBytes is by how much the peak of reserved memory falls; negative where it rises.
func (r *FitRemedy) SavedBytes(v *Fitting) int64 {
	if r.Prediction == nil {
		return 0
	}
	return v.Prediction.Best.PeakReserved - r.Prediction.Best.PeakReserved
}

// share is SavedBytes of the peak.
func (r *FitRemedy) share(v *Fitting) float64 {
	if v.Prediction.Best.PeakReserved == 0 {
		return 0
	}
	return float64(r.SavedBytes(v)) / float64(v.Prediction.Best.PeakReserved)
}

// fits tells whether the program is safe with the remedy.
func (r *FitRemedy) fits() bool { return r.Prediction.Safe <= r.Prediction.RoomBytes() }

// fitRemedies prints what saves memory, what would take more, and what does not apply.
func (p *page) fitRemedies(v *Fitting) {
	if len(v.Remedies) == 0 {
		return
	}
	p.heading("What would save memory")
	t := newGrid("remedy", ">saves", ">of reserved", ">reserved", ">safe bound", "fits", "by")
	t.head = true
	for i := range v.Remedies {
		r := &v.Remedies[i]
		if r.Prediction == nil || r.SavedBytes(v) <= 0 {
			continue
		}
		fits := "yes"
		if !r.fits() {
			fits = "no"
		}
		f := r.Prediction
		t.row(r.Name, units.FormatBytes(r.SavedBytes(v)), fmt.Sprintf("%.1f %%", 100*r.share(v)), units.FormatBytes(f.Best.PeakReserved), units.FormatBytes(f.Safe), fits, string(r.Method))
	}
	if len(t.rows) > 0 {
		p.grid(t)
	}
	p.fitRemedyNotes(v)
}

func (p *page) fitRemedyNotes(v *Fitting) {
	var useless, reasons []string
	not := map[string][]string{} // by reason
	for i := range v.Remedies {
		r := &v.Remedies[i]
		switch {
		case r.Prediction == nil:
			if not[r.WhyNot] == nil {
				reasons = append(reasons, r.WhyNot)
			}
			not[r.WhyNot] = append(not[r.WhyNot], r.Name)
		case r.SavedBytes(v) == 0:
			useless = append(useless, r.Name)
		case r.SavedBytes(v) < 0:
			useless = append(useless, fmt.Sprintf("%s (takes %s more)", r.Name, units.FormatBytes(-r.SavedBytes(v))))
		default:
			p.text(2, fmt.Sprintf("- %s: %s. Here: %s. It costs: %s.", r.Name, r.Do, r.Did, r.Cost))
		}
	}
	if len(useless) > 0 {
		p.text(2, "Saves nothing here: "+strings.Join(useless, ", ")+".")
	}
	for _, why := range reasons {
		p.text(2, fmt.Sprintf("Does not apply: %s: %s.", strings.Join(not[why], ", "), why))
	}
}

// FitRemedyJSON is what a remedy comes to. Amounts are bytes.
type FitRemedyJSON struct {
	Name          string  `json:"name"`
	Do            string  `json:"do"`
	Did           string  `json:"did"`
	Cost          string  `json:"cost"`
	Method        string  `json:"method"`
	Applies       bool    `json:"applies"`
	WhyNot        string  `json:"why_not"`
	PeakAllocated *int64  `json:"peak_allocated_bytes"`
	PeakReserved  *int64  `json:"peak_reserved_bytes"`
	SafeBytes     *int64  `json:"safe_bytes"`
	ProcessBytes  *int64  `json:"process_bytes"`
	SavedBytes    int64   `json:"saved_bytes"` // of peak_reserved_bytes
	SavedShare    float64 `json:"saved_share"`
	FitsSafely    bool    `json:"fits_safely"`
}

func fitRemediesJSON(v *Fitting) []FitRemedyJSON {
	out := []FitRemedyJSON{}
	for i := range v.Remedies {
		r := &v.Remedies[i]
		row := FitRemedyJSON{
			Name: r.Name, Do: r.Do, Did: r.Did, Cost: r.Cost, Method: string(r.Method), Applies: r.Prediction != nil, WhyNot: r.WhyNot,
			SavedBytes: r.SavedBytes(v), SavedShare: r.share(v),
		}
		if f := r.Prediction; f != nil {
			row.PeakAllocated, row.PeakReserved, row.SafeBytes, row.ProcessBytes = &f.Best.PeakAllocated, &f.Best.PeakReserved, &f.Safe, &f.ProcessBytes
			row.FitsSafely = r.fits()
		}
		out = append(out, row)
	}
	return out
}
