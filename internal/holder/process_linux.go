package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// startOf reads the start of the process that a pidfd holds. What is read under a PID is
// of that process if it lives afterwards: until then nobody else has the PID.
func startOf(pidfd, pid int) (int64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case !alive(pidfd):
		return 0, ErrGone
	case errors.Is(err, fs.ErrNotExist): // a system that hides other users' processes
		return 0, ErrUnseen
	case err != nil:
		return 0, err
	}
	start := gpu.StartTicks(string(stat))
	if start == 0 {
		return 0, fmt.Errorf("process %d: /proc/%d/stat tells no start", pid, pid)
	}
	return start, nil
}

// alive tells whether the process of a pidfd runs: one that has ended, but was not waited
// for yet, does not.
func alive(pidfd int) bool {
	events, err := poll(pidfd, unix.POLLIN)
	return err != nil || events&unix.POLLIN == 0 // who cannot be asked about lives
}

// poll tells what of some events has happened at a file, without waiting. A signal that
// arrives meanwhile ends the call all the same, and Go's runtime sends itself many.
func poll(fd int, events int16) (int16, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		_, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return fds[0].Revents, err
		}
	}
}
