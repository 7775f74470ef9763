package lease

import (
	"cmp"
	"fmt"
	"time"
)

// ID names a lease: 1, 2, 3 and so on, never used twice.
type ID int64

// Request is what somebody asks for. User and Group come from the socket, never from what the
// client says.
type Request struct {
	User        string `json:"user"`
	Group       string `json:"group,omitempty"`
	Project     string `json:"project,omitempty"`
	Name        string `json:"name,omitempty"`   // for people: the command, mostly
	Key         string `json:"key,omitempty"`    // the same key of the same user is the same request
	MemoryBytes int64  `json:"memory_bytes"`     // on each device
	Devices     int    `json:"devices"`          // how many; 0 is 1
	Device      string `json:"device,omitempty"` // UUID of a device, or of the GPU that its MIG instances are of
	Model       string `json:"model,omitempty"`  // part of the model's name, in either case
	Exclusive   bool   `json:"exclusive,omitempty"`
	Priority    int    `json:"priority,omitempty"`
	Queue       string `json:"queue,omitempty"`
	TTLMS       int64  `json:"ttl_ms,omitempty"`       // 0: for as long as its holder lives
	Detached    bool   `json:"detached,omitempty"`     // not bound to a process of this machine, so that it outlives a reboot
	HolderPID   int    `json:"holder_pid,omitempty"`   // the process that it is bound to; 0: not told
	HolderStart int64  `json:"holder_start,omitempty"` // when that began, in ticks since boot: tells it from a later one of the same PID
	NoWait      bool   `json:"no_wait,omitempty"`
}

// State is where a lease is in its life.
type State string

const (
	Queued   State = "queued"
	Granted  State = "granted"
	Draining State = "draining"
	Ended    State = "ended"
)

// Cause is why a lease drains or has ended, or why its deadline moved.
type Cause string

const (
	Released  Cause = "released"  // its holder gave it back, or somebody who may did
	Exited    Cause = "exited"    // its holder is gone
	Expired   Cause = "expired"   // it ran out of time
	Stopped   Cause = "stopped"   // the agent ended it: used more than it had, by policy
	Rebooted  Cause = "rebooted"  // the machine started anew: its processes and their memory are gone
	NotNow    Cause = "not-now"   // there was no room, and it did not want to wait
	Extension Cause = "extension" // its holder asked for more time
	Grace     Cause = "grace"     // the agent was away, so nobody could ask for more time
	Drained   Cause = "drained"   // its device was to be empty by then
)

// Lease is a request and what became of it. Times are 0 until they come.
type Lease struct {
	ID ID `json:"id"`
	Request
	State      State   `json:"state"`
	Shares     []Share `json:"shares,omitempty"` // what it holds, kept when it has ended
	Epoch      int64   `json:"epoch,omitempty"`  // grows with every grant on the node, also in a book begun anew: a guard with an older one is out of date
	QueuedMS   int64   `json:"queued_ms"`
	GrantedMS  int64   `json:"granted_ms,omitempty"`
	ExpiresMS  int64   `json:"expires_ms,omitempty"` // 0: with its holder
	EndsFor    Cause   `json:"ends_for,omitempty"`   // why ExpiresMS was moved last, restarts of the agent apart: Extension or Drained
	GraceMS    int64   `json:"grace_ms,omitempty"`   // what restarts of the agent have added to the deadline
	DrainingMS int64   `json:"draining_ms,omitempty"`
	EndedMS    int64   `json:"ended_ms,omitempty"`
	Cause      Cause   `json:"cause,omitempty"`
	EndedBy    string  `json:"ended_by,omitempty"` // whose doing Cause was: a user's, or Agent's
	Over       *Over   `json:"over,omitempty"`     // with Stopped
}

// Over is the use above its share that a lease was stopped for.
type Over struct {
	Device    string `json:"device"`
	UsedBytes int64  `json:"used_bytes"` // of the device, by the lease's processes
}

// Share is a lease's part of one device.
type Share struct {
	Device string `json:"device"`
	Bytes  int64  `json:"bytes"`
}

// Holds tells whether the lease counts against capacity.
func (l *Lease) Holds() bool { return l.State == Granted || l.State == Draining }

// Bytes is what the lease holds, or held, on all its devices.
func (l *Lease) Bytes() int64 {
	var sum int64
	for _, s := range l.Shares {
		sum += s.Bytes
	}
	return sum
}

// LongestTTL is the longest time to live that a lease can have: ten years.
const LongestTTL = 3650 * 24 * time.Hour

