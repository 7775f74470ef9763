package lease

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEndedBy: who and what ended a lease stays with it, through a snapshot too.
func TestEndedBy(t *testing.T) {
	over := Over{"A", 9 * gib}
	end := func(b *Book, id ID) { must(b.Freed(3, id)) }
	for _, tt := range []struct {
		name string
		do   func(b *Book, id, waits ID)
		id   ID
		want Lease
	}{
		{"stopped", func(b *Book, id, _ ID) { must(b.Stop(2, id, over)); end(b, id) }, 1, Lease{Cause: Stopped, EndedBy: Agent, Over: &over}},
		{"stopped when it drained already", func(b *Book, id, _ ID) {
			must(b.Release(2, id, "ann", Released))
			must(b.Stop(2, id, over))
			end(b, id)
		}, 1, Lease{Cause: Released, EndedBy: "ann"}},
		{"released by root", func(b *Book, id, _ ID) { must(b.Release(2, id, "root", Released)); end(b, id) }, 1, Lease{Cause: Released, EndedBy: "root"}},
		{"expired", func(b *Book, _, _ ID) { must(b.Tick(1000)) }, 1, Lease{Cause: Expired, EndedBy: Agent}},
		{"drained", func(b *Book, _, _ ID) {
			must(b.Drain(2, "root", "A", 100))
			must(b.Start(90, "boot", 60)) // a restart gives it time, and no other reason
			must(b.SetForeign(90, "A", 0))
			must(b.Tick(1000))
		}, 1, Lease{Cause: Drained, EndedBy: Agent}},
		{"extended after a drain", func(b *Book, id, _ ID) {
			must(b.Drain(2, "root", "A", 100))
			must(b.Cordon(3, "root", "A", false))
			must(b.Extend(4, id, 200, "ann"))
			must(b.Tick(1000))
		}, 1, Lease{Cause: Expired, EndedBy: Agent}},
		{"withdrawn", func(b *Book, _, waits ID) { must(b.Release(2, waits, "root", Released)) }, 2, Lease{Cause: Released, EndedBy: "root"}},
		{"lives", func(*Book, ID, ID) {}, 1, Lease{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := small(t, Policy{})
			id := ask(t, b, 1, Request{MemoryBytes: 60 * gib, TTLMS: 500}).ID
			tt.do(b, id, ask(t, b, 1, Request{MemoryBytes: 60 * gib}).ID)
			again, err := Restore(b.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []*Book{b, again} {
				l, _ := b.Lease(tt.id)
				if diff := cmp.Diff(tt.want, Lease{Cause: l.Cause, EndedBy: l.EndedBy, Over: l.Over}); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
	if _, err := small(t, Policy{}).Stop(1, 7, over); codeOf(err) != CodeUnknown {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestDrainSplit: what is done to a GPU that is split is done to its MIG instances.
func TestDrainSplit(t *testing.T) {
	b := small(t, Policy{})
	must(b.SetDevices(1, "root", []Device{{UUID: "A", CapacityBytes: 80 * gib}, {UUID: "M", Parent: "A", CapacityBytes: 10 * gib}, {UUID: "B", CapacityBytes: 40 * gib}}, nil))
	must(b.SetForeign(1, "M", 0))
	id := ask(t, b, 1, Request{MemoryBytes: gib, Device: "A"}).ID
	cordoned := func() (uuids string) {
		for _, d := range b.Devices() {
			if d.Cordoned {
				uuids += d.UUID
			}
		}
		return uuids
	}
	must(b.Drain(2, "root", "A", 100))
	if l, _ := b.Lease(id); l.ExpiresMS != 100 || cordoned() != "AM" {
		t.Errorf("drained: the lease ends at %d, and cordoned are %s", l.ExpiresMS, cordoned())
	}
	if must(b.Cordon(3, "root", "A", false)); cordoned() != "" {
		t.Errorf("uncordoned: %s", cordoned())
	}
	if must(b.Cordon(4, "root", "M", true)); cordoned() != "M" {
		t.Errorf("an instance: %s", cordoned())
	}
}

// TestTimeTexts: two times that are almost the same are told apart.
func TestTimeTexts(t *testing.T) {
	policy := Policy{Limits: []Limit{{Scope: User, Name: Each, TTLMS: 4 * hourMS}}}
	b := small(t, policy)
	const want = "4 h 00 min is 1.00 ms above the limit of 4 h 00 min of user ann"
	if _, _, err := b.Submit(1, Request{User: "ann", MemoryBytes: gib, TTLMS: 4*hourMS + 1}); err == nil || err.Error() != want {
		t.Errorf("asked for: %v", err)
	}
	id := ask(t, b, 1, Request{MemoryBytes: gib}).ID
	if _, err := b.Extend(1, id, 4*hourMS+1, "ann"); err == nil || err.Error() != want {
		t.Errorf("extended: %v", err)
	}
}
