// Package holder knows the processes behind leases: who is at the other end of a socket,
// whether a process still lives, which processes belong to it, and how to end them and no
// others.
//
// A PID alone names nobody for long: it is given to the next process when its own has been
// waited for. So a process is named by an [ID], its PID with the tick of its start, and is
// held by a pidfd, a file descriptor of the kernel that stays with the process that it was
// opened for, before anything is done to it.
//
// Linux only. Elsewhere the package builds and says that it can't.
package holder

import "errors"

// ErrGone tells that a process has ended, or never was.
var ErrGone = errors.New("the process has ended")

// ErrUnseen tells that a process cannot be seen from here: it is in another PID namespace, or
// the system hides other users' processes.
var ErrUnseen = errors.New("the process cannot be seen from here")

// ErrMany tells that so many processes are watched that no more can be.
var ErrMany = errors.New("too many processes are watched")

// ErrUnsupported is the error of systems that tell too little of their processes.
var ErrUnsupported = errors.New("processes can be held on Linux only")

// ID names a process until the machine is started anew. The zero ID names nobody.
type ID struct {
	PID   int
	Start int64 // ticks since the boot, as in the 22nd field of /proc/PID/stat
}

// Peer is who connected a Unix socket, as the kernel noted it then. Someone else who was
// handed the socket later speaks for that process.
type Peer struct {
	ID
	UID, GID int // effective, at the moment of connecting
}
