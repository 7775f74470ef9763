//go:build unix

package child

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signals are those that a program may be sent through ullage: what terminals, shells, batch
// systems and container runtimes send to ask for an end or a checkpoint.
func Signals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
}

// Quiet are signals that would end ullage before it has done what a program's end asks for: a
// write to standard error whose reader is gone.
func Quiet() []os.Signal { return []os.Signal{syscall.SIGPIPE} }

// deliver hands a signal on. What a key sends goes to every process of the terminal's
// foreground group, the program among them, which must not get it twice: a second interrupt
// ends the cleaning up after the first.
func deliver(p *os.Process, s os.Signal) {
	if (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
		return
	}
	_ = p.Signal(s) // it may have ended by now
}

// inForeground tells whether this process is of the group that its terminal's keys go to.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// statusOf is the exit code of a program as shells have it: 128 and the signal's number
// where a signal ended it.
func statusOf(state *os.ProcessState) int {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}

// Alive tells whether there is a process of this number.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// ownedPrivately tells whether only this user can write to a folder.
func ownedPrivately(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

func sameName(a, b string) bool { return a == b }
