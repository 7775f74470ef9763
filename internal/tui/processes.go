package tui

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Widths of a window from which columns show. 80 is what every terminal has.
const (
	narrow    = 64
	usual     = 80
	wide      = 120
	widest    = 150
	slopeFrom = 170
)

// titleMemory is the column that processes are sorted by at first.
const titleMemory = "MEMORY"

// processColumns are the columns of the list of processes. Those that only the agent can
// fill are there while it answers.
func (m *model) processColumns() []column[row] {
	agent, where := m.now.About != nil, narrow
	columns := []column[row]{
		{title: "PID", right: true, text: func(r row) string { return strconv.Itoa(r.process.PID) }, compare: func(a, b row) int { return cmp.Compare(a.process.PID, b.process.PID) }},
		textColumn("USER", 0, func(r row) string { return r.user() }),
		{title: "GPU", text: func(r row) string { return gpuText(r.device, r.process) }, compare: byDevice},
		amountColumn(titleMemory, 0, func(r row) *int64 { return r.process.UsedBytes }),
	}
	if agent {
		columns = append(columns, m.allocatorColumns()...)
	}
	if m.history != nil {
		columns = append(columns, m.trendColumn())
	}
	if agent {
		where = wide
		columns = append(columns, column[row]{title: "LEASE", from: usual, text: func(r row) string { return r.leaseText() }, compare: byLease})
	}
	return append(columns,
		textColumn("WHERE", where, func(r row) string { return r.process.Place.String() }),
		textColumn("COMMAND", 0, m.shownCommand))
}

// shownCommand is a command for a list: on a screen without the folder of its program, which
// would take the room of what tells.
func (m *model) shownCommand(r row) string {
	command := commandText(r.process)
	if m.history == nil || !strings.HasPrefix(command, "/") {
		return command
	}
	program, arguments, more := strings.Cut(command, " ")
	if more {
		arguments = " " + arguments
	}
	return path.Base(program) + arguments
}

func textColumn(title string, from int, text func(row) string) column[row] {
	return column[row]{title: title, from: from, cut: term.CutAtEnd, text: text, compare: byText(text)}
}

func amountColumn(title string, from int, amount func(row) *int64) column[row] {
	return column[row]{
		title: title, from: from, right: true, most: true,
		text: func(r row) string { return bytesText(amount(r)) }, compare: byAmount(amount),
	}
}

// byDevice sorts as the driver numbers devices, and their instances as it lists them.
func byDevice(a, b row) int {
	return cmp.Or(cmp.Compare(indexOf(a.device), indexOf(b.device)), cmp.Compare(a.instance(), b.instance()))
}

func indexOf(d *gpu.Device) int {
	if d == nil {
		return -1
	}
	return d.Index
}

// instance is the number of the MIG device in the list of its GPU's; -1 for the whole GPU.
func (r *row) instance() int {
	if r.device == nil {
		return -1
	}
	return slices.IndexFunc(r.device.Instances, func(in gpu.Instance) bool { return in.UUID == r.uuid })
}

// byLease brings those without a lease last: they are what there is least of to say.
func byLease(a, b row) int {
	number := func(r row) int64 {
		if r.lease == nil {
			return 1<<63 - 1
		}
		return r.lease.ID
	}
	return cmp.Compare(number(a), number(b))
}

