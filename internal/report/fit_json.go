package report

import (
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/fit"
)

// FitJSON is what fit prints under --json. Amounts are bytes; lists are never null.
type FitJSON struct {
	GPU                string          `json:"gpu"`
	Torch              string          `json:"torch"`
	AllocConf          string          `json:"alloc_conf"`
	LimitBytes         *int64          `json:"limit_bytes"` // of reserved memory, that the program or the user set
	Fits               bool            `json:"fits"`
	FitsSafely         bool            `json:"fits_safely"`
	FailedRequestBytes *int64          `json:"failed_request_bytes"`
	PeakRequestedBytes int64           `json:"peak_requested_bytes"`
	PeakAllocatedBytes int64           `json:"peak_allocated_bytes"`
	PeakReservedBytes  int64           `json:"peak_reserved_bytes"`
	PeakReservedHigh   int64           `json:"peak_reserved_high_bytes"` // where all that is known within bounds only takes the most
	Rough              []string        `json:"rough"`                    // what is known within bounds only
	SafeBytes          int64           `json:"safe_bytes"`               // the limit on reserved memory under which the job is expected to live
	ContextBytes       int64           `json:"context_bytes"`
	ProcessBytes       int64           `json:"process_bytes"`
	SafeProcessBytes   int64           `json:"safe_process_bytes"`
	Margins            []MarginJSON    `json:"margins"` // what safe_bytes is made of beyond peak_reserved_bytes
	Terms              []TermJSON      `json:"terms"`   // what operators take for themselves
	MeasuredConvs      int             `json:"convolutions_measured"`
	EstimatedConvs     int             `json:"convolutions_estimated"`
	Steps              int             `json:"steps"`
	Calls              int             `json:"calls"`
	Stopped            string          `json:"stopped"` // why the trace ends
	Partial            string          `json:"partial"` // why it does not show whole steps of the program; "" where it does
	Cards              []CardJSON      `json:"cards"`
	Memory             HeldJSON        `json:"memory"` // whose it is when most is allocated
	Sweep              *SweepJSON      `json:"sweep"`
	Remedies           []FitRemedyJSON `json:"remedies"` // those that were asked for, that which saves most first
	Budgets            []BudgetJSON    `json:"budgets"`
	Notes              []string        `json:"notes"`
	Ranks              []FitRankJSON   `json:"ranks"` // those that were traced; the figures above are of the one that takes most
}

// MarginJSON is a part of the safe bound.
type MarginJSON struct {
	Why   string `json:"why"`
	Bytes int64  `json:"bytes"`
}

// TermJSON is what operators took for themselves for one reason.
type TermJSON struct {
	Term         string `json:"term"`
	Requests     int    `json:"requests"`
	LargestBytes int64  `json:"largest_bytes"`
}

// CardJSON is how the job does on a card.
type CardJSON struct {
	Name       string `json:"name"`
	Origin     string `json:"origin"`
	TotalBytes int64  `json:"total_bytes"`
	RoomBytes  int64  `json:"room_bytes"`
	Fits       bool   `json:"fits"`
	FitsSafely bool   `json:"fits_safely"`
	SpareBytes int64  `json:"spare_bytes"`
	Retries    int    `json:"alloc_retries"`
}

// HeldJSON is whose memory it is at one moment, by what it is for, by line and by module.
type HeldJSON struct {
	AllocatedBytes int64      `json:"allocated_bytes"`
	Categories     []PartJSON `json:"categories"`
	Lines          []PartJSON `json:"lines"`
	Modules        []PartJSON `json:"modules"`
}

// PartJSON is a part of it.
type PartJSON struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

func heldJSON(x *analyze.Explanation) HeldJSON {
	out := HeldJSON{Categories: []PartJSON{}, Lines: []PartJSON{}, Modules: []PartJSON{}}
	if x == nil {
		return out
	}
	out.AllocatedBytes = x.Holders.AllocatedBytes
	for _, c := range x.Holders.Categories {
		out.Categories = append(out.Categories, PartJSON{c.Category.String(), c.Bytes})
	}
	for _, g := range x.Holders.Groups {
		out.Lines = append(out.Lines, PartJSON{g.Name, g.Bytes})
	}
	for _, g := range x.Modules {
		out.Modules = append(out.Modules, PartJSON{g.Name, g.Bytes})
	}
	return out
}

// NewFitJSON makes the JSON form of a prediction.
func NewFitJSON(v *Fitting) FitJSON {
	p, j := v.Prediction, v.Prediction.Job
	out := FitJSON{
		GPU: j.Profile.Name, Torch: j.Trace.Meta.Torch, AllocConf: j.Trace.Meta.AllocConf, LimitBytes: positive(p.Limit),
		Fits: p.Fits.Failed == nil, FitsSafely: p.Fits.Failed == nil && p.SafeProcess <= j.Profile.TotalBytes,
		PeakRequestedBytes: p.Best.PeakRequested, PeakAllocatedBytes: p.Best.PeakAllocated, PeakReservedBytes: p.Best.PeakReserved,
		PeakReservedHigh: p.HighBytes, Rough: append([]string{}, j.Rough()...),
		SafeBytes: p.Safe, ContextBytes: p.ContextBytes, ProcessBytes: p.ProcessBytes, SafeProcessBytes: p.SafeProcess,
		Margins: []MarginJSON{}, Terms: []TermJSON{}, Cards: []CardJSON{}, Budgets: append([]BudgetJSON{}, v.Budgets...), Notes: append([]string{}, v.Notes...),
		Partial:       v.Partial,
		MeasuredConvs: j.Exact, EstimatedConvs: j.Guesses, Ranks: newFitRanks(v),
	}
	if f := p.Fits.Failed; f != nil {
		out.FailedRequestBytes = positive(f.Err.RequestedBytes)
	}
	if e := j.Trace.End; e != nil {
		out.Steps, out.Calls, out.Stopped = e.Steps, e.Calls, e.Reason
	}
	for _, m := range p.Why {
		out.Margins = append(out.Margins, MarginJSON{m.Text, m.Bytes})
	}
	for t, use := range j.Terms {
		if use.Requests > 0 {
			out.Terms = append(out.Terms, TermJSON{fit.Term(t).String(), use.Requests, use.Largest})
		}
	}
	for _, c := range v.Cards {
		out.Cards = append(out.Cards, CardJSON{c.Profile.Name, c.Profile.Origin, c.Profile.TotalBytes, c.Room, c.Lives(), c.Safe, c.Spare, c.Run.Retries})
	}
	out.Memory, out.Sweep, out.Remedies = heldJSON(v.X), sweepJSON(v.Sweep), fitRemediesJSON(v)
	return out
}
