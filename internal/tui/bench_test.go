package tui

import (
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// BenchmarkFrame takes in a reading of 8 GPUs and 200 processes and draws a large window,
// which happens once a second. Budget, on one core of an AMD EPYC at about 3 GHz:
//
//	5 ms
func BenchmarkFrame(b *testing.B) {
	clock := &handClock{time.Unix(0, 0)}
	probe, err := gpu.Open(b.Context(), "fake:h100x8", gpu.Machine{Clock: clock})
	if err != nil {
		b.Fatal(err)
	}
	m := newModel(b.Context(), Options{Read: probe.Read, Interval: time.Second, Look: plainLook})
	m.width, m.height = 200, 50
	for b.Loop() {
		m.Update(m.read())
		clock.now = clock.now.Add(time.Second)
		_ = m.frame()
	}
}