// allocatorColumns are what processes tell of PyTorch's allocator.
func (m *model) allocatorColumns() []column[row] {
	part := func(get func(*client.Allocator) int64) func(row) *int64 {
		return func(r row) *int64 {
			a := r.allocator()
			if a == nil {
				return nil
			}
			n := get(a)
			return &n
		}
	}
	amount := func(title string, from int, of func(row) *int64) column[row] {
		c := amountColumn(title, from, of)
		c.text = func(r row) string { return r.orDash(of(r), units.FormatBytes) }
		return c
	}
	count := func(title string, from int, get func(*client.Allocator) int64) column[row] {
		c := amountColumn(title, from, part(get))
		c.text = func(r row) string { return r.orDash(part(get)(r), units.FormatCount) }
		return c
	}
	return []column[row]{
		amount("ALLOCATED", narrow, part(func(a *client.Allocator) int64 { return a.AllocatedBytes })),
		amount("RESERVED", 100, part(func(a *client.Allocator) int64 { return a.ReservedBytes })),
		amount("SPLIT", widest, part(func(a *client.Allocator) int64 { return a.InactiveSplitBytes })),
		amount("OUTSIDE", widest, func(r row) *int64 { return r.outside() }),
		{title: "SLOPE", from: slopeFrom, right: true, most: true, text: func(r row) string { return orDashText(r.slopeText()) }, compare: byAmount(func(r row) *int64 { return r.slope() })},
		count("RETRIES", widest, func(a *client.Allocator) int64 { return a.AllocRetries }),
		count("OOMS", widest, func(a *client.Allocator) int64 { return a.OOMs }),
	}
}

// slope is by how much a job grows a step; nil where that is not known, or it does not.
func (r *row) slope() *int64 {
	if r.held == nil || r.held.Slope == nil {
		return nil
	}
	n := int64(*r.held.Slope)
	return &n
}

// slopeText is by how much a job grows a step, or a minute where it tells of no steps.
func (r *row) slopeText() string {
	switch {
	case r.slope() != nil:
		return units.FormatBytesDelta(*r.slope()) + " a step"
	case r.held != nil && r.held.PerMinute != nil:
		return units.FormatBytesDelta(int64(*r.held.PerMinute)) + " a minute"
	}
	return ""
}

func (r *row) outside() *int64 {
	if r.held == nil {
		return nil
	}
	return r.held.Outside
}

// orDash is an amount, or a dash where a process told nothing, which is the usual thing of
// programs that no companion watches.
func (r *row) orDash(n *int64, format func(int64) string) string {
	switch {
	case n != nil:
		return format(*n)
	case r.hidden:
		return unknown
	}
	return "-"
}

func (m *model) trendColumn() column[row] {
	columns := 8
	if m.width >= wide {
		columns = 16
	}
	growth := func(r row) *int64 {
		if len(m.history[r.key]) == 0 {
			return nil
		}
		n := m.history.growth(r.key)
		return &n
	}
	return column[row]{
		title: "TREND", from: narrow, most: true, compare: byAmount(growth),
		text: func(r row) string { return spark(m.o.Look, m.history.last(r.key, columns), columns) },
	}
}

// leaseText is the number of a process's lease, with what is wrong about it.
func (r *row) leaseText() string {
	text := "-"
	if r.lease != nil {
		text = strconv.FormatInt(r.lease.ID, 10)
	}
	switch {
	case r.job == nil && r.hidden:
		return unknown
	case r.job == nil:
		return text
	case r.job.Orphan:
		return text + " orphan"
	case r.held.Stray:
		return text + " stray"
	case r.lease == nil:
	case r.share() == nil:
		return text + " elsewhere"
	case exceeded(*r.share()):
		return text + " exceeded"
	}
	return text
}

// share is the part of its lease on the device that a process is on; nil where that is none.
func (r *row) share() *client.Share {
	shares := heldShares(r.lease)
	for i := range shares {
		if shares[i].Device == r.uuid {
			return &shares[i]
		}
	}
	return nil
}

// processStyle lets a process stand out whose lease does not hold it.
func processStyle(r row) term.Style {
	switch {
	case r.job == nil:
		return term.Plain
	case r.job.Orphan, r.lease != nil && (r.share() == nil || exceeded(*r.share())):
		return term.Red
	case r.held.Stray:
		return term.Yellow
	}
	return term.Plain
}