// LeastBytes is the least memory that is given out on a device: less than any program takes of
// one. A CUDA context alone has hundreds of MiB, so whoever asks for less forgot the unit.
const LeastBytes = 64 * mib

// maxPriority bounds priorities on both sides, and maxDevices and maxText what a request may
// carry, so that no request makes arithmetic overflow or the ledger grow without end.
const (
	maxPriority = 1000
	maxDevices  = 1024
	maxText     = 1024
	maxBytes    = 1 << 44 // 16 TiB: of one device. guard has a bit for each MiB of it
	maxTTLMS    = int64(LongestTTL / time.Millisecond)
	maxTimeMS   = 253_402_300_799_999 // the end of the year 9999
)

// longerThanAny says that a time to live is too long whoever asks for it.
const longerThanAny = "the time to live is too long: a lease has at most 3650 days"

// normal returns the request with what is left open filled in.
func (r Request) normal() (Request, error) {
	r.MemoryBytes = min(r.MemoryBytes, maxBytes+1) // before rounding, which could overflow
	r.Devices = cmp.Or(r.Devices, 1)
	switch {
	case r.User == "":
		return r, refusal(CodeInvalid, "a request needs a user")
	case r.MemoryBytes > maxBytes:
		return r, refusal(CodeInvalid, "more memory than any device has")
	case r.MemoryBytes <= 0 && !r.Exclusive:
		return r, refusal(CodeInvalid, "a request that shares its device has to say how much memory it needs")
	case r.MemoryBytes < 0:
		return r, refusal(CodeInvalid, "memory is negative")
	case r.Devices < 1 || r.Devices > maxDevices:
		return r, refusal(CodeInvalid, fmt.Sprintf("%d devices: expected 1 to %d", r.Devices, maxDevices))
	case r.Devices > 1 && r.Device != "":
		return r, refusal(CodeInvalid, "one device is named, and several are asked for")
	case r.HolderPID < 0 || r.HolderStart < 0 || (r.HolderPID == 0) != (r.HolderStart == 0):
		return r, refusal(CodeInvalid, "a holder is a process and the time that it began at")
	case r.Detached && r.HolderPID != 0:
		return r, refusal(CodeInvalid, "a detached lease is bound to no process")
	case r.Priority < -maxPriority || r.Priority > maxPriority:
		return r, refusal(CodeInvalid, fmt.Sprintf("priority %d: expected %d to %d", r.Priority, -maxPriority, maxPriority))
	case r.TTLMS < 0:
		return r, refusal(CodeInvalid, "the time to live is negative")
	case r.TTLMS > maxTTLMS:
		return r, refusal(CodeInvalid, longerThanAny)
	}
	for _, s := range []string{r.User, r.Group, r.Project, r.Name, r.Key, r.Device, r.Model, r.Queue} {
		if len(s) > maxText {
			return r, refusal(CodeInvalid, fmt.Sprintf("a text of %d bytes: at most %d are kept", len(s), maxText))
		}
	}
	r.MemoryBytes = roundUp(r.MemoryBytes)
	return r, nil
}

// Code says in one word why something is refused or waits.
type Code string

const (
	CodeInvalid    Code = "invalid"     // the request contradicts itself
	CodeUnknown    Code = "unknown"     // no such lease, queue or device
	CodeState      Code = "state"       // the lease is past that
	CodeLimit      Code = "limit"       // more than one may ask for
	CodeNever      Code = "never"       // no device here could hold it
	CodeQuotaPeak  Code = "quota-peak"  // its user, group or project holds what it may
	CodeQuotaHours Code = "quota-hours" // its user, group or project has used what it may
	CodeAbsent     Code = "absent"      // devices that it needs are not there now
	CodeUnseen     Code = "unseen"      // the agent has not looked yet at devices that it needs, or cannot
	CodeCordon     Code = "cordon"      // devices that it needs take nothing new
	CodeForeign    Code = "foreign"     // processes without a lease hold what it needs
	CodeReserve    Code = "reserve"     // what it needs is kept for another queue
	CodeExclusive  Code = "exclusive"   // a lease has a device that it needs for itself
	CodeMemory     Code = "memory"      // other leases hold what it needs
	CodeOrder      Code = "order"       // it would fit, and could delay the head of the queue
)

// RefusedError says that a request, or another wish, was not granted.
type RefusedError struct {
	Code Code
	Why  string
}

func (e *RefusedError) Error() string { return e.Why }

func refusal(code Code, why string) error { return &RefusedError{code, why} }
