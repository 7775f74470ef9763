package tune

import (
	"testing"

	"github.com/ullage-dev/ullage/allocator"
)

// measured is a real run without recording, as testdata/gpu/measure.py writes it.
type measured struct {
	Workload      string `json:"workload"`
	AllocConf     string `json:"alloc_conf"`
	LimitBytes    int64  `json:"limit_bytes"`
	OOM           bool   `json:"oom"`
	PeakRequested int64  `json:"peak_requested"`
	PeakAllocated int64  `json:"peak_allocated"`
	PeakReserved  int64  `json:"peak_reserved"`
	Retries       int    `json:"alloc_retries"`
	DeviceAllocs  int    `json:"device_allocs"`
	DeviceFrees   int    `json:"device_frees"`
	Recording     string `json:"recording"`
}

const h200Bytes = 150_109_880_320

// TestPredictsMeasuredRuns predicts real runs under other settings and limits from
// recordings made under the default ones. Whether a run ends out of memory must be right
// in every one. The peaks must be right to the byte where the prediction says that
// nothing is left open: else, where they depend on the order of addresses, or where
// convolutions did with smaller workspaces of which the recording knows nothing, within
// 1.5 %.
func TestPredictsMeasuredRuns(t *testing.T) {
	programs := map[string]*Program{}
	exact, all := 0, 0
	for _, m := range lines[measured](t, "gpu/measured.jsonl") {
		p := programs[m.Recording]
		if p == nil {
			p = compiled(t, recorded(t, "gpu/"+m.Recording), -1)
			programs[m.Recording] = p
		}
		s, err := ParseSetting(allocator.Version{Major: 2, Minor: 11}, m.AllocConf)
		if err != nil {
			t.Fatal(err)
		}
		tuner := New(allocator.Version{Major: 2, Minor: 11}, []*Program{p}, Room{LimitBytes: m.LimitBytes, DeviceBytes: h200Bytes}, Options{})
		got := tuner.try(p, &s)
		if got.Declined == 0 && !m.OOM && m.PeakRequested != got.PeakRequested {
			continue // the program asked for something else, as compilers do that found their cache
		}
		tuner.spread(&got, &s)
		all++
		if compareMeasured(t, &m, &got) {
			exact++
		}
	}
	if float64(exact) < 0.98*float64(all) {
		t.Errorf("%d of %d peaks are exact", exact, all)
	}
	t.Logf("%d of %d peaks are exact", exact, all)
}

// compareMeasured tells whether the peak of reserved memory is exact.
func compareMeasured(t *testing.T, m *measured, got *Run) bool {
	t.Helper()
	if got.Lives() == m.OOM {
		t.Errorf("%s %q limit %d: lives %v, measured %v", m.Workload, m.AllocConf, m.LimitBytes, got.Lives(), !m.OOM)
	}
	peaks, want := [2]int64{got.PeakReserved, got.PeakAllocated}, [2]int64{m.PeakReserved, m.PeakAllocated}
	open := got.Declined > 0 || !got.Spread.Same
	switch {
	case open && (!near(peaks[0], want[0], 0.015) || !near(peaks[1], want[1], 0.015)), !open && peaks != want:
		t.Errorf("%s %q limit %d: peaks of reserved and allocated %v (%v), measured %v", m.Workload, m.AllocConf, m.LimitBytes, peaks, got.Spread, want)
	}
	calls, counted := [3]int{got.Retries, got.DeviceAllocs, got.DeviceFrees}, [3]int{m.Retries, m.DeviceAllocs, m.DeviceFrees}
	if !open && calls != counted {
		t.Errorf("%s %q limit %d: retries and calls of the driver %v, measured %v", m.Workload, m.AllocConf, m.LimitBytes, calls, counted)
	}
	return peaks[0] == want[0]
}

func near(a, b int64, share float64) bool {
	d := float64(a)/float64(b) - 1
	return d < share && d > -share
}

// counted is what PyTorch counted in a recorded run itself.
type counted struct {
	Recording    string `json:"recording"`
	AllocConf    string `json:"alloc_conf"`
	LimitBytes   int64  `json:"limit_bytes"`
	OOM          bool   `json:"oom"`
	PeakReserved int64  `json:"peak_reserved"`
	Complete     bool   `json:"complete"`
	Torch        string `json:"torch"`
}

// TestReplaysItself replays every complete recording under its own settings and limit:
// the simulation must come to what PyTorch counted.
func TestReplaysItself(t *testing.T) {
	n := 0
	for _, c := range lines[counted](t, "gpu/recorded.jsonl") {
		if !c.Complete {
			continue
		}
		n++
		t.Run(c.Recording, func(t *testing.T) { replaysItself(t, &c) })
	}
	if n < 20 {
		t.Errorf("only %d recordings were replayed", n)
	}
}

func replaysItself(t *testing.T, c *counted) {
	tl := recorded(t, "gpu/"+c.Recording)
	p := compiled(t, tl, diedAt(tl, c.OOM))
	v, err := allocator.ParseVersion(c.Torch)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSetting(v, c.AllocConf)
	if err != nil {
		t.Fatal(err)
	}
	tuner := New(v, []*Program{p}, Room{LimitBytes: c.LimitBytes, DeviceBytes: h200Bytes}, Options{})
	got := tuner.try(p, &s)
	if got.Lives() == c.OOM || got.PeakReserved != c.PeakReserved {
		t.Errorf("lives %v, peak reserved %d; recorded %v, %d", got.Lives(), got.PeakReserved, !c.OOM, c.PeakReserved)
	}
}
