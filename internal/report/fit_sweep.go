package report

import (
	"fmt"
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

func (p *page) fitSweep(s *SweptFlag) {
	if s == nil {
		return
	}
	p.heading("By " + s.Name)
	t := newGrid(">"+s.Name, ">reserved", ">safe bound", ">to spare", "safe", "known from")
	t.head = true
	for _, point := range s.Table() {
		word, from := "yes", "a trace"
		if !point.Fits() {
			word = "no"
		}
		if point.Estimated {
			from = "the traces around it"
		}
		t.row(strconv.Itoa(point.Value), units.FormatBytes(point.ReservedBytes), units.FormatBytes(point.NeedBytes), units.FormatBytesDelta(point.RoomBytes-point.NeedBytes), word, from)
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
	Best  *int             `json:"best"`  // the largest value that is safe
	Tried []SweepPointJSON `json:"tried"` // traced, or estimated from those that were
}

// SweepPointJSON is a value that was tried.
type SweepPointJSON struct {
	Value     int   `json:"value"`
	Reserved  int64 `json:"peak_reserved_bytes"`
	SafeBytes int64 `json:"safe_bytes"`
	RoomBytes int64 `json:"room_bytes"`
	Fits      bool  `json:"fits_safely"`
	Traced    bool  `json:"traced"`
}

func sweepJSON(s *SweptFlag) *SweepJSON {
	if s == nil {
		return nil
	}
	out := &SweepJSON{Name: s.Name, Low: s.Low, High: s.High, Tried: []SweepPointJSON{}}
	if best, ok := s.Best(); ok {
		out.Best = &best
	}
	for _, p := range s.Table() {
		out.Tried = append(out.Tried, SweepPointJSON{p.Value, p.ReservedBytes, p.NeedBytes, p.RoomBytes, p.Fits(), !p.Estimated})
	}
	return out
}
