package report

import (
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/tune"
)

// TuneJSON is what tune prints under --json. Amounts are bytes; lists are never null.
type TuneJSON struct {
	Torch       TorchJSON       `json:"torch"`
	Room        RoomJSON        `json:"room"`
	Programs    []ProgramJSON   `json:"programs"` // one for each device of each file
	Recorded    string          `json:"recorded_alloc_conf"`
	Results     []SettingResult `json:"results"` // in the order asked; of a search, the best first
	Advice      *AdviceJSON     `json:"advice"`  // of a search; else null
	Findings    []FindingJSON   `json:"findings"`
	Simulations int64           `json:"simulations"`
	Calls       int64           `json:"simulated_calls"`
}

// TorchJSON is the release that was simulated.
type TorchJSON struct {
	Version string `json:"version"`
	Assumed bool   `json:"assumed"`
	Oldest  string `json:"recording_from"` // releases that can have made the recording
	Newest  string `json:"recording_to"`
	Shown   string `json:"shown_by"` // what in the recording says that it is no newer; may be empty
}

// RoomJSON is the memory that runs were given; null is no bound.
type RoomJSON struct {
	LimitBytes  *int64 `json:"limit_bytes"`
	DeviceBytes *int64 `json:"device_bytes"`
	Bytes       *int64 `json:"bytes"` // the least bound of reserved memory
	Source      string `json:"source"`
}

// ProgramJSON is what was replayed.
type ProgramJSON struct {
	File          string `json:"file"`
	Rank          *int   `json:"rank"`
	Device        int    `json:"device"`
	Calls         int    `json:"calls"`
	EmptyCaches   int    `json:"empty_cache_calls"` // inferred
	FailedBefore  int    `json:"recorded_failures"`
	DeferredFrees int    `json:"deferred_frees"`
	PrivatePools  int    `json:"private_pools"`
	Workspaces    int    `json:"workspaces"`
	Odd           int    `json:"events_left_out"`
	StartBytes    int64  `json:"start_bytes"` // allocated before the first event
	RecordedPeak  int64  `json:"recorded_peak_reserved_bytes"`
	Died          *int   `json:"died_at_event"`
}

// SettingResult is what a setting comes to; of several programs, the one that needs the most.
type SettingResult struct {
	AllocConf          string      `json:"alloc_conf"`
	Recorded           bool        `json:"recorded"` // these are the settings of the recording
	PeakReservedBytes  int64       `json:"peak_reserved_bytes"`
	PeakAllocatedBytes int64       `json:"peak_allocated_bytes"`
	PeakActiveBytes    int64       `json:"peak_active_bytes"`
	PeakRequestedBytes int64       `json:"peak_requested_bytes"`
	Fragmentation      float64     `json:"fragmentation"` // 1 - peak active / peak reserved
	OOM                bool        `json:"oom"`
	OOMEvent           *int        `json:"oom_event"`
	OOMRequestBytes    int64       `json:"oom_request_bytes"`
	OOMFile            string      `json:"oom_file"`
	OOMDevice          *int        `json:"oom_device"`
	OOMFrames          []string    `json:"oom_frames"` // innermost first, library frames folded
	SmallestLimitBytes *int64      `json:"smallest_limit_bytes"`
	ToleranceBytes     int64       `json:"smallest_limit_tolerance_bytes"`
	RetriesAtLimit     int         `json:"smallest_limit_alloc_retries"`
	DeclinedAtLimit    int         `json:"smallest_limit_declined_workspaces"`
	Retries            int         `json:"alloc_retries"`
	NumOOMs            int         `json:"num_ooms"`
	DeviceAllocs       int         `json:"device_allocs"`
	DeviceFrees        int         `json:"device_frees"`
	CudaMallocs        int         `json:"cuda_mallocs"`
	CudaFrees          int         `json:"cuda_frees"`
	MapCalls           int         `json:"map_calls"`
	UnmapCalls         int         `json:"unmap_calls"`
	MappedPages        int         `json:"mapped_pages"`
	UnmappedPages      int         `json:"unmapped_pages"`
	FinalReservedBytes int64       `json:"final_reserved_bytes"`
	FinalSegments      int         `json:"final_segments"` // native ones
	StallUS            int64       `json:"estimated_stall_us"`
	Declined           int         `json:"declined_workspaces"`
	Rescued            int         `json:"rescued_requests"`
	Mode               string      `json:"start"` // from-first, warm, cold
	Spread             *SpreadJSON `json:"spread"`
	Notes              []string    `json:"notes"`
	Ranks              []RankOf    `json:"ranks"` // each program, in the order of programs
}

// RankOf is what a setting comes to for one of several programs.
type RankOf struct {
	PeakReservedBytes  int64  `json:"peak_reserved_bytes"`
	OOM                bool   `json:"oom"`
	SmallestLimitBytes *int64 `json:"smallest_limit_bytes"`
	Retries            int    `json:"alloc_retries"`
}

