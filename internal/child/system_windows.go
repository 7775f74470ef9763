package child

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Signals are those that must not end ullage before the program that it runs.
func Signals() []os.Signal { return []os.Signal{os.Interrupt} }

// Quiet are signals that would end ullage before its work is done: there are none.
func Quiet() []os.Signal { return nil }

// deliver does nothing: the console sends Ctrl-C to the program too, and there are no other
// signals.
func deliver(*os.Process, os.Signal) {}

func statusOf(state *os.ProcessState) int { return state.ExitCode() }

// stillActive is what the exit code of a process that runs is said to be.
const stillActive = 259

// Alive tells whether there is a process of this number.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	const queryLimitedInformation = 0x1000
	h, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid))
	if err != nil {
		return errors.Is(err, syscall.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = syscall.CloseHandle(h) }()
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// ownedPrivately has nothing to check: the folders for caches and temporary files are each
// user's own.
func ownedPrivately(fs.FileInfo) bool { return true }

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
