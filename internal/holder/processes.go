package holder

import "syscall"

// Process is a process as leases see it.
type Process struct {
	ID
	Parent ID  // when it was first seen; zero if that has ended
	UID    int // real
	Mark   Mark
}

// Mark names the lease that a process was started under: its environment has ULLAGE_LEASE
// and ULLAGE_LEASE_EPOCH. Anybody can set these, so a mark is worth no more than the user
// who made it.
type Mark struct{ Lease, Epoch int64 }

// The variables of a mark.
const (
	LeaseVariable = "ULLAGE_LEASE"
	EpochVariable = "ULLAGE_LEASE_EPOCH"
)

// Changes is what happened to the machine's processes between two looks.
type Changes struct {
	Began   []Process // parents before their children
	Changed []Process // run another program now, with another mark, or for another user
	Ended   []ID
}

// Processes is what is asked of a machine's processes: [Machine] answers for the real one.
// Scan is for one goroutine; all else may be called from several.
type Processes interface {
	// Scan looks at all processes and tells what has changed since the last time; the first
	// time, that all of them began.
	Scan() (Changes, error)
	// Find returns the process that has a PID now.
	Find(pid int) (Process, error)
	// Watch has Deaths and Dead tell of the end of a process. ErrGone is its error where it
	// has ended already, ErrMany where it lives and too many are watched.
	Watch(id ID) error
	// Unwatch undoes Watch.
	Unwatch(id ID)
	// Deaths has a value when Dead has news.
	Deaths() <-chan struct{}
	// Dead returns the watched processes that have ended since the last call. They are no
	// longer watched.
	Dead() []ID
	// Signal sends a process a signal, and no other process.
	Signal(id ID, sig syscall.Signal) error
	// Close ends the watching.
	Close() error
}

var _ Processes = (*Machine)(nil)
