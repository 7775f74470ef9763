package lease

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/internal/units"
)

// Check returns what is wrong with the book, a sentence each; nothing is the good answer. It
// counts everything anew from the leases, so it finds what a fault of Apply would do: memory
// granted over capacity, a lease that is granted twice or has come back, or sums that are off.
func (b *Book) Check() []string {
	var wrong []string
	for _, check := range []func() []string{b.checkCapacity, b.checkLeases, b.checkHoldings, b.checkLoads} {
		wrong = append(wrong, check()...)
	}
	return wrong
}

// checkCapacity: on every device, what is granted and what is reserved fits. Where capacity
// shrank or a reserve grew, leases alone have to fit the capacity they were granted under, which
// is not known any more; such a device is marked, and takes nothing new.
func (b *Book) checkCapacity() (wrong []string) {
	for _, d := range b.devices {
		if over := d.spoken() - d.CapacityBytes; over > 0 && !d.overfull {
			wrong = append(wrong, fmt.Sprintf("device %s: %s are granted or reserved over its capacity of %s", d.UUID, units.FormatBytes(over), units.FormatBytes(d.CapacityBytes)))
		}
		if d.exclusive() && len(d.holdings) > 1 {
			wrong = append(wrong, fmt.Sprintf("device %s: leased exclusively, and to %d leases", d.UUID, len(d.holdings)))
		}
	}
	return wrong
}

// checkLeases: each lease is of one state and has what belongs to it.
func (b *Book) checkLeases() (wrong []string) {
	epochs, queued := map[int64]ID{}, map[*Lease]bool{}
	for _, l := range b.queue {
		queued[l] = true
	}
	for _, id := range slices.Sorted(maps.Keys(b.live)) {
		l := b.live[id]
		waits := queued[l]
		if l.ID != id || id >= b.nextID || l.State == Ended || waits != (l.State == Queued) || l.Holds() != (len(l.Shares) > 0) {
			wrong = append(wrong, fmt.Sprintf("lease %d is %s with %d shares, in the queue: %v", id, l.State, len(l.Shares), waits))
		}
		if other, ok := epochs[l.Epoch]; ok && l.Epoch > 0 || l.Epoch > b.epoch {
			wrong = append(wrong, fmt.Sprintf("lease %d has epoch %d of %d, as lease %d", id, l.Epoch, b.epoch, other))
		}
		epochs[l.Epoch] = id
	}
	for _, l := range b.past {
		if _, ok := b.live[l.ID]; ok || l.State != Ended {
			wrong = append(wrong, fmt.Sprintf("lease %d has ended, and lives", l.ID))
		}
	}
	if !slices.IsSortedFunc(b.queue, b.byRank) {
		wrong = append(wrong, "the queue is out of order")
	}
	return wrong
}

// checkHoldings: what lies on the devices is what the leases hold.
func (b *Book) checkHoldings() (wrong []string) {
	type place struct {
		device string
		lease  ID
	}
	want := map[place]int64{}
	for id, l := range b.live {
		for _, s := range l.Shares {
			want[place{s.Device, id}] += s.Bytes
		}
	}
	for _, d := range b.devices {
		for _, h := range d.holdings {
			at := place{d.UUID, h.Lease}
			if want[at] != h.Bytes {
				wrong = append(wrong, fmt.Sprintf("device %s has %d bytes of lease %d, whose share is %d bytes", d.UUID, h.Bytes, h.Lease, want[at]))
			}
			delete(want, at)
		}
	}
	for at, n := range want {
		wrong = append(wrong, fmt.Sprintf("lease %d has %d bytes of device %s, which does not know it", at.lease, n, at.device))
	}
	slices.Sort(wrong)
	return wrong
}

// checkLoads: what parties have is what their leases add up to.
func (b *Book) checkLoads() []string {
	want := map[party]load{}
	for _, l := range b.live {
		for _, who := range l.parties() {
			n := want[who]
			if l.Holds() {
				n.held, n.bytes = n.held+1, n.bytes+l.Bytes()
			} else {
				n.waiting++
			}
			want[who] = n
		}
	}
	if !maps.Equal(want, b.load) {
		return []string{fmt.Sprintf("what users have is counted as %v, and is %v", b.load, want)}
	}
	return nil
}
