package report

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

// FitRank is what fit found of one rank of a job.
type FitRank struct {
	Trace      *fit.Trace
	Prediction *fit.Prediction
}

// others are the devices that a rank uses beside its own.
func (r *FitRank) others() []fit.DeviceUse {
	if uses := r.Trace.DeviceUses(); len(uses) > 1 {
		return uses[1:]
	}
	return nil
}

// ofRanks says which rank of how many the prediction is of, as the beginning of a sentence;
// "" for a program without ranks.
func (v *Fitting) ofRanks() string {
	m := &v.Prediction.Job.Trace.Meta
	switch {
	case m.World < 2 || !v.Prediction.Job.Trace.Ranks.Joined:
		if n := len(v.Prediction.Job.Trace.DeviceUses()); n > 1 {
			return fmt.Sprintf("GPU %d needs most of the %d that the program uses. ", v.Prediction.Job.Device, n)
		}
		return ""
	case len(v.Ranks) < 2:
		return fmt.Sprintf("Rank %d of %d. ", m.Rank, m.World)
	}
	return fmt.Sprintf("Rank %d of %d needs most of the %d that were traced. ", m.Rank, m.World, len(v.Ranks))
}

// fitRanks prints a row for each rank.
func (p *page) fitRanks(v *Fitting) {
	if t := v.Prediction.Job.Trace; t.Meta.World < 2 || !t.Ranks.Joined {
		return
	}
	p.heading("Ranks")
	t := newGrid("rank", ">allocated", ">reserved", ">safe bound", ">process", "fits")
	for i := range v.Ranks {
		r := &v.Ranks[i]
		f := r.Prediction
		fits := "fits"
		if f.Fits.Failed != nil {
			fits = "does not fit"
		} else if f.SafeProcess > f.Job.Profile.TotalBytes {
			fits = "just fits"
		}
		t.row(fmt.Sprintf("rank %d on GPU %d", r.Trace.Meta.Rank, f.Job.Device), units.FormatBytes(f.Best.PeakAllocated)+" allocated", units.FormatBytes(f.Best.PeakReserved)+" reserved",
			units.FormatBytes(f.Safe)+" safe", units.FormatBytes(f.ProcessBytes)+" process", fits)
	}
	p.grid(t)
	p.fitRankNotes(v)
}

func (p *page) fitRankNotes(v *Fitting) {
	j := v.Prediction.Job
	if world := j.Trace.Meta.World; len(v.Ranks) < world {
		p.text(2, fmt.Sprintf("%d of %d ranks were traced; --rank all, or --rank with numbers, traces others.", len(v.Ranks), world))
	}
	if comms := j.Used.NCCL; len(comms) > 0 {
		p.text(2, fmt.Sprintf("The context holds %s for NCCL, with %s: measured between two H200s, and assumed for other cards, more ranks and several machines.",
			units.FormatBytes(j.Profile.Context.NCCL.Bytes(comms)), units.FormatPlural(len(comms), "communicator", "communicators")))
	}
	if held := j.Trace.Ranks.HeldBytes; held > 0 {
		p.text(2, fmt.Sprintf("NCCL mostly holds DDP's first buckets, %s, through the second step; they are in these figures.", units.FormatBytes(held)))
	}
	for i := range v.Ranks {
		for _, u := range v.Ranks[i].others() {
			p.text(2, fmt.Sprintf("Rank %d also takes %s on GPU %d, and a context there of some %s: set the device before anything touches CUDA, and give torch.load a map_location.",
				v.Ranks[i].Trace.Meta.Rank, units.FormatBytes(u.PeakBytes), u.Device, units.FormatBytes(j.Profile.Context.BaseBytes)))
		}
	}
}

// FitRankJSON is what fit prints of one rank under --json. Amounts are bytes.
type FitRankJSON struct {
	Rank               int                `json:"rank"`
	World              int                `json:"world"`
	Device             int                `json:"device"`
	Backend            string             `json:"backend"` // of the process group; "" where there is none
	Fits               bool               `json:"fits"`
	PeakRequestedBytes int64              `json:"peak_requested_bytes"`
	PeakAllocatedBytes int64              `json:"peak_allocated_bytes"`
	PeakReservedBytes  int64              `json:"peak_reserved_bytes"`
	SafeBytes          int64              `json:"safe_bytes"`
	ContextBytes       int64              `json:"context_bytes"`
	ProcessBytes       int64              `json:"process_bytes"`
	SafeProcessBytes   int64              `json:"safe_process_bytes"`
	Communicators      []CommunicatorJSON `json:"communicators"` // of NCCL
	NCCLBytes          int64              `json:"nccl_bytes"`    // that these take, within context_bytes
	HeldBytes          int64              `json:"held_bytes"`    // of DDP's first buckets, which NCCL holds through the second step, within the peaks
	OtherDevices       []DeviceUseJSON    `json:"other_devices"` // that the rank uses beside its own
}

// CommunicatorJSON is a group of ranks that talk by NCCL.
type CommunicatorJSON struct {
	Ranks   int    `json:"ranks"`
	Name    string `json:"name"`
	Rings   bool   `json:"rings"`
	Send    bool   `json:"send"`
	Receive bool   `json:"receive"`
}

// DeviceUseJSON is the most that lived on a device at once.
type DeviceUseJSON struct {
	Device             int   `json:"device"`
	PeakRequestedBytes int64 `json:"peak_requested_bytes"`
}

func newFitRanks(v *Fitting) []FitRankJSON {
	out := []FitRankJSON{}
	for i := range v.Ranks {
		r := &v.Ranks[i]
		p, t := r.Prediction, r.Trace
		row := FitRankJSON{
			Rank: t.Meta.Rank, World: max(t.Meta.World, 1), Device: p.Job.Device, Backend: t.Ranks.Backend, Fits: p.Fits.Failed == nil,
			PeakRequestedBytes: p.Best.PeakRequested, PeakAllocatedBytes: p.Best.PeakAllocated, PeakReservedBytes: p.Best.PeakReserved,
			SafeBytes: p.Safe, ContextBytes: p.ContextBytes, ProcessBytes: p.ProcessBytes, SafeProcessBytes: p.SafeProcess,
			Communicators: []CommunicatorJSON{}, NCCLBytes: p.Job.Profile.Context.NCCL.Bytes(p.Job.Used.NCCL), HeldBytes: t.Ranks.HeldBytes, OtherDevices: []DeviceUseJSON{},
		}
		for _, c := range t.Ranks.Comms {
			row.Communicators = append(row.Communicators, CommunicatorJSON{c.Ranks, c.Name, c.Rings, c.Send, c.Receive})
		}
		for _, u := range r.others() {
			row.OtherDevices = append(row.OtherDevices, DeviceUseJSON{u.Device, u.PeakBytes})
		}
		out = append(out, row)
	}
	return out
}