// SpreadJSON is how far the peak of reserved memory depends on what no recording
// determines; null where that was not looked at.
type SpreadJSON struct {
	Runs      int   `json:"runs"`
	Same      bool  `json:"same"` // in everything that is counted
	Lives     int   `json:"lives"`
	LowBytes  int64 `json:"peak_reserved_low_bytes"`
	HighBytes int64 `json:"peak_reserved_high_bytes"`
}

// AdviceJSON is what to do.
type AdviceJSON struct {
	Verdict    string   `json:"verdict"` // keep, change, rescue, nothing
	AllocConf  string   `json:"alloc_conf"`
	Export     string   `json:"export"`
	SavesBytes int64    `json:"saves_bytes"`
	Confidence string   `json:"confidence"`
	Why        []string `json:"why"`
	Risks      []string `json:"risks"`
}

// NewTuneJSON makes the JSON form of a tuning.
func NewTuneJSON(v *Tuning) TuneJSON {
	out := TuneJSON{
		Torch:    TorchJSON{v.Torch.Version.String(), !v.Torch.Given, v.Torch.Oldest.String(), v.Torch.Newest.String(), v.Torch.Why},
		Room:     RoomJSON{positive(v.Tuner.Room.LimitBytes), positive(v.Tuner.Room.DeviceBytes), positive(v.Tuner.Room.Bytes()), v.Tuner.Room.Source.String()},
		Programs: []ProgramJSON{}, Recorded: v.Tuner.Recorded.Conf, Results: []SettingResult{}, Findings: FindingsJSON(v.Findings),
	}
	for _, p := range v.Tuner.Programs {
		out.Programs = append(out.Programs, programJSON(p))
	}
	for i := range v.Results {
		out.Results = append(out.Results, v.result(&v.Results[i]))
	}
	if a := v.Advice; a != nil {
		out.Advice = &AdviceJSON{
			string(a.Verdict), a.Best.Conf, tune.Export(v.Tuner.Version, a.Best.Conf), a.SavesBytes, a.Confidence.String(),
			append([]string{}, a.Why...), append([]string{}, a.Risks...),
		}
	}
	out.Simulations, out.Calls = v.Tuner.Simulations()
	return out
}

// positive makes null of what is not known.
func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

func programJSON(p *tune.Program) ProgramJSON {
	n := p.Notes
	j := ProgramJSON{
		File: p.TL.Rec.Source.Name, Device: p.TL.Dev.Index, Calls: p.Len(), EmptyCaches: n.EmptyCaches, FailedBefore: n.FailedBefore,
		DeferredFrees: n.DeferredFrees, PrivatePools: n.PrivatePools, Workspaces: n.Workspaces, Odd: n.Odd,
		StartBytes: p.TL.Start.Allocated, RecordedPeak: p.TL.Peak.Reserved.Bytes, Died: ordinal(p.Died),
	}
	if r := p.TL.Rec.Source.Rank; r >= 0 {
		j.Rank = &r
	}
	return j
}

func (v *Tuning) result(r *tune.Result) SettingResult {
	w := r.Worst()
	s := w.Stats
	j := SettingResult{
		AllocConf: r.Conf, Recorded: r.Recorded,
		PeakReservedBytes: s.PeakReserved, PeakAllocatedBytes: s.PeakAllocated, PeakActiveBytes: s.PeakActive, PeakRequestedBytes: s.PeakRequested,
		Fragmentation: w.Fragmentation(), OOM: !r.Lives(), OOMFrames: []string{},
		SmallestLimitBytes: positive(w.SmallestLimitBytes), ToleranceBytes: w.ToleranceBytes, RetriesAtLimit: w.AtLimit.Retries, DeclinedAtLimit: w.AtLimit.Declined,
		Retries: s.Retries, NumOOMs: s.OOMs, DeviceAllocs: s.DeviceAllocs, DeviceFrees: s.DeviceFrees,
		CudaMallocs: w.Calls.Mallocs, CudaFrees: w.Calls.Frees, MapCalls: w.Calls.Maps, UnmapCalls: w.Calls.Unmaps,
		MappedPages: s.MappedPages, UnmappedPages: s.UnmappedPages, FinalReservedBytes: s.Reserved, FinalSegments: w.Segments,
		StallUS: w.Calls.StallUS(), Declined: w.Declined, Rescued: w.Rescued, Mode: w.Mode.String(),
		Notes: append([]string{}, v.Tuner.Notes(r)...),
	}
	for i := range r.Runs {
		v := &r.Runs[i]
		j.Ranks = append(j.Ranks, RankOf{v.PeakReserved, !v.Lives(), positive(v.SmallestLimitBytes), v.Retries})
	}
	if f := w.Failed; f != nil {
		j.OOMEvent, j.OOMRequestBytes = ordinal(f.Event), f.RequestedBytes
		j.OOMFile, j.OOMDevice = w.Program.TL.Rec.Source.Name, &w.Program.TL.Dev.Index
		if f.Event >= 0 {
			j.OOMFrames = append(j.OOMFrames, analyze.FoldFrames(stackOf(w.Program, f.Event))...)
		}
	}
	if sp := w.Spread; sp.Runs > 0 {
		j.Spread = &SpreadJSON{sp.Runs, sp.Same, sp.Lives, sp.Low, sp.High}
	}
	return j
}