// processDetail is all that is known of a process, with a plot of its memory.
func (m *model) processDetail(r row, room int) []string {
	p := r.process
	facts := [][2]string{
		{"process", strings.TrimSuffix(fmt.Sprintf("%d, %s", p.PID, p.Use), ", ")},
		{"user", r.user()},
		{"GPU", gpuText(r.device, p) + ", " + r.uuid},
		{"memory", bytesText(p.UsedBytes) + m.history.growthText(r.key)},
	}
	facts = append(facts, m.jobFacts(r)...)
	facts = append(facts, [2]string{"where", placeText(p)}, [2]string{"command", commandText(p)})
	whole := top(r.device)
	if r.lease != nil && r.share() != nil {
		whole = r.share().Bytes
	}
	return m.detail(facts, r.key, whole, room)
}

func top(d *gpu.Device) int64 {
	if d == nil || d.Memory == nil {
		return 0
	}
	return d.Memory.TotalBytes
}

// jobFacts are what the agent knows of a process.
func (m *model) jobFacts(r row) [][2]string {
	a := r.allocator()
	facts := [][2]string{{"of it PyTorch's", "unknown to the driver"}}
	switch {
	case a != nil:
		facts = allocatorFacts(a, r.held)
	case r.hidden:
		facts[0][1] = "told to their user and to admins"
	case m.now.About != nil:
		facts[0][1] = "unknown: the process does not report; 'ullage run' makes it"
	}
	if r.job == nil {
		return facts
	}
	if text := m.progressText(r); text != "" {
		facts = append(facts, [2]string{"job", text})
	}
	switch {
	case r.lease != nil:
		facts = append(facts, [2]string{"lease", m.leaseLine(*r.lease)})
	case r.job.Orphan:
		facts = append(facts, [2]string{"lease", "orphan: its lease is over, or nobody it belongs to lives"})
	}
	if r.lease != nil && r.share() == nil {
		facts = append(facts, [2]string{"", "elsewhere: the lease holds nothing on this GPU, so what is used is foreign"})
	}
	if r.held.Stray {
		facts = append(facts, [2]string{"stray", "a context and nothing else here: its rank works on another GPU"})
	}
	return facts
}

func allocatorFacts(a *client.Allocator, held *client.JobDevice) [][2]string {
	facts := [][2]string{
		{"of it PyTorch's", fmt.Sprintf("%s allocated, %s reserved%s", units.FormatBytes(a.AllocatedBytes), units.FormatBytes(a.ReservedBytes), limitText(a))},
		{"", fmt.Sprintf("%s inactive split, %s requested", units.FormatBytes(a.InactiveSplitBytes), units.FormatBytes(a.RequestedBytes))},
		{"at its peak", fmt.Sprintf("%s allocated, %s reserved; %s, %s", units.FormatBytes(a.PeakAllocatedBytes), units.FormatBytes(a.PeakReservedBytes), units.FormatPlural(int(a.OOMs), "OOM", "OOMs"), units.FormatPlural(int(a.AllocRetries), "retry", "retries"))},
	}
	if held.Outside != nil {
		facts = append(facts, [2]string{"outside PyTorch", units.FormatBytes(*held.Outside) + ": context, libraries, other allocators"})
	}
	return facts
}

func limitText(a *client.Allocator) string {
	if a.LimitBytes <= 0 {
		return ""
	}
	return " of at most " + units.FormatBytes(a.LimitBytes)
}

// progressText is a job's name, rank and step, and what it adds a step.
func (m *model) progressText(r row) string {
	var parts []string
	j := r.job
	if j.Name != "" {
		parts = append(parts, j.Name)
	}
	if j.Rank != nil {
		parts = append(parts, fmt.Sprintf("rank %d", *j.Rank))
	}
	if j.Step != nil {
		parts = append(parts, "step "+units.FormatCount(*j.Step))
	}
	if text := r.slopeText(); text != "" {
		parts = append(parts, text)
	}
	if j.Reported != nil {
		parts = append(parts, "told "+m.ago(*j.Reported)+" ago")
	}
	return strings.Join(parts, ", ")
}
