package node

import (
	"context"
	"net"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
)

// Clock tells the agent's time. NowMS is the time of the ledger: milliseconds since the Unix
// epoch, set by the wall clock once, when the agent began, and advanced by a clock that
// counts sleep and is never set. So a wall clock that jumps ends no lease.
type Clock interface {
	gpu.Clock
	NowMS() int64
}

// Processes is the machine's processes, as package holder knows them.
type Processes interface {
	// Peer returns who connected a socket that was just accepted. holder.ErrGone and
	// holder.ErrUnseen are among its errors; what else is known of the peer comes with them.
	Peer(c *net.UnixConn) (Peer, error)
	// Find names the process that has a PID now, and its owner.
	Find(pid int) (id holder.ID, uid int, err error)
	// Wait returns nil when the process has ended or never was, else the context's error.
	Wait(ctx context.Context, id holder.ID) error
}

// Peer is who is at the other end of a connection, as the kernel noted it when it was made.
type Peer struct {
	holder.Peer
	Groups []int // supplementary
}

// Names tells what users and groups are called.
type Names interface {
	User(uid int) string  // the number as text where there is no name
	Group(gid int) string // likewise
}
