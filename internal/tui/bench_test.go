package tui

import (
	"testing"
	"time"
)

// BenchmarkFrame takes in a state of 8 GPUs, 200 processes and 208 leases and draws a large
// window with both lists, which happens once a second. Budget, on one core of an AMD EPYC at
// about 3 GHz:
//
//	4 ms
func BenchmarkFrame(b *testing.B) {
	d := driveAgent(b, "h100x8", "h100x8", plainLook, 200, 60)
	for b.Loop() {
		d.m.Update(d.m.read())
		d.clock.now = d.clock.now.Add(time.Second)
		_ = d.m.frame()
	}
}
