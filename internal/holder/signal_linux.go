package holder

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// open returns a pidfd of a process and of no other: the PID is held first, and then must
// still belong to the process that began when id's did.
func open(id ID) (pidfd int, err error) {
	if id.PID <= 0 || id.Start == 0 {
		return -1, ErrGone
	}
	pidfd, err = unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return -1, goneOr(err)
	}
	start, err := startOf(pidfd, id.PID)
	if err == nil && start != id.Start {
		err = ErrGone
	}
	if err != nil {
		unix.Close(pidfd)
		return -1, err
	}
	return pidfd, nil
}

// Signal sends a process a signal. ErrGone, and unix.EPERM, are among its errors.
func Signal(id ID, sig syscall.Signal) error {
	if id.PID == 1 {
		return fmt.Errorf("process 1 is not ended from here: %w", unix.EPERM)
	}
	pidfd, err := open(id)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	return goneOr(unix.PidfdSendSignal(pidfd, sig, nil, 0))
}

// Terminate asks a process that a reading showed to end, with SIGTERM.
func Terminate(p gpu.Process) error {
	if p.PID <= 1 || p.StartTicks == 0 {
		return fmt.Errorf("process %d cannot be seen from here, so it cannot be ended from here", p.PID)
	}
	err := Signal(ID{p.PID, p.StartTicks}, syscall.SIGTERM)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrGone):
		return fmt.Errorf("process %d has ended already", p.PID)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("process %d belongs to %s: only they and root may end it", p.PID, p.User)
	}
	return fmt.Errorf("process %d: %w", p.PID, err)
}
