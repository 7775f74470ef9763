package node

import (
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"
	"sync"
	"time"

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

// SystemNames asks the system, for each name once in gpu.NamesAge: where users come from a directory
// server, asking takes as long as its network. One that is away, or knows a user no more, must not
// make that user another one: what it said last holds until it says another name.
func SystemNames(clock gpu.Clock) Names {
	return &systemNames{
		users:  names{clock: clock, ask: userName, known: map[int]known{}},
		groups: names{clock: clock, ask: groupName, known: map[int]known{}},
	}
}

type systemNames struct{ users, groups names }

func (n *systemNames) User(uid int) (string, error)  { return n.users.of(uid) }
func (n *systemNames) Group(gid int) (string, error) { return n.groups.of(gid) }

// userName asks for a user's name; errUnnamed is that there is none.
func userName(id string) (string, error) {
	u, err := user.LookupId(id)
	var none user.UnknownUserIdError
	switch {
	case errors.As(err, &none):
		return "", errUnnamed
	case err != nil:
		return "", err
	}
	return u.Username, nil
}

func groupName(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	var none user.UnknownGroupIdError
	switch {
	case errors.As(err, &none):
		return "", errUnnamed
	case err != nil:
		return "", err
	}
	return g.Name, nil
}

var errUnnamed = errors.New("there is no name")

// names are those of users, or of groups. Its methods may be called from several goroutines.
type names struct {
	clock gpu.Clock
	ask   func(id string) (string, error)

	mu    sync.Mutex
	known map[int]known
}

// known is a name, and when it was asked for last.
type known struct {
	name  string
	asked time.Time
}

// of returns a name, the number as text where there is none. Names that are too old are asked for
// again, by the first who wants one; the others go on with the old one meanwhile.
func (n *names) of(id int) (string, error) {
	now := n.clock.Now()
	n.mu.Lock()
	have, ok := n.known[id]
	if ok && now.Sub(have.asked) < gpu.NamesAge {
		n.mu.Unlock()
		return have.name, nil
	}
	if ok {
		n.known[id] = known{have.name, now}
	}
	n.mu.Unlock()

	number := strconv.Itoa(id)
	name, err := n.ask(number)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
		n.known[id] = known{name, now}
		return name, nil
	case ok:
		return have.name, nil
	case errors.Is(err, errUnnamed):
		return number, nil // not kept: it may get a name at any time
	}
	return "", fmt.Errorf("the name of %s: %w", number, err)
}
