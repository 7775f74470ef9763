package lease

import (
	"encoding/json"
	"fmt"
)

// Event is one step of the book. Its number follows that of the event before.
type Event struct {
	Seq   int64
	AtMS  int64
	Actor string // who brought it about: a user's name, or "agent"
	Body  Body
}

// Body is what happened: one of the types of this file.
type Body interface{ kind() string }

// DevicesSet replaces the list of devices, as a probe and the configuration show them. Links
// says how close each pair is, by their places in the list: the more the closer.
type DevicesSet struct {
	Devices []Device `json:"devices"`
	Links   [][]int  `json:"links,omitempty"`
}

// PolicySet replaces the policy.
type PolicySet struct {
	Policy Policy `json:"policy"`
}

// Cordoned keeps new leases off a device, or lets them on it again.
type Cordoned struct {
	Device string `json:"device"`
	On     bool   `json:"on"`
}

// ForeignSeen tells what processes without a lease hold on a device.
type ForeignSeen struct {
	Device string `json:"device"`
	Bytes  int64  `json:"bytes"`
}

// Started tells that the agent began to work, in which boot of the machine.
type Started struct {
	Boot string `json:"boot"`
}

// Submitted puts a request into the queue.
type Submitted struct {
	ID      ID      `json:"id"`
	Request Request `json:"request"`
}

// Refused tells of a request, or of a wish about a lease, that was turned down. It changes nothing.
type Refused struct {
	ID      ID      `json:"id,omitempty"`
	Request Request `json:"request"`
	Code    Code    `json:"code"`
	Why     string  `json:"why"`
}

// RefusedMore counts what was turned down of a user beyond what has events of its own. It changes
// nothing.
type RefusedMore struct {
	SinceMS int64          `json:"since_ms"` // when the minute began in which they came
	Counts  map[Code]int64 `json:"counts"`
}

// SightLost tells that a device can no longer be looked at. Nothing is granted on it until
// ForeignSeen.
type SightLost struct {
	Device string `json:"device"`
}

// Placed grants a lease.
type Placed struct {
	ID        ID      `json:"id"`
	Epoch     int64   `json:"epoch"`
	Shares    []Share `json:"shares"`
	ExpiresMS int64   `json:"expires_ms,omitempty"`
}

// DeadlineSet moves the end of a lease.
type DeadlineSet struct {
	ID        ID    `json:"id"`
	ExpiresMS int64 `json:"expires_ms"`
	GraceMS   int64 `json:"grace_ms,omitempty"` // what of it restarts have added, in all
	Cause     Cause `json:"cause"`
}

// DrainBegun tells that a lease is over, and holds its memory until the driver shows it free.
type DrainBegun struct {
	ID    ID    `json:"id"`
	Cause Cause `json:"cause"`
	Over  *Over `json:"over,omitempty"` // with Stopped
}

// Closed ends a lease and gives back what it held.
type Closed struct {
	ID    ID    `json:"id"`
	Cause Cause `json:"cause"`
}

func (*DevicesSet) kind() string  { return "devices" }
func (*PolicySet) kind() string   { return "policy" }
func (*Cordoned) kind() string    { return "cordon" }
func (*ForeignSeen) kind() string { return "foreign" }
func (*SightLost) kind() string   { return "unseen" }
func (*Started) kind() string     { return "start" }
func (*Submitted) kind() string   { return "submit" }
func (*Refused) kind() string     { return "refuse" }
func (*RefusedMore) kind() string { return "refusals" }
func (*Placed) kind() string      { return "grant" }
func (*DeadlineSet) kind() string { return "deadline" }
func (*DrainBegun) kind() string  { return "drain" }
func (*Closed) kind() string      { return "end" }

// Kind is the word that an event is stored under.
func (e *Event) Kind() string { return e.Body.kind() }

// Lease is the lease that the event is about, or 0.
func (e *Event) Lease() ID {
	switch b := e.Body.(type) {
	case *Refused:
		return b.ID
	case *Submitted:
		return b.ID
	case *Placed:
		return b.ID
	case *DeadlineSet:
		return b.ID
	case *DrainBegun:
		return b.ID
	case *Closed:
		return b.ID
	}
	return 0
}

// DecodeBody reads what json.Marshal wrote of a body of that kind.
func DecodeBody(kind string, data []byte) (Body, error) {
	for _, b := range []Body{
		new(DevicesSet), new(PolicySet), new(Cordoned), new(ForeignSeen), new(SightLost), new(Started), new(Submitted),
		new(Refused), new(RefusedMore), new(Placed), new(DeadlineSet), new(DrainBegun), new(Closed),
	} {
		if b.kind() == kind {
			return b, json.Unmarshal(data, b)
		}
	}
	return nil, fmt.Errorf("an event of kind %q, which this release does not know", kind)
}

// ImpossibleError is an event that cannot follow the book's state.
type ImpossibleError struct {
	Seq  int64
	Kind string
	Why  string
}

func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("event %d (%s) cannot be: %s", e.Seq, e.Kind, e.Why)
}
