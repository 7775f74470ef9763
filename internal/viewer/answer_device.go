package viewer

import (
	"cmp"
	"fmt"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// deviceJSON is the answer to rec/{id}/{dev}: what a device is made of.
type deviceJSON struct {
	File          string              `json:"file"`
	Rank          *int                `json:"rank"`
	Device        int                 `json:"device"`
	Kind          string              `json:"kind"`
	Events        int                 `json:"events"`
	From          *string             `json:"from"`
	To            *string             `json:"to"`
	Times         *timesJSON          `json:"times"`
	CapacityBytes *int64              `json:"capacity_bytes"`
	Limit         *limitJSON          `json:"limit"`
	Peak          report.PeakJSON     `json:"peak"`
	Start         totalsJSON          `json:"start"`
	End           totalsJSON          `json:"end"`
	Steps         report.StepsJSON    `json:"steps"`
	Marks         []markJSON          `json:"marks"`
	MarksLeftOut  int                 `json:"marks_left_out"`
	Groupings     []groupingJSON      `json:"groupings"`
	Lanes         []laneJSON          `json:"lanes"`
	HeightBytes   int64               `json:"height_bytes"`
	Tiles         tilesJSON           `json:"tiles"`
	Coverage      report.CoverageJSON `json:"coverage"`
	Warnings      []string            `json:"warnings"`
}

// totalsJSON is the counters at one moment.
type totalsJSON struct {
	RequestedBytes int64 `json:"requested_bytes"`
	AllocatedBytes int64 `json:"allocated_bytes"`
	ActiveBytes    int64 `json:"active_bytes"`
	ReservedBytes  int64 `json:"reserved_bytes"`
}

func newTotalsJSON(t timeline.Totals) totalsJSON {
	return totalsJSON{t.Requested, t.Allocated, t.Active, t.Reserved}
}

// limitJSON is what the allocator was allowed to reserve, as far as a failure tells.
type limitJSON struct {
	Kind      string `json:"kind"`
	LowBytes  int64  `json:"low_bytes"`
	HighBytes int64  `json:"high_bytes"` // 0 where nothing bounds it
}

func answerDevice(d *Device, _ *query) (any, error) {
	x := report.NewDeviceJSON(d.X)
	j := deviceJSON{
		File: x.File, Rank: x.Rank, Device: x.Device, Kind: x.Kind, Events: x.Events,
		From: optional(x.Coverage.From), To: optional(x.Coverage.To), Times: d.times(),
		CapacityBytes: optional(d.CapacityBytes), Peak: x.Peak, Start: newTotalsJSON(d.TL.Start), End: newTotalsJSON(d.TL.End),
		Steps: x.Steps, Groupings: d.named(), Coverage: x.Coverage, Warnings: x.Warnings, Tiles: d.tiles(), Limit: d.limit(),
	}
	j.Marks, j.MarksLeftOut = d.marks()
	j.Lanes = d.lanes()
	j.HeightBytes = int64(d.LOD.Lanes.Size) * d.LOD.Lanes.UnitBytes
	return j, nil
}

// limit is the limit that a failure met, or else the one that was told of.
func (d *Device) limit() *limitJSON {
	if o := d.X.OOMs.Fatal; o != nil {
		c := o.Cap
		return &limitJSON{string(c.Kind), cmp.Or(c.LimitBytes, c.LowBytes), cmp.Or(c.LimitBytes, c.HighBytes)}
	}
	if d.LimitBytes > 0 {
		return &limitJSON{string(analyze.FractionCap), d.LimitBytes, d.LimitBytes}
	}
	return nil
}

// optional makes null of what is not known.
func optional[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// streamText is a stream's raw handle, as every JSON of the program has it.
func streamText(rec *snapshot.Recording, id snapshot.StreamID) string {
	var raw uint64
	if int(id) < len(rec.Streams) {
		raw = rec.Streams[id]
	}
	return fmt.Sprintf("%#x", raw)
}

// timesJSON is the map from events to microseconds since the first.
type timesJSON struct {
	Events []int   `json:"events"`
	US     []int64 `json:"us"`
}

// maxTimes is how many points the map has.
const maxTimes = 512

// times samples the clock of the events.
func (d *Device) times() *timesJSON {
	n := d.Events()
	if !d.LOD.Times.Known {
		return nil
	}
	points := min(n, maxTimes)
	t := &timesJSON{make([]int, points), make([]int64, points)}
	for k := range points {
		i := int(int64(k) * int64(n-1) / int64(max(points-1, 1)))
		t.Events[k], t.US[k] = i, d.LOD.Times.At(i)
	}
	return t
}
