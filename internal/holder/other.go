//go:build !linux

package holder

import (
	"fmt"
	"net"
	"syscall"
	"time"

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

// Find says that it can't.
func Find(int) (Process, error) { return Process{}, ErrUnsupported }

// Machine is the processes of the machine that the program runs on.
type Machine struct{}

// Open says that it can't.
func Open() (*Machine, error) { return nil, ErrUnsupported }

// Scan says that it can't.
func (*Machine) Scan() (Changes, error) { return Changes{}, ErrUnsupported }

// Find says that it can't.
func (*Machine) Find(int) (Process, error) { return Process{}, ErrUnsupported }

// Watch says that it can't.
func (*Machine) Watch(ID) error { return ErrUnsupported }

// Unwatch does nothing.
func (*Machine) Unwatch(ID) {}

// Deaths never has a value.
func (*Machine) Deaths() <-chan struct{} { return nil }

// Dead returns none.
func (*Machine) Dead() []ID { return nil }

// Signal says that it can't.
func (*Machine) Signal(ID, syscall.Signal) error { return ErrUnsupported }

// Close does nothing.
func (*Machine) Close() error { return nil }

// Boot says that it can't.
func Boot() (string, error) { return "", ErrUnsupported }

// begun is when the program was started, in place of the machine.
var begun = time.Now()

func sinceBoot() time.Duration { return time.Since(begun) }
