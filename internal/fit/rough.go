package fit

import "strings"

// roughShare is from which share of the reserved peak on a prediction is a range: nine of
// ten measured jobs are predicted within it (docs/accuracy.md).
const roughShare = 0.05

// IsRough tells whether what is known within bounds only makes the reserved peak a range,
// from Best.PeakReserved to HighBytes.
func (p *Prediction) IsRough() bool {
	return float64(p.HighBytes-p.Best.PeakReserved) > roughShare*float64(p.Best.PeakReserved)
}

// Rough names the operators of a job whose own memory is known within bounds only: cuDNN
// chooses, and no rule that was found gives its choice to the byte.
func (j *Job) Rough() (names []string) {
	for _, r := range []struct {
		count int
		name  string
	}{
		{j.Terms[Recurrent].Requests, "recurrent layers"},
		{j.Searches, "the trials of cudnn.benchmark"},
		{j.Volumes, "convolutions in three dimensions"},
		{j.Guesses - j.Volumes, "convolutions that were not measured"},
	} {
		if r.count > 0 {
			names = append(names, r.name)
		}
	}
	return names
}

// RoughText is Rough in words.
func (j *Job) RoughText() string { return strings.Join(j.Rough(), ", ") }
