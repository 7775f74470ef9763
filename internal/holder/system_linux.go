package holder

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is the processes of the machine that the program runs on. Scan is for one
// goroutine; all else may be called from several.
type Machine struct {
	*watcher
	table *table
}

// Open returns the processes of this machine.
func Open() (*Machine, error) {
	t, err := newTable()
	if err != nil {
		return nil, err
	}
	w, err := newWatcher()
	if err != nil {
		return nil, errors.Join(err, unix.Close(t.proc))
	}
	return &Machine{watcher: w, table: t}, nil
}

// Scan looks at all processes and tells what has changed since the last time; the first
// time, that all of them began.
func (m *Machine) Scan() (Changes, error) { return m.table.scan() }

// Signal is the function of that name.
func (m *Machine) Signal(id ID, sig syscall.Signal) error { return Signal(id, sig) }

// Find is the function of that name.
func (m *Machine) Find(pid int) (Process, error) { return Find(pid) }

// Close ends the watching.
func (m *Machine) Close() error {
	return errors.Join(m.watcher.Close(), unix.Close(m.table.proc))
}

// Find returns the process that has a PID now.
func Find(pid int) (Process, error) {
	t, err := newTable()
	if err != nil {
		return Process{}, err
	}
	defer unix.Close(t.proc)
	e, err := t.look(pid, 0)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if e == nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return e.Process, nil
}

// Boot names the time since the machine was last started.
func Boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// sinceBoot is the time since the boot, which goes on while the machine sleeps.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error()) // Linux has had it since 2.6.39, and ts is ours
	}
	return time.Duration(ts.Nano())
}
