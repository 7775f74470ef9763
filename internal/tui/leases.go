package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// The states of a lease, as the agent tells them.
const (
	stateQueued   = "queued"
	stateGranted  = "granted"
	stateDraining = "draining"
)

// titleState is the column that leases are sorted by at first: those that hold memory, then
// the queue in its order.
const titleState = "STATE"

// leaseColumns are the columns of the list of leases.
func (m *model) leaseColumns() []column[client.Lease] {
	columns := []column[client.Lease]{
		{title: "LEASE", right: true, text: func(l client.Lease) string { return strconv.FormatInt(l.ID, 10) }, compare: func(a, b client.Lease) int { return cmp.Compare(a.ID, b.ID) }},
		{title: titleState, text: stateText, compare: byState},
		leaseText("USER", 0, func(l client.Lease) string { return l.User }),
		leaseText("GPU", 0, m.gpusText),
		{title: "LEASED", right: true, most: true, text: askedText, compare: byAmount(leased)},
		{title: "USED", right: true, most: true, text: usedText, compare: byAmount(leaseUsed)},
	}
	if m.history != nil {
		columns = append(columns, m.leaseTrendColumn())
	}
	return append(columns,
		leaseText("GRADE", narrow, func(l client.Lease) string { return orDashText(l.Grade) }),
		column[client.Lease]{title: "SINCE", from: 100, right: true, text: m.sinceText, compare: func(a, b client.Lease) int { return since(a).Compare(since(b)) }},
		column[client.Lease]{title: "ENDS", from: wide, right: true, text: m.endsText, compare: byEnd},
		leaseText("QUEUE", widest, func(l client.Lease) string { return orDashText(l.Queue) }),
		column[client.Lease]{title: "PRIORITY", from: widest, right: true, most: true, text: func(l client.Lease) string { return strconv.Itoa(l.Priority) }, compare: func(a, b client.Lease) int { return cmp.Compare(b.Priority, a.Priority) }},
		leaseText("PROJECT", widest, func(l client.Lease) string { return orDashText(l.Project) }),
		leaseText("NAME", 0, func(l client.Lease) string { return l.Name }))
}

func leaseText(title string, from int, text func(client.Lease) string) column[client.Lease] {
	return column[client.Lease]{title: title, from: from, cut: term.CutAtEnd, text: text, compare: byText(text)}
}

func orDashText(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// byState brings those that hold memory first, by number, then those that wait, by their
// place in the queue.
func byState(a, b client.Lease) int {
	place := func(l client.Lease) int {
		if l.State != stateQueued {
			return -1
		}
		return l.Position
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.ID, b.ID))
}

func byEnd(a, b client.Lease) int {
	switch {
	case a.Expires == nil || b.Expires == nil:
		return cmp.Compare(toldEnd(b), toldEnd(a))
	}
	return a.Expires.Compare(*b.Expires)
}

func toldEnd(l client.Lease) int {
	if l.Expires == nil {
		return 0
	}
	return 1
}

func (m *model) leaseTrendColumn() column[client.Lease] {
	const columns = 8
	growth := func(l client.Lease) *int64 {
		if len(m.history[leaseKey(l.ID)]) == 0 {
			return nil
		}
		n := m.history.growth(leaseKey(l.ID))
		return &n
	}
	return column[client.Lease]{
		title: "TREND", from: 100, most: true, compare: byAmount(growth),
		text: func(l client.Lease) string {
			return spark(m.o.Look, m.history.last(leaseKey(l.ID), columns), columns)
		},
	}
}

// stateText is where a lease is in its life, with its place in the queue. One whose processes
// use more than it holds is exceeded, be it granted still.
func stateText(l client.Lease) string {
	switch {
	case l.State == stateQueued && l.Position > 0:
		return fmt.Sprintf("queued %d", l.Position)
	case l.State == stateGranted && over(l):
		return "exceeded"
	}
	return l.State
}

// over tells whether a lease's processes use more on a device than it holds there.
func over(l client.Lease) bool {
	for _, s := range heldShares(&l) {
		if exceeded(s) {
			return true
		}
	}
	return false
}

func exceeded(s client.Share) bool { return s.UsedBytes != nil && *s.UsedBytes > s.Bytes }

func leaseStyle(l client.Lease) term.Style {
	switch {
	case over(l):
		return term.Red
	case l.State == stateDraining:
		return term.Yellow
	case l.State == stateQueued:
		return term.Dim
	}
	return term.Plain
}

// leased is what a lease holds, on all of its devices; of one that waits, what it asks for.
func leased(l client.Lease) *int64 {
	var sum int64
	for _, s := range heldShares(&l) {
		sum += s.Bytes
	}
	if l.State == stateQueued {
		if l.MemoryBytes == 0 {
			return nil // whole devices, whichever they will be
		}
		sum = l.MemoryBytes * int64(max(1, l.DeviceCount))
	}
	return &sum
}

func askedText(l client.Lease) string {
	if n := leased(l); n != nil {
		return units.FormatBytes(*n)
	}
	return "all"
}

// leaseUsed is what the processes of a lease use; nil where it holds nothing, or the driver
// does not tell.
func leaseUsed(l client.Lease) *int64 {
	shares := heldShares(&l)
	var sum int64
	for _, s := range shares {
		if s.UsedBytes == nil {
			return nil
		}
		sum += *s.UsedBytes
	}
	if len(shares) == 0 {
		return nil
	}
	return &sum
}

func usedText(l client.Lease) string {
	if l.State == stateQueued {
		return "-"
	}
	return bytesText(leaseUsed(l))
}

// gpusText are the devices of a lease; of one that waits, what it asks for.
func (m *model) gpusText(l client.Lease) string {
	var names []string
	for _, s := range heldShares(&l) {
		names = append(names, m.unitText(s.Device))
	}
	if len(names) > 0 {
		return strings.Join(names, ",")
	}
	text := "any"
	switch {
	case l.Device != "":
		text = m.unitText(l.Device)
	case l.Model != "":
		text = l.Model
	}
	if l.DeviceCount > 1 {
		text = fmt.Sprintf("%d × %s", l.DeviceCount, text)
		if !m.o.Look.Unicode {
			text = strings.ReplaceAll(text, "×", "x")
		}
	}
	return text
}

// unitText names a device as the list of processes does; one that is not there by its UUID.
func (m *model) unitText(uuid string) string {
	d, in := m.now.device(uuid)
	switch {
	case d == nil:
		return uuid
	case in == nil:
		return strconv.Itoa(d.Index)
	}
	return fmt.Sprintf("%d/%s", d.Index, instanceName(*in))
}

// leaseLine is a lease in a few words.
func (m *model) leaseLine(l client.Lease) string {
	return fmt.Sprintf("%d, %s, %s leased, %s used, grade %s", l.ID, stateText(l), askedText(l), usedText(l), orUnknown(l.Grade))
}

func (m *model) leaseMatches(l client.Lease) bool {
	return contains(m.filter, strconv.FormatInt(l.ID, 10), stateText(l), l.User, l.Group, "gpu"+m.gpusText(l), l.Queue, l.Project, l.Name)
}
