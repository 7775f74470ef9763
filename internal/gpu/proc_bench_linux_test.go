package gpu

import (
	"os"
	"os/exec"
	"testing"
)

// BenchmarkDescribeReal looks 200 processes up again that really run. At a reading a second,
// 1 % of a core is 10 ms. Budget:
//
//	8 ms
func BenchmarkDescribeReal(b *testing.B) {
	var r Reading
	for range 200 {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		r.Processes = append(r.Processes, Process{PID: cmd.Process.Pid})
	}
	p := newProcs(Machine{Root: os.DirFS("/"), User: users})
	p.describe(&r)
	for b.Loop() {
		p.describe(&r)
	}
}
