package child

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adoptOrphans has descendants whose parents end become children of this process, so that it
// can wait for them.
func adoptOrphans() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// reapOrphans waits for every child of this process but the program, which is waited for
// elsewhere, and closes gone when none is left. A job of days may lose thousands of orphans:
// each would else keep its PID until the program's end.
func reapOrphans(program int, programEnded <-chan struct{}) (gone <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			pid, err := endedChild(0)
			switch {
			case err == unix.EINTR:
			case err != nil: // ECHILD: none is left
				return
			case pid == program:
				<-programEnded
				program = 0 // an orphan may have the number next
			default:
				_, _ = unix.Wait4(pid, nil, 0, nil)
			}
		}
	}()
	return done
}

// haveChildren tells whether this process has any.
func haveChildren() bool {
	_, err := endedChild(unix.WNOHANG)
	return err == nil
}

// endedChild returns a child that has ended, and leaves it to be waited for; with WNOHANG it
// may be 0.
func endedChild(options int) (pid int, err error) {
	// The kernel fills in a siginfo_t of 128 bytes. The PID stands behind three numbers of four
	// bytes: at 12, on systems of 64 bits, where it is aligned to 8, at 16.
	var info [16]uint64
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), uintptr(options|unix.WEXITED|unix.WNOWAIT), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	const at = 8 + unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at))), nil
}

func asksForEnd(s os.Signal) bool {
	return s == unix.SIGINT || s == unix.SIGTERM || s == unix.SIGHUP || s == unix.SIGQUIT
}
