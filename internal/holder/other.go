//go:build !linux

package holder

import (
	"fmt"
	"net"
	"syscall"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// PeerOf says that it can't.
func PeerOf(*net.UnixConn) (Peer, error) { return Peer{}, ErrUnsupported }

// Signal says that it can't.
func Signal(ID, syscall.Signal) error { return ErrUnsupported }

// Terminate says that it can't: nothing tells that a PID is still the process that the
// reading showed.
func Terminate(p gpu.Process) error {
	return fmt.Errorf("process %d: %w", p.PID, ErrUnsupported)
}
