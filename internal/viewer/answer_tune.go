package viewer

import (
	"context"
	"runtime"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/tune"
)

// tuneJSON is what the recorded program reserves under other settings.
type tuneJSON struct {
	Rows      []tuneRow   `json:"rows"` // as `ullage tune` prints them, the best first
	Curves    []tuneCurve `json:"curves"`
	Events    []int       `json:"events"`     // a point of a curve is the most up to this event, from the one before on
	RoomBytes *int64      `json:"room_bytes"` // what may be reserved, as the recording shows it; null: no bound
	Cannot    *string     `json:"cannot"`     // why there is nothing to replay, or null
}

type tuneRow struct {
	Conf               string `json:"conf"`
	Label              string `json:"label"`
	Recorded           bool   `json:"recorded"` // the settings of the recording
	PeakReservedBytes  int64  `json:"peak_reserved_bytes"`
	SmallestLimitBytes *int64 `json:"smallest_limit_bytes"` // under which the run lives; null where it is not known
	RunsOut            *int   `json:"runs_out"`             // event at which memory runs out; null: it does not
	LowBytes           *int64 `json:"low_bytes"`            // of the peak, over orders of addresses; null: only one was tried
	HighBytes          *int64 `json:"high_bytes"`
	Exact              bool   `json:"exact"` // the same in all of them
}

type tuneCurve struct {
	Conf     string  `json:"conf"`
	Reserved []int64 `json:"reserved"` // 0 from where memory ran out on
}

// maxCurve is how many points a curve has.
const maxCurve = 1024

// answerTune answers with the settings that tune compares.
func answerTune(d *Device, q *query) (any, error) { return d.made.tuning.answer(q.ended) }

// tune searches as `ullage tune` does without flags, until ctx has ended.
func (d *Device) tune(ctx context.Context) (*tuneJSON, error) {
	out := &tuneJSON{Rows: []tuneRow{}, Curves: []tuneCurve{}, Events: []int{}}
	p, err := tune.Compile(d.TL, d.died())
	if err != nil {
		text := err.Error()
		out.Cannot = &text
		return out, nil
	}
	programs := []*tune.Program{p}
	torch := tune.AssumeTorch(d.Rec)
	opt := tune.Options{
		Workers: max(runtime.GOMAXPROCS(0)-1, 1), // one is for those who look at something else
		Stop:    func() bool { return ctx.Err() != nil },
	}
	v := report.Tuning{Torch: torch, Tuner: tune.New(torch.Version, programs, tune.RecordedRoom(programs), opt)}
	v.Results = v.Tuner.Search()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	advice := v.Tuner.Advise(v.Results)
	v.Advice = &advice
	out.RoomBytes = optional(v.Tuner.Room.Bytes())
	out.Events = append(out.Events, tune.CurveEdges(p, maxCurve)...)
	for _, i := range v.Shown() {
		r := &v.Results[i]
		out.Rows = append(out.Rows, newTuneRow(r))
		out.Curves = append(out.Curves, tuneCurve{r.Conf, v.Tuner.Curve(p, &r.Setting, out.Events).Reserved})
	}
	return out, nil
}

func newTuneRow(r *tune.Result) tuneRow {
	w := r.Worst()
	row := tuneRow{
		Conf: r.Conf, Label: report.ConfName(r.Conf), Recorded: r.Recorded,
		PeakReservedBytes: w.PeakReserved, SmallestLimitBytes: optional(r.SmallestLimit()),
	}
	if r.Recorded {
		row.Label += " (as recorded)"
	}
	if w.Failed != nil {
		event := w.Failed.Event
		row.RunsOut = &event
	}
	if s := w.Spread; s.Runs > 0 {
		row.LowBytes, row.HighBytes, row.Exact = &s.Low, &s.High, s.Low == s.High
	}
	return row
}
