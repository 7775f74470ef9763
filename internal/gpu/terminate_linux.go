package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// Terminate asks a process of this machine to end, with SIGTERM. It ends the process that
// the reading showed and no other: the PID is held by a file descriptor first, and then must
// still belong to the process that began when that one did.
func Terminate(root fs.FS, p Process) error {
	if p.PID <= 1 || p.StartTicks == 0 {
		return fmt.Errorf("process %d cannot be seen from here, so it cannot be ended from here", p.PID)
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return endError(p, err)
	}
	defer unix.Close(fd)
	stat, err := readSome(root, "proc/"+strconv.Itoa(p.PID)+"/stat")
	if err != nil || startTicks(string(stat)) != p.StartTicks {
		return endError(p, unix.ESRCH)
	}
	return endError(p, unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0))
}

func endError(p Process, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d has ended already", p.PID)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("process %d belongs to %s: only they and root may end it", p.PID, p.User)
	}
	return fmt.Errorf("process %d: %w", p.PID, err)
}
