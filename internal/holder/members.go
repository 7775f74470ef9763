package holder

import (
	"cmp"
	"maps"
	"slices"
)

// Claim is what makes a process a member of a lease: it is the holder, a descendant of it,
// or of the lease's user and marked with lease and epoch.
type Claim struct {
	Lease, Epoch int64
	User         string
	Holder       ID // zero: held by no process
}

// Members knows which processes belong to which leases. A process that was seen to belong
// to a lease does so until it ends, whatever becomes of its parents. It is the fold of what
// it is told, and not for use by several goroutines.
type Members struct {
	user   func(uid int) string
	procs  map[ID]*member
	claims map[int64]*claimed
}

type member struct {
	Process
	leases []int64 // innermost first
}

type claimed struct {
	Claim
	members map[ID]struct{}
}

// NewMembers returns the members of no leases. user names a process's user as claims do.
func NewMembers(user func(uid int) string) *Members {
	return &Members{user: user, procs: map[ID]*member{}, claims: map[int64]*claimed{}}
}

// Apply takes in what happened to the machine's processes.
func (m *Members) Apply(ch Changes) {
	for _, id := range ch.Ended {
		m.end(id)
	}
	for _, p := range ch.Began {
		n := &member{Process: p}
		m.procs[p.ID] = n
		m.refresh(n)
	}
	for _, p := range ch.Changed {
		if n := m.procs[p.ID]; n != nil {
			parent := n.Parent
			n.Process = p
			n.Parent = parent
			m.refresh(n)
		}
	}
}

func (m *Members) end(id ID) {
	n := m.procs[id]
	if n == nil {
		return
	}
	delete(m.procs, id)
	for _, lease := range n.leases {
		delete(m.claims[lease].members, id)
	}
}

// SetClaims replaces the leases that processes can be members of.
func (m *Members) SetClaims(claims []Claim) {
	wanted := make(map[int64]bool, len(claims))
	fresh := false
	for _, c := range claims {
		wanted[c.Lease] = true
		if old := m.claims[c.Lease]; old == nil {
			m.claims[c.Lease] = &claimed{Claim: c, members: map[ID]struct{}{}}
			fresh = true
		} else if old.Claim != c {
			old.Claim = c
			fresh = true
		}
	}
	for lease, c := range m.claims {
		if !wanted[lease] {
			m.drop(lease, c)
		}
	}
	if fresh {
		m.Refresh()
	}
}

func (m *Members) drop(lease int64, c *claimed) {
	for id := range c.members {
		n := m.procs[id]
		n.leases = slices.DeleteFunc(n.leases, func(l int64) bool { return l == lease })
	}
	delete(m.claims, lease)
}

// Refresh finds the leases of all processes anew, parents before their children. It is for
// when users have other names than they had.
func (m *Members) Refresh() {
	all := slices.SortedFunc(maps.Values(m.procs), func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	for _, n := range all {
		m.refresh(n)
	}
}

// refresh finds the leases of a process: those that it holds, the newest first, the one of
// its mark, those of its parent, and those that it had.
func (m *Members) refresh(n *member) {
	var all []int64
	for lease, c := range m.claims {
		if c.Holder == n.ID {
			all = append(all, lease)
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	if c := m.claims[n.Mark.Lease]; c != nil && c.Epoch == n.Mark.Epoch && c.User == m.user(n.UID) {
		all = append(all, n.Mark.Lease)
	}
	if parent := m.procs[n.Parent]; parent != nil {
		all = append(all, parent.leases...)
	}
	all = append(all, n.leases...)
	n.leases = n.leases[:0:0]
	for _, lease := range all {
		if !slices.Contains(n.leases, lease) {
			n.leases = append(n.leases, lease)
			m.claims[lease].members[n.ID] = struct{}{}
		}
	}
}

// Of returns the members of a lease that live, by PID.
func (m *Members) Of(lease int64) []ID {
	c := m.claims[lease]
	if c == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(c.members), func(a, b ID) int { return cmp.Compare(a.PID, b.PID) })
}

// Leases returns the leases that a process is a member of, innermost first. The list is not
// to be changed.
func (m *Members) Leases(id ID) []int64 {
	if n := m.procs[id]; n != nil {
		return n.leases
	}
	return nil
}

// Process returns a process that lives.
func (m *Members) Process(id ID) (Process, bool) {
	if n := m.procs[id]; n != nil {
		return n.Process, true
	}
	return Process{}, false
}
