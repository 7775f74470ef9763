// Package enforce says how firmly a lease is kept to its share of a device.
//
// An Enforcer is one way to do that. Each has a grade: what it takes to get past it. The
// agent asks them at every look at the machine, firmest first, and shows with every lease the
// grade of what is in force, not of what was meant: a limit counts once whoever keeps it says
// that it does.
//
// There are three here: a lease of all of a device, which the hardware keeps; the memory
// fraction of PyTorch's allocator, which a process keeps itself; and watching, which stops
// nothing and sees everything.
package enforce

import (
	"cmp"
	"slices"
)

// Grade is how firmly a limit is kept.
type Grade string

// The grades, firmest first.
const (
	Hardware Grade = "hw"      // there is no more memory that it could get at
	Kernel   Grade = "kernel"  // the driver refuses more, whatever the program does
	Hook     Grade = "hook"    // a library between the program and the driver does: a program can get around it
	Server   Grade = "server"  // the driver's server for several programs does, for each process alone
	Self     Grade = "self"    // the program's own allocator does: what does not go through it is only watched
	Watched  Grade = "watched" // more is possible, and is seen
)

var firmest = []Grade{Hardware, Kernel, Hook, Server, Self, Watched}

// Compare orders grades, the firmest first. What is no grade comes last.
func (g Grade) Compare(h Grade) int { return cmp.Compare(g.rank(), h.rank()) }

func (g Grade) rank() int {
	if i := slices.Index(firmest, g); i >= 0 {
		return i
	}
	return len(firmest)
}

// Share is a lease's part of a device, and the processes that use it.
type Share struct {
	Device        string // UUID of a GPU, or of a MIG instance
	Bytes         int64  // of the lease
	CapacityBytes int64  // of the device: all that could be handed out
	Divided       bool   // other MIG devices draw on the same memory: compute instances of one GPU instance
	Members       []Member
}

// Member is a process of a lease that uses a device, as far as limits go.
type Member struct {
	PID          int
	LimitBytes   *int64 // that its allocator keeps, by its own word; nil: none, or it says nothing
	OutsideBytes int64  // that it uses besides
}

// Enforcer is one way to keep a lease to its share.
//
// InForce is asked at every look, so it is the place for one that acts from outside of the
// program, on a control group or through a server, to do again what somebody has undone.
type Enforcer interface {
	Name() string // in one word, for logs
	Grade() Grade
	// InForce tells whether the limit of the share holds as of now.
	InForce(Share) bool
}

// Set is the enforcers of a machine.
type Set []Enforcer

// Standard are those that need nothing but the driver and PyTorch.
func Standard() Set { return Set{Whole{}, Fraction{}, Watching{}} }

// Grade is how firmly a lease is kept to its shares: on each as the firmest that is in force
// there, in all as the least firm of the shares. Without shares nothing is kept.
func (s Set) Grade(shares []Share) Grade {
	if len(shares) == 0 {
		return Watched
	}
	worst := Hardware
	for _, share := range shares {
		if g := s.on(share); g.Compare(worst) > 0 {
			worst = g
		}
	}
	return worst
}

func (s Set) on(share Share) Grade {
	best := Watched
	for _, e := range s {
		if e.Grade().Compare(best) < 0 && e.InForce(share) {
			best = e.Grade()
		}
	}
	return best
}
