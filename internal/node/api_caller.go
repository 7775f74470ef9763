package node

import (
	"context"
	"errors"
	"slices"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// caller is who asks, as the socket shows it.
type caller struct {
	uid    int
	user   string
	group  string   // the one that the user's processes have
	groups []string // all of them
	admin  bool
	id     holder.ID // of the process that connected; zero where it has ended, or cannot be seen from here
}

// owns tells whether a lease is the caller's to see and to release.
func (c *caller) owns(l *lease.Lease) bool { return c.admin || l.User == c.user }

// callerOf finds the names of a peer. They are looked up for every question, because the
// settings may have changed since the connection was made.
func (a *Agent) callerOf(p *Peer) (*caller, error) {
	c := &caller{uid: p.UID, id: p.ID}
	var err, groupErr error
	c.user, err = a.Names.User(p.UID)
	c.group, groupErr = a.Names.Group(p.GID)
	if err = errors.Join(err, groupErr); err != nil {
		return nil, unready(err, "the name of user %d or of group %d could not be looked up", p.UID, p.GID)
	}
	c.groups = []string{c.group}
	for _, gid := range p.Groups {
		name, err := a.Names.Group(gid)
		if err != nil {
			return nil, unready(err, "the name of group %d could not be looked up", gid)
		}
		c.groups = append(c.groups, name)
	}
	adminGroup := a.settings.Load().AdminGroup
	c.admin = c.uid == 0 || c.uid == a.UID || adminGroup != "" && slices.Contains(c.groups, adminGroup)
	return c, nil
}

// mayUse refuses a project that the configuration does not give to the caller.
func (a *Agent) mayUse(who *caller, project string) error {
	s := a.settings.Load()
	switch {
	case project == "", s.Member(project, who.user, who.groups):
		return nil
	case who.admin && slices.ContainsFunc(s.Projects, func(p settings.Project) bool { return p.Name == project }):
		return nil
	}
	return forbiddenf("%s is no member of a project %.80q", who.user, project).
		hint("the projects, and who may ask in their name, are in the agent's configuration")
}

// about tells the caller who it is taken for.
func (c *caller) about() client.You { return client.You{UID: c.uid, User: c.user, Admin: c.admin} }

// shown is a reading as the caller may see it: whose the memory is, which is what everybody
// who shares a GPU has to know, but not what other users run, which /proc may hide from them.
func (c *caller) shown(r gpu.Reading) gpu.Reading {
	if c.admin {
		return r
	}
	r.Processes = slices.Clone(r.Processes)
	for i := range r.Processes {
		if p := &r.Processes[i]; p.UID == nil || *p.UID != c.uid {
			p.Name, p.Command, p.Place, p.NamespacePID = "", "", gpu.Place{}, 0
		}
	}
	return r
}

// callerKey is where a question's context has the caller's connection.
type connKey struct{}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// holderOf finds the process that a lease is to be bound to: the one that asks, or one that it
// names and that is of the same user.
func (a *Agent) holderOf(who *caller, pid int) (holder.ID, error) {
	if pid == 0 {
		if who.id == (holder.ID{}) {
			return who.id, invalidf("the process that asks cannot be seen from here, so it cannot hold a lease").
				hint("where it is in a container, the agent needs the PID namespace of the machine; a detached lease needs no process")
		}
		return who.id, nil
	}
	p, err := a.Processes.Find(pid)
	switch {
	case err != nil:
		return holder.ID{}, invalidf("holder_pid %d: there is no such process", pid)
	case p.UID != who.uid && !who.admin:
		return holder.ID{}, forbiddenf("process %d belongs to another user", pid)
	}
	return p.ID, nil
}
