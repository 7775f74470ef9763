package node

import (
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"
	"sync"

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

// Peer is who is at the other end of a connection, as the kernel noted it when it was made.
type Peer struct {
	holder.Peer       // without an ID where the process has ended, or cannot be seen from here
	Groups      []int // supplementary
}

// PeerOf asks the kernel who connected a socket that was just accepted.
func PeerOf(c *net.UnixConn) (Peer, error) {
	who, err := holder.PeerOf(c)
	if err != nil && !errors.Is(err, holder.ErrGone) && !errors.Is(err, holder.ErrUnseen) {
		return Peer{}, err
	}
	if err != nil {
		who.ID = holder.ID{}
	}
	groups, err := holder.GroupsOf(c)
	return Peer{who, groups}, err
}

// Names tells what users and groups are called: the number as text where there is no name. An
// error is that nobody could tell.
type Names interface {
	User(uid int) (string, error)
	Group(gid int) (string, error)
}

// SystemNames asks the system, for each name once: where users come from a directory server,
// asking takes as long as its network, and a server that is away must not make a user another
// one.
func SystemNames() Names { return &systemNames{users: map[int]string{}, groups: map[int]string{}} }

type systemNames struct {
	mu            sync.Mutex
	users, groups map[int]string
}

func (n *systemNames) User(uid int) (string, error) {
	return n.name(n.users, uid, func(id string) (string, error) {
		u, err := user.LookupId(id)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

func (n *systemNames) Group(gid int) (string, error) {
	return n.name(n.groups, gid, func(id string) (string, error) {
		g, err := user.LookupGroupId(id)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

func (n *systemNames) name(known map[int]string, id int, ask func(string) (string, error)) (string, error) {
	n.mu.Lock()
	name, ok := known[id]
	n.mu.Unlock()
	if ok {
		return name, nil
	}
	number := strconv.Itoa(id)
	name, err := ask(number)
	var noUser user.UnknownUserIdError
	var noGroup user.UnknownGroupIdError
	switch {
	case errors.As(err, &noUser), errors.As(err, &noGroup):
		return number, nil // not kept: it may get a name
	case err != nil:
		return "", fmt.Errorf("the name of %s: %w", number, err)
	}
	n.mu.Lock()
	known[id] = name
	n.mu.Unlock()
	return name, nil
}
