package lease

import (
	"cmp"
	"fmt"
	"slices"
)

// Snapshot is a book as a value: what a ledger keeps so that it need not replay everything.
// Equal books have equal snapshots.
type Snapshot struct {
	Seq     int64          `json:"seq"`
	NowMS   int64          `json:"now_ms"`
	Epoch   int64          `json:"epoch"`
	NextID  ID             `json:"next_id"`
	Boot    string         `json:"boot"`
	Policy  Policy         `json:"policy"`
	Devices []DeviceStatus `json:"devices"`
	Links   []Link         `json:"links,omitempty"`
	Live    []Lease        `json:"live"`
	Past    []Lease        `json:"past"`
	Spent   []Spent        `json:"spent,omitempty"`
}

// DeviceStatus is a device and what the book knows of it.
type DeviceStatus struct {
	Device
	Absent       bool  `json:"absent,omitempty"`
	Cordoned     bool  `json:"cordoned,omitempty"`
	Split        bool  `json:"split,omitempty"`    // its MIG instances are leased in its stead
	Overfull     bool  `json:"overfull,omitempty"` // capacity shrank, or a reserve grew, below what was granted
	Unseen       bool  `json:"unseen,omitempty"`   // nobody has looked for foreign processes yet, or can now
	ForeignBytes int64 `json:"foreign_bytes,omitempty"`
	GrantedBytes int64 `json:"granted_bytes,omitempty"`
}

// Link is how close two devices are.
type Link struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Score int    `json:"score"`
}

// Spent is what a user, group or project has used since the period began, as of a time.
type Spent struct {
	Scope Scope  `json:"scope"`
	Name  string `json:"name"`
	MiBMS int64  `json:"mib_ms"`
	AtMS  int64  `json:"at_ms"`
}

// Devices returns the devices and what is on them.
func (b *Book) Devices() []DeviceStatus {
	all := make([]DeviceStatus, 0, len(b.devices))
	for _, d := range b.devices {
		var granted int64
		for _, h := range d.holdings {
			granted += h.Bytes
		}
		all = append(all, DeviceStatus{d.Device, d.absent, d.cordoned, d.split, d.overfull, d.unseen, d.foreign, granted})
	}
	return all
}

// Links returns how close the devices are to each other, by their UUIDs.
func (b *Book) Links() []Link {
	var all []Link
	for pair, n := range b.links {
		all = append(all, Link{pair[0], pair[1], n})
	}
	slices.SortFunc(all, func(x, y Link) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	return all
}

// Snapshot returns the book as a value, which shares nothing that changes.
func (b *Book) Snapshot() Snapshot {
	s := Snapshot{
		Seq: b.seq, NowMS: b.nowMS, Epoch: b.epoch, NextID: b.nextID, Boot: b.boot, Policy: b.policy,
		Devices: b.Devices(), Live: b.Leases(), Past: make([]Lease, 0, len(b.past)), Links: b.Links(),
	}
	for _, l := range b.past {
		s.Past = append(s.Past, *l)
	}
	for who, n := range b.spent {
		s.Spent = append(s.Spent, Spent{who.scope, who.name, n.MiBMS, n.AtMS})
	}
	slices.SortFunc(s.Spent, func(x, y Spent) int { return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Name, y.Name)) })
	return s
}

// Restore returns the book that a snapshot was taken of, or what is wrong with the snapshot.
func Restore(s Snapshot) (*Book, error) {
	b := New()
	b.seq, b.nowMS, b.epoch, b.nextID, b.boot, b.policy = s.Seq, s.NowMS, s.Epoch, s.NextID, s.Boot, s.Policy
	for _, d := range s.Devices {
		b.devices = append(b.devices, &device{Device: d.Device, absent: d.Absent, cordoned: d.Cordoned, split: d.Split, unseen: d.Unseen, foreign: d.ForeignBytes})
	}
	for _, k := range s.Links {
		b.links[[2]string{k.From, k.To}] = k.Score
	}
	for _, n := range s.Spent {
		b.spent[party{n.Scope, n.Name}] = spent{n.MiBMS, n.AtMS}
	}
	for i := range s.Past {
		b.remember(&s.Past[i])
		b.past = append(b.past, &s.Past[i])
		b.pastOf[s.Past[i].User]++
	}
	live := slices.Clone(s.Live)
	slices.SortFunc(live, func(x, y Lease) int { return cmp.Or(cmp.Compare(x.Epoch, y.Epoch), cmp.Compare(x.ID, y.ID)) })
	for i := range live {
		if err := b.revive(&live[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(b.queue, b.byRank)
	for _, d := range b.devices {
		d.settle()
	}
	if wrong := b.Check(); len(wrong) > 0 {
		return nil, fmt.Errorf("the snapshot of event %d is wrong: %s", s.Seq, wrong[0])
	}
	return b, nil
}

func (b *Book) remember(l *Lease) {
	if l.Key != "" {
		b.keys[l.key()] = max(b.keys[l.key()], l.ID)
	}
}

// revive puts a lease of a snapshot in its place.
func (b *Book) revive(l *Lease) error {
	b.live[l.ID] = l
	b.remember(l)
	if !l.Holds() {
		b.count(&l.Request, load{waiting: 1})
		b.queue = append(b.queue, l)
		return nil
	}
	for _, s := range l.Shares {
		if b.device(s.Device) == nil {
			return fmt.Errorf("lease %d has a share of %s, which is no device", l.ID, s.Device)
		}
	}
	b.occupy(l)
	return nil
}
