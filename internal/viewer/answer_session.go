package viewer

import (
	"github.com/ullage-dev/ullage/internal/report"
)

// sessionJSON is the answer to `session`.
type sessionJSON struct {
	Version    string            `json:"version"`
	Build      string            `json:"build"`
	Recordings []recordingJSON   `json:"recordings"`
	Ranks      *report.RanksJSON `json:"ranks"`
}

type recordingJSON struct {
	ID       string        `json:"id"`
	Index    int           `json:"index"`
	File     string        `json:"file"`
	Rank     *int          `json:"rank"`
	State    Stage         `json:"state"`
	Progress float64       `json:"progress"`
	Error    *string       `json:"error"`
	Changed  bool          `json:"changed"`
	Devices  []summaryJSON `json:"devices"`
}

type summaryJSON struct {
	Dev                int                `json:"dev"`
	Device             int                `json:"device"`
	Kind               string             `json:"kind"`
	Events             int                `json:"events"`
	PeakAllocatedBytes int64              `json:"peak_allocated_bytes"`
	PeakReservedBytes  int64              `json:"peak_reserved_bytes"`
	Verdict            report.VerdictJSON `json:"verdict"`
}

func (s *Server) sessionJSON() sessionJSON {
	out := sessionJSON{Version: s.cfg.Version, Build: s.assets.build()}
	out.Recordings, out.Ranks = s.session.json()
	for i := range out.Recordings { // without the lock: a disk may be slow to answer
		r := &out.Recordings[i]
		if changed := s.cfg.Files[i].Changed; changed != nil && (r.State == Ready || r.State == Failed) {
			r.Changed = changed()
		}
	}
	return out
}

func (s *session) json() ([]recordingJSON, *report.RanksJSON) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []recordingJSON{}
	for _, r := range s.recordings {
		list = append(list, r.json())
	}
	return list, s.ranks
}

func (r *recording) json() recordingJSON {
	j := recordingJSON{ID: r.id, Index: r.index, File: r.file.Name, State: r.stage, Progress: r.progress, Devices: []summaryJSON{}}
	if r.rank >= 0 {
		rank := r.rank
		j.Rank = &rank
	}
	if r.err != nil {
		text := r.err.Error()
		j.Error = &text
	}
	for _, d := range r.devices {
		j.Devices = append(j.Devices, d.summary())
	}
	return j
}

func (d *Device) summary() summaryJSON {
	return summaryJSON{
		Dev: d.Dev, Device: d.TL.Dev.Index, Kind: d.kind(), Events: d.Events(),
		PeakAllocatedBytes: d.TL.Peak.Allocated.Bytes, PeakReservedBytes: d.TL.Peak.Reserved.Bytes,
		Verdict: report.VerdictJSON{Kind: string(d.X.Verdict.Kind), Text: d.X.Verdict.Text},
	}
}
