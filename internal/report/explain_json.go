package report

import (
	"fmt"
	"time"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// ExplainJSON is what explain prints under --json. Amounts are bytes, addresses are
// strings, times RFC 3339; lists are never null. Readers must ignore fields that
// they do not know.
type ExplainJSON struct {
	Devices []DeviceJSON        `json:"devices"` // one for each device of each file
	Ranks   *RanksJSON          `json:"ranks,omitempty"`
	Texts   []TextJSON          `json:"texts,omitempty"` // one for each file that is a text
	Diff    *analyze.DiffReport `json:"diff,omitempty"`
	Budgets []BudgetJSON        `json:"budgets,omitempty"`
}

// DeviceJSON is one device of one recording.
type DeviceJSON struct {
	File      string `json:"file"`
	Form      string `json:"form"`
	Rank      *int   `json:"rank"` // null where nothing tells
	Device    int    `json:"device"`
	Kind      string `json:"kind"` // gpu, host
	Events    int    `json:"events"`
	Truncated bool   `json:"truncated"`

	Verdict       VerdictJSON          `json:"verdict"`
	Coverage      CoverageJSON         `json:"coverage"`
	Steps         StepsJSON            `json:"steps"`
	Window        *WindowJSON          `json:"window,omitempty"`
	Replay        ReplayJSON           `json:"replay"`
	Peak          PeakJSON             `json:"peak"`
	Accounting    AccountingJSON       `json:"accounting"`
	Holders       analyze.HolderReport `json:"holders"`
	KeptBy        *analyze.KeptReport  `json:"kept_by,omitempty"` // where `ullage run` asked the process
	Leaks         []LeakJSON           `json:"leaks"`
	Fragmentation FragmentationJSON    `json:"fragmentation"`
	OOM           *OOMJSON             `json:"oom"` // the failure that ended the run, or null
	FailedAllocs  FailedJSON           `json:"failed_allocations"`
	Settings      *SettingsJSON        `json:"settings"` // null where the file has none
	Findings      []FindingJSON        `json:"findings"`
	Warnings      []string             `json:"warnings"`
}

// VerdictJSON is the answer.
type VerdictJSON struct {
	Kind string `json:"kind"` // out-of-memory, leak, fragmentation, healthy, unclear
	Text string `json:"text"`
}

// CoverageJSON is what the recording covers.
type CoverageJSON struct {
	Begins          string   `json:"begins"` // complete, mid-run, ring-cut, ring-likely, no-events
	From            string   `json:"from,omitempty"`
	To              string   `json:"to,omitempty"`
	Allocs          int      `json:"allocs"`
	AllocsWithStack int      `json:"allocs_with_stack"`
	CppStacks       bool     `json:"cpp_stacks"`
	StartBytes      int64    `json:"start_bytes"` // allocated before the first event
	Inconsistent    []string `json:"inconsistent"`
	NotShown        []string `json:"not_shown"`
}

// StepsJSON is the rounds of the program.
type StepsJSON struct {
	Count      int    `json:"count"`
	Source     string `json:"source"`
	Name       string `json:"name,omitempty"`
	Confidence string `json:"confidence"`
	Bounds     []int  `json:"bounds"` // events: step k is [bounds[k], bounds[k+1])
}

// WindowJSON is the part that was looked at, both ends included.
type WindowJSON struct {
	FromEvent int `json:"from_event"`
	ToEvent   int `json:"to_event"`
}

// ReplayJSON is how far the simulated allocator agrees with the recording.
type ReplayJSON struct {
	Allocs          int  `json:"allocs"`
	Equal           int  `json:"equal"`
	FirstDifference *int `json:"first_difference"` // event, or null
}

// PeakJSON holds three independent maxima.
type PeakJSON struct {
	RequestedBytes int64 `json:"requested_bytes"`
	RequestedEvent int   `json:"requested_event"`
	AllocatedBytes int64 `json:"allocated_bytes"`
	AllocatedEvent int   `json:"allocated_event"`
	ReservedBytes  int64 `json:"reserved_bytes"`
	ReservedEvent  int   `json:"reserved_event"`
}

// AccountingJSON splits what is reserved at one event.
type AccountingJSON struct {
	Event            int        `json:"event"`
	RequestedBytes   int64      `json:"requested_bytes"`
	RoundingBytes    int64      `json:"rounding_bytes"`
	PendingFreeBytes int64      `json:"pending_free_bytes"`
	CachedBytes      int64      `json:"cached_bytes"`
	ReservedBytes    int64      `json:"reserved_bytes"`
	Free             []FreeJSON `json:"free"`
}

// FreeJSON is the free memory that one kind of request can be served from.
type FreeJSON struct {
	Stream       string `json:"stream"` // raw handle
	Pool         string `json:"pool"`   // "0.0" is the default pool, "inferred" a private one that the recording does not name
	SizeClass    string `json:"size_class"`
	FreeBytes    int64  `json:"free_bytes"`
	LargestBytes int64  `json:"largest_bytes"`
	WholeBytes   int64  `json:"whole_segment_bytes"`
	PendingBytes int64  `json:"pending_free_bytes"`
	Segments     int    `json:"segments"`
}

// LeakJSON is memory that grows step by step.
type LeakJSON struct {
	BytesPerStep  float64     `json:"bytes_per_step"`
	BlocksPerStep float64     `json:"blocks_per_step"`
	EverySteps    int         `json:"every_steps"`
	SinceStep     int         `json:"since_step"`
	LiveBytes     int64       `json:"live_bytes"`
	Blocks        int         `json:"blocks"`
	FillsAtStep   *int        `json:"fills_at_step"`
	Severity      string      `json:"severity"`
	Confidence    string      `json:"confidence"`
	Sites         int         `json:"sites"`
	Frames        []FrameJSON `json:"frames"`
}

// FragmentationJSON is how well reserved memory was used at one event.
type FragmentationJSON struct {
	Event        int   `json:"event"`
	FreeBytes    int64 `json:"free_bytes"`
	LargestBytes int64 `json:"largest_bytes"`
	WholeBytes   int64 `json:"whole_segment_bytes"`
	PinnedBytes  int64 `json:"pinned_bytes"`
}

// OOMJSON is the failed allocation that ended a run.
type OOMJSON struct {
	Event            int     `json:"event"`
	Cause            string  `json:"cause"`
	Certain          bool    `json:"certain"`
	RequestBytes     int64   `json:"request_bytes"`
	SegmentBytes     int64   `json:"segment_bytes"`
	DeviceFreeBytes  int64   `json:"device_free_bytes"`
	AllocatedBytes   int64   `json:"allocated_bytes"`
	ReservedBytes    int64   `json:"reserved_bytes"`
	SameFreeBytes    int64   `json:"free_same_bytes"`
	SameLargestBytes int64   `json:"free_same_largest_bytes"`
	OtherStreamBytes int64   `json:"free_other_streams_bytes"`
	OtherPoolBytes   int64   `json:"free_other_pools_bytes"`
	PendingBytes     int64   `json:"pending_free_bytes"`
	MarginBytes      int64   `json:"margin_bytes"`
	Cap              CapJSON `json:"cap"`
}

// CapJSON is the limit that was met.
type CapJSON struct {
	Kind      string `json:"kind"`
	LowBytes  int64  `json:"low_bytes"`
	HighBytes int64  `json:"high_bytes"`

	LimitBytes int64 `json:"limit_bytes"`
	LeaseBytes int64 `json:"lease_bytes,omitempty"` // the lease that the limit is of
}

// FailedJSON counts failed allocations.
type FailedJSON struct {
	Count    int `json:"count"`
	Survived int `json:"survived"`
}

// SettingsJSON is the allocator's settings at the dump.
type SettingsJSON struct {
	Conf               string  `json:"conf"`
	MaxSplitBytes      int64   `json:"max_split_bytes"` // -1 is unlimited
	GCThreshold        float64 `json:"garbage_collection_threshold"`
	ExpandableSegments bool    `json:"expandable_segments"`
}

// FindingJSON is one finding.
type FindingJSON struct {
	Rule       string       `json:"rule"`
	Severity   string       `json:"severity"`
	Confidence string       `json:"confidence"`
	Title      string       `json:"title"`
	Bytes      int64        `json:"bytes"`
	Event      *int         `json:"event"`
	Evidence   []string     `json:"evidence"`
	Frames     []FrameJSON  `json:"frames"` // whole stack, innermost first
	Causes     []string     `json:"causes"`
	Remedies   []RemedyJSON `json:"remedies"`
	Named      []NamedJSON  `json:"named,omitempty"`   // mistakes in the source that it may come from
	Unnamed    string       `json:"unnamed,omitempty"` // why none is named
	Doc        string       `json:"doc"`
}

// NamedJSON is a mistake in the source that a finding may come from.
type NamedJSON struct {
	Rule       string `json:"rule"`
	Confidence string `json:"confidence"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Remedy     string `json:"remedy"`
	Tie        string `json:"tie"`
	Doubt      string `json:"doubt"`
}

// FrameJSON is a position in code.
type FrameJSON struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Name     string `json:"name"`
}

// RemedyJSON is something to change.
type RemedyJSON struct {
	Do     string `json:"do"`
	Effect string `json:"effect"`
	Bytes  int64  `json:"bytes"`
}

// NewDeviceJSON makes the JSON form of an explanation.
func NewDeviceJSON(x *analyze.Explanation) DeviceJSON {
	rec, dev := x.TL.Rec, x.TL.Dev
	d := DeviceJSON{
		File: rec.Source.Name, Form: rec.Source.Form, Device: dev.Index, Kind: "gpu", Events: dev.Events.Len(), Truncated: rec.Truncated != nil,
		Verdict:  VerdictJSON{string(x.Verdict.Kind), x.Verdict.Text},
		Coverage: coverageJSON(x),
		Steps:    StepsJSON{x.Steps.Len(), string(x.Steps.Source), x.Steps.Name, x.Steps.Confidence.String(), append([]int{}, x.Steps.Bounds...)},
		Replay:   ReplayJSON{Allocs: x.TL.Replay.Allocs, Equal: x.TL.Replay.Equal, FirstDifference: ordinal(x.TL.Replay.First)},
		Peak:     peakJSON(x.Peak), Accounting: accountingJSON(x), Holders: *x.Holders, Leaks: leaksJSON(x),
		Fragmentation: FragmentationJSON{x.Fragmented.Event, x.Fragmented.FreeBytes, x.Fragmented.LargestBytes, x.Fragmented.WholeBytes, x.Fragmented.PinnedBytes},
		OOM:           oomJSON(x.OOMs.Fatal), FailedAllocs: FailedJSON{x.OOMs.Count, x.OOMs.Survived},
		KeptBy: x.Kept, Findings: FindingsJSON(x.Findings), Warnings: append([]string{}, rec.Warnings...),
	}
	if dev.Kind == snapshot.Host {
		d.Kind = "host"
	}
	if r := rec.Source.Rank; r >= 0 {
		d.Rank = &r
	}
	if w := x.Window; w != nil {
		d.Window = &WindowJSON{w.FromEvent, w.ToEvent}
	}
	if s := rec.Settings; s != nil {
		d.Settings = &SettingsJSON{s.Conf, s.MaxSplitBytes, s.GCThreshold, s.ExpandableSegments}
	}
	return d
}

// ordinal makes null of an event that is none.
func ordinal(event int) *int {
	if event < 0 {
		return nil
	}
	return &event
}

func peakJSON(p timeline.Peak) PeakJSON {
	return PeakJSON{p.Requested.Bytes, p.Requested.Event, p.Allocated.Bytes, p.Allocated.Event, p.Reserved.Bytes, p.Reserved.Event}
}

func coverageJSON(x *analyze.Explanation) CoverageJSON {
	c := &x.Coverage
	j := CoverageJSON{
		Begins: string(c.Begins), Allocs: c.Allocs, AllocsWithStack: c.WithStack, CppStacks: c.Cpp, StartBytes: c.StartBytes,
		Inconsistent: append([]string{}, analyze.OddTexts(c.Odd)...), NotShown: analyze.NotShown(),
	}
	if c.FirstTimeUS > 0 {
		j.From = time.UnixMicro(c.FirstTimeUS).UTC().Format(time.RFC3339Nano)
		j.To = time.UnixMicro(c.LastTimeUS).UTC().Format(time.RFC3339Nano)
	}
	return j
}

func accountingJSON(x *analyze.Explanation) AccountingJSON {
	a := &x.Accounting
	j := AccountingJSON{a.Event, a.RequestedBytes, a.RoundingBytes, a.PendingFreeBytes, a.CachedBytes, a.ReservedBytes, []FreeJSON{}}
	for _, g := range a.Free {
		class := "large"
		if g.Small {
			class = "small"
		}
		var raw uint64
		if int(g.Stream) < len(x.TL.Rec.Streams) {
			raw = x.TL.Rec.Streams[g.Stream]
		}
		j.Free = append(j.Free, FreeJSON{fmt.Sprintf("%#x", raw), g.Pool.String(), class, g.FreeBytes, g.LargestBytes, g.WholeBytes, g.PendingBytes, g.Segments})
	}
	return j
}

func leaksJSON(x *analyze.Explanation) []LeakJSON {
	list := []LeakJSON{}
	for _, g := range x.Leaks.Growing {
		list = append(list, LeakJSON{
			g.BytesPerStep, g.BlocksPerStep, g.EverySteps, g.SinceStep, g.LiveBytes, g.Blocks, ordinal(g.FillsAtStep),
			g.Severity.String(), g.Confidence.String(), len(g.Stacks), framesJSON(x.Sites.Frames(g.Stack)),
		})
	}
	return list
}

func oomJSON(o *analyze.OOM) *OOMJSON {
	if o == nil {
		return nil
	}
	return &OOMJSON{
		o.Event, string(o.Cause), o.Certain, o.RequestBytes, o.SegmentBytes, o.DeviceFreeBytes, o.Now.Allocated, o.Now.Reserved,
		o.SameFreeBytes, o.SameLargestBytes, o.OtherStreamBytes, o.OtherPoolBytes, o.PendingBytes, o.MarginBytes,
		CapJSON{string(o.Cap.Kind), o.Cap.LowBytes, o.Cap.HighBytes, o.Cap.LimitBytes, o.Cap.LeaseBytes},
	}
}

// FindingsJSON makes the JSON form of findings.
func FindingsJSON(findings []rules.Finding) []FindingJSON {
	list := []FindingJSON{}
	for _, f := range findings {
		j := FindingJSON{
			Rule: f.Rule, Severity: f.Severity.String(), Confidence: f.Confidence.String(), Title: f.Title, Bytes: f.Bytes, Event: ordinal(f.Event),
			Evidence: append([]string{}, f.Evidence...), Frames: framesJSON(f.Stack), Causes: append([]string{}, f.Causes...), Remedies: []RemedyJSON{},
			Unnamed: f.Unnamed, Doc: "docs/rules/" + f.Rule + ".md",
		}
		for _, r := range f.Remedies {
			j.Remedies = append(j.Remedies, RemedyJSON(r))
		}
		for _, n := range f.Named {
			j.Named = append(j.Named, NamedJSON{n.Rule, n.Confidence.String(), n.File, n.Line, n.Code, n.Message, n.Remedy, n.Tie, n.Doubt})
		}
		list = append(list, j)
	}
	return list
}

func framesJSON(frames []snapshot.Frame) []FrameJSON {
	list := make([]FrameJSON, 0, len(frames))
	for _, f := range frames {
		list = append(list, FrameJSON{f.Filename, f.Line, f.Name})
	}
	return list
}
