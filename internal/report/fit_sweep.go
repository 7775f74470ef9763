package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

// SweptFlag is an argument of the program that was varied, and what that came to.
type SweptFlag struct {
	Name string
	fit.Sweep
}

// Answer names the largest value that is safe, as the beginning of the verdict.
func (s *SweptFlag) Answer() string {
	best, ok := s.Best()
	switch {
	case !ok:
		return fmt.Sprintf("No %s from %d on is safe. ", s.Name, s.Low)
	case best == s.High:
		return fmt.Sprintf("Every %s up to %d is safe. ", s.Name, s.High)
	}
	return fmt.Sprintf("The largest %s that is safe is %d. ", s.Name, best)
}

// sorted returns the values that were tried in order.
func (s *SweptFlag) sorted() []fit.SweepPoint {
	points := slices.Clone(s.Tried)
	slices.SortFunc(points, func(a, b fit.SweepPoint) int { return a.Value - b.Value })
	return points
}

func (p *page) fitSweep(s *SweptFlag) {
	if s == nil {
		return
	}
	p.heading("By " + s.Name)
	t := newGrid(">"+s.Name, ">safe bound", ">to spare", "safe")
	for _, point := range s.sorted() {
		word := "yes"
		if !point.Fits() {
			word = "no"
		}
		t.row(strconv.Itoa(point.Value), units.FormatBytes(point.NeedBytes), units.FormatBytesDelta(point.RoomBytes-point.NeedBytes), word)
	}
	p.grid(t)
	if best, ok := s.Best(); ok {
		p.text(2, fmt.Sprintf("The rest of this report is for %s %d.", s.Name, best))
	}
}

// SweepJSON is an argument that was varied.
type SweepJSON struct {
	Name  string           `json:"name"`
	Low   int              `json:"low"`
	High  int              `json:"high"`
	Best  *int             `json:"best"` // the largest value that is safe
	Tried []SweepPointJSON `json:"tried"`
}

// SweepPointJSON is a value that was tried.
type SweepPointJSON struct {
	Value     int   `json:"value"`
	SafeBytes int64 `json:"safe_bytes"`
	RoomBytes int64 `json:"room_bytes"`
	Fits      bool  `json:"fits_safely"`
}

func sweepJSON(s *SweptFlag) *SweepJSON {
	if s == nil {
		return nil
	}
	out := &SweepJSON{Name: s.Name, Low: s.Low, High: s.High, Tried: []SweepPointJSON{}}
	if best, ok := s.Best(); ok {
		out.Best = &best
	}
	for _, p := range s.sorted() {
		out.Tried = append(out.Tried, SweepPointJSON{p.Value, p.NeedBytes, p.RoomBytes, p.Fits()})
	}
	return out
}
