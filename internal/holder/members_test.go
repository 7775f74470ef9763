package holder_test

import (
	"slices"
	"testing"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
)

func names(uid int) string { return map[int]string{1: "ann", 2: "bob"}[uid] }

// scene is a machine with the members that follow from it.
type scene struct {
	*holdertest.Machine
	*holder.Members
	t *testing.T
}

func newScene(t *testing.T) *scene {
	return &scene{holdertest.NewMachine(), holder.NewMembers(names), t}
}

func (s *scene) scan() {
	s.t.Helper()
	ch, err := s.Scan()
	if err != nil {
		s.t.Fatal(err)
	}
	s.Apply(ch)
}

func (s *scene) want(lease int64, ids ...holder.ID) {
	s.t.Helper()
	s.scan()
	if got := s.Of(lease); !slices.Equal(got, ids) {
		s.t.Errorf("lease %d has %v, want %v", lease, got, ids)
	}
}

// TestMembersDescend: descendants belong to the lease, and go on doing so when the processes
// between them and the holder have ended, and the holder too.
func TestMembersDescend(t *testing.T) {
	s := newScene(t)
	top := s.Begin(holder.ID{}, 1, holder.Mark{})
	child := s.Begin(top, 1, holder.Mark{})
	grand := s.Begin(child, 1, holder.Mark{})
	s.Begin(holder.ID{}, 1, holder.Mark{})
	s.scan()
	s.SetClaims([]holder.Claim{{Lease: 3, Epoch: 1, User: "ann", Holder: top}})
	s.want(3, top, child, grand)
	s.Kill(child)
	s.want(3, top, grand)
	s.Kill(top)
	s.want(3, grand)
	late := s.Begin(grand, 1, holder.Mark{})
	s.want(3, grand, late)
	s.Kill(grand, late)
	s.want(3)
}

// TestMembersMark: a mark counts for the lease's user, and with the lease's epoch.
func TestMembersMark(t *testing.T) {
	s := newScene(t)
	s.SetClaims([]holder.Claim{{Lease: 3, Epoch: 7, User: "ann"}})
	mine := s.Begin(holder.ID{}, 1, holder.Mark{Lease: 3, Epoch: 7})
	s.Begin(holder.ID{}, 2, holder.Mark{Lease: 3, Epoch: 7}) // bob's
	s.Begin(holder.ID{}, 1, holder.Mark{Lease: 3, Epoch: 6}) // of an earlier life of the ledger
	s.Begin(holder.ID{}, 1, holder.Mark{Lease: 4, Epoch: 7})
	s.want(3, mine)
	later := s.Begin(holder.ID{}, 1, holder.Mark{})
	s.want(3, mine)
	s.Exec(later, holder.Mark{Lease: 3, Epoch: 7})
	s.want(3, mine, later)
}

// TestMembersInner: a lease within a lease is the first that its processes belong to, and
// ends with its claim.
func TestMembersInner(t *testing.T) {
	s := newScene(t)
	outer := s.Begin(holder.ID{}, 1, holder.Mark{})
	inner := s.Begin(outer, 1, holder.Mark{Lease: 1, Epoch: 1})
	job := s.Begin(inner, 1, holder.Mark{Lease: 2, Epoch: 2})
	a := holder.Claim{Lease: 1, Epoch: 1, User: "ann", Holder: outer}
	b := holder.Claim{Lease: 2, Epoch: 2, User: "ann", Holder: inner}
	s.SetClaims([]holder.Claim{a})
	s.scan()
	s.SetClaims([]holder.Claim{a, b})
	s.want(1, outer, inner, job)
	s.want(2, inner, job)
	for id, want := range map[holder.ID][]int64{outer: {1}, inner: {2, 1}, job: {2, 1}} {
		if got := s.Leases(id); !slices.Equal(got, want) {
			t.Errorf("process %d: leases %v, want %v", id.PID, got, want)
		}
	}
	s.SetClaims([]holder.Claim{a})
	if got := s.Leases(job); !slices.Equal(got, []int64{1}) {
		t.Errorf("after the end of lease 2: %v", got)
	}
	if got := s.Of(2); got != nil {
		t.Errorf("lease 2 still has %v", got)
	}
}
