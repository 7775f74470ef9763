package lease

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// Reason is a thing that keeps a request from starting.
type Reason struct {
	Code    Code   `json:"code"`
	Text    string `json:"text"`
	Bytes   int64  `json:"bytes,omitempty"`    // what is missing, where it is an amount
	Lease   ID     `json:"lease,omitempty"`    // who stands before it, where it is one
	UntilMS int64  `json:"until_ms,omitempty"` // when it goes away, where that is known
}

// Explain says why a request waits: what binds it now first, then, where it waits for memory, the
// queue before it. It returns nothing for a lease that does not wait.
func (b *Book) Explain(atMS int64, id ID) []Reason {
	return b.explain(b.queue, max(atMS, b.nowMS), id)
}

// WhyNot is Explain for a request that did not want to wait and so is not in the queue: what would
// keep it from starting now. It returns nothing for one that would start.
func (b *Book) WhyNot(atMS int64, l Lease) []Reason {
	i, _ := slices.BinarySearchFunc(b.queue, &l, b.byRank)
	return b.explain(slices.Insert(slices.Clone(b.queue), i, &l), max(atMS, b.nowMS), l.ID)
}

func (b *Book) explain(queue []*Lease, atMS int64, id ID) []Reason {
	var g *guard
	for i, l := range queue {
		_, why := b.startable(l, atMS, g)
		if l.ID == id {
			return explained(b.detail(l, why, atMS), queue[:i])
		}
		if g == nil && why != nil && b.isHead(l, why) {
			g = newGuard(b, l)
		}
	}
	return nil
}

// detail adds what startable leaves out: the text of CodeOrder, and what is behind codeNoRoom.
func (b *Book) detail(l *Lease, why *Reason, atMS int64) *Reason {
	if why != nil && why.Code == CodeOrder {
		why.Text = fmt.Sprintf("it would fit, but could delay lease %d, which is first in the queue", why.Lease)
	}
	if why == nil || why.Code != codeNoRoom {
		return why
	}
	if over := b.overQuota(&l.Request, b.least(&l.Request), atMS); over != nil {
		return over
	}
	lacks := b.lacks(&l.Request)
	return &lacks
}

func explained(why *Reason, ahead []*Lease) []Reason {
	if why == nil {
		return nil
	}
	all := []Reason{*why}
	switch n := len(ahead); n {
	case 0:
	case 1:
		all = append(all, Reason{Code: CodeOrder, Lease: ahead[0].ID, Text: fmt.Sprintf("lease %d is before it in the queue", ahead[0].ID)})
	default:
		all = append(all, Reason{Code: CodeOrder, Lease: ahead[0].ID, Text: fmt.Sprintf("%d requests are before it in the queue, lease %d first", n, ahead[0].ID)})
	}
	return all
}

// whyNever says what is wrong with a request that no device could ever hold.
func (b *Book) whyNever(r *Request) string {
	named, model, whole, most := false, r.Model == "", false, int64(0)
	var models []string
	for _, d := range b.devices {
		if d.absent || d.split {
			continue
		}
		named = named || r.Device == d.UUID || r.Device == d.Parent
		if !slices.Contains(models, d.Model) {
			models = append(models, d.Model)
		}
		alike := Request{Device: r.Device, Model: r.Model, Queue: r.Queue, Devices: 1}
		if !d.suits(&alike) {
			continue
		}
		model = true
		if r.Devices == 1 || d.Parent == "" {
			whole, most = true, max(most, d.most(r.Queue))
		}
	}
	switch {
	case len(models) == 0:
		return "there is no device here"
	case r.Device != "" && !named:
		return fmt.Sprintf("there is no device %s here", r.Device)
	case !model:
		return fmt.Sprintf("no device here has %q in its model's name: there are %s", r.Model, strings.Join(models, ", "))
	case r.Devices > 1 && !whole:
		return "a lease on several devices takes whole GPUs only, and there are MIG instances alone"
	case most > 0 && most < r.MemoryBytes:
		return fmt.Sprintf("no device here could hold it: the most that it could have of one is %s", sizes(most, r.MemoryBytes))
	case r.Exclusive && most > 0:
		return "no device here can be had exclusively: a part of each is kept for another queue"
	}
	return "no device here could hold it"
}

// sizes prints an amount so that it does not look like another one: two decimals, which people
// read, or whole MiB where those would be the same.
func sizes(bytes, other int64) string {
	text := units.FormatBytes(bytes)
	if bytes != other && text == units.FormatBytes(other) {
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	return text
}

// lacks finds what keeps a request from being placed, whose quota would let it: the first thing
// that, were it away, would let it start.
func (b *Book) lacks(r *Request) Reason {
	if n := b.suitable(r); n < r.Devices {
		return Reason{Code: CodeAbsent, Text: fmt.Sprintf("%d devices that could hold it are there now, and it needs %d", n, r.Devices)}
	}
	for _, c := range []struct {
		code Code
		text string
		fits func(*device) bool
	}{
		{CodeUnseen, "what is on a device that it needs cannot be told now: nobody has looked yet, or the driver does not answer", func(d *device) bool { return d.without(r, func(d *device) { d.unseen = false }) }},
		{CodeCordon, "a device that it needs is cordoned", func(d *device) bool { return d.without(r, func(d *device) { d.cordoned = false }) }},
		{CodeForeign, "processes without a lease hold memory that it needs", func(d *device) bool { return d.without(r, func(d *device) { d.foreign = 0 }) }},
		{CodeReserve, "memory that it needs is kept for another queue", func(d *device) bool { return d.without(r, func(d *device) { d.Reserves = nil }) }},
	} {
		if b.fitting(r, c.fits) >= r.Devices {
			return Reason{Code: c.code, Text: c.text}
		}
	}
	if b.suitable(r)-b.fitting(r, (*device).exclusive) < r.Devices {
		return Reason{Code: CodeExclusive, Text: "devices that it needs are leased exclusively"}
	}
	return b.missing(r)
}

// without tells whether a request would fit on the device if something about it were otherwise.
func (d *device) without(r *Request, change func(*device)) bool {
	other := *d
	change(&other)
	other.settle()
	return other.fits(r)
}

// fitting counts the devices that could hold a request and are as fits says.
func (b *Book) fitting(r *Request, fits func(*device) bool) (n int) {
	for _, d := range b.devices {
		if d.suits(r) && fits(d) {
			n++
		}
	}
	return n
}

// missing says how much is wanting on the device where the least is.
func (b *Book) missing(r *Request) Reason {
	least := int64(-1)
	for _, d := range b.devices {
		if !d.suits(r) || d.cordoned || d.fits(r) {
			continue
		}
		if m := d.share(r) - max(0, d.free(r.Queue)); least < 0 || m < least {
			least = m
		}
	}
	if r.Exclusive {
		return Reason{Code: CodeMemory, Text: "it wants a device for itself, and other leases are on each"}
	}
	return Reason{Code: CodeMemory, Bytes: max(0, least), Text: fmt.Sprintf("other leases hold what it needs: %s more have to be free on a device", units.FormatBytes(max(0, least)))}
}
