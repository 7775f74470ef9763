package fit

import (
	"fmt"
	"slices"
	"strings"
)

// Calibration is what `ullage fit --calibrate` measured on a card beyond its plain facts,
// with which releases, and what it did not measure. Sizes are bytes.
type Calibration struct {
	Date    string  `json:"date"`    // 2026-11-30
	Seconds float64 `json:"seconds"` // that it took
	Torch   string  `json:"torch"`
	CUDA    string  `json:"cuda"`  // that torch was built for
	CuDNN   int     `json:"cudnn"` // 91900 is 9.19.0; 0 of a build without
	NCCL    string  `json:"nccl"`  // "" of a build without
	Driver  string  `json:"driver"`

	NVMLTotalBytes    int64 `json:"nvml_total_bytes,omitempty"` // as nvidia-smi has it: what the driver keeps is in it, and not in total_bytes
	L2Bytes           int64 `json:"l2_bytes,omitempty"`
	SharedBytes       int64 `json:"shared_bytes_per_block,omitempty"`
	CuBLASWorkspace   int64 `json:"cublas_workspace_bytes,omitempty"`   // of a handle and stream; 0: not measured
	CuBLASLtWorkspace int64 `json:"cublaslt_workspace_bytes,omitempty"` // likewise; 0: none, or not measured

	Terms        []CalibratedTerm `json:"terms"`
	Convolutions ConvMeasurements `json:"convolutions"`
}

// CalibratedTerm says of a number or a rule of the model where it is from on this card.
type CalibratedTerm struct {
	Name   string `json:"name"`
	Origin string `json:"origin"` // Measured, Computed, Published or Assumed
	Noisy  bool   `json:"noisy,omitempty"`
	Text   string `json:"text"`

	// Of a term that is computed: how many calls were measured beside, and what came of it.
	Calls       int     `json:"calls,omitempty"`
	Exact       int     `json:"exact,omitempty"`
	Times       float64 `json:"times,omitempty"`        // the most that a call took of what was computed for it; at least 1
	UnseenBytes int64   `json:"unseen_bytes,omitempty"` // the most that a call took where next to nothing was computed
}

// Origins of a term, beside Measured and Published.
const (
	Computed = "computed" // by a rule of the model
	Assumed  = "assumed"  // to be as on another card
)

// term returns what is known of a term, nil where nothing is.
func (c *Calibration) term(name string) *CalibratedTerm {
	if c == nil {
		return nil
	}
	if i := slices.IndexFunc(c.Terms, func(t CalibratedTerm) bool { return t.Name == name }); i >= 0 {
		return &c.Terms[i]
	}
	return nil
}

// high raises the most that an operator may take by how far its rule fell short on the card.
func (p *Profile) high(term Term, bytes int64) int64 {
	if t := p.Calibration.term(term.String()); t != nil && t.Times > 1 {
		return int64(float64(bytes) * t.Times)
	}
	return bytes
}

// unseen is the most that a call of the terms that a job uses took on the card without the
// model's knowing.
func (j *Job) unseen() (bytes int64) {
	for term := range numTerms {
		if t := j.Profile.Calibration.term(term.String()); t != nil && j.Terms[term].Requests > 0 {
			bytes = max(bytes, t.UnseenBytes)
		}
	}
	return bytes
}

// Differs tells in which releases a trace differs from those that a card was calibrated
// with; "" where in none. What a build without CUDA does not have is not compared.
func (c *Calibration) Differs(m *Meta) string {
	if c == nil {
		return ""
	}
	var list []string
	note := func(what, was, is string) {
		if was != "" && is != "" && was != is {
			list = append(list, fmt.Sprintf("%s %s, the program has %s", what, was, is))
		}
	}
	torch, _, _ := strings.Cut(c.Torch, "+")
	note("torch", torch, m.Torch)
	note("CUDA", c.CUDA, m.CUDA)
	note("cuDNN", CuDNNVersion(c.CuDNN), CuDNNVersion(m.CuDNN))
	return strings.Join(list, "; ")
}

// CuDNNVersion writes cuDNN's number as a version: 91900 is 9.19.0, 8907 is 8.9.7.
func CuDNNVersion(n int) string {
	switch {
	case n <= 0:
		return ""
	case n < 10000:
		return fmt.Sprintf("%d.%d.%d", n/1000, n/100%10, n%100)
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100)
}
