//go:build !linux

package gpu

import (
	"fmt"
	"io/fs"
)

// Terminate asks a process to end. It does so on Linux only: elsewhere nothing tells that a
// PID is still the process that the reading showed.
func Terminate(_ fs.FS, p Process) error {
	return fmt.Errorf("process %d: processes can be ended from here on Linux only", p.PID)
}
