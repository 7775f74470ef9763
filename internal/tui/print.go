package tui

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Print writes a moment as tables, with its notes: devices, what is leased of them,
// processes, leases.
func Print(w io.Writer, look term.Look, mo Moment) error {
	m := newModel(context.Background(), Options{Look: look})
	m.now, m.all, m.history = mo, mo.rows(), nil // one moment has no trend
	m.processes.by = "GPU"
	m.refresh()
	var b strings.Builder
	source := sourceText(&mo.Reading)
	if mo.About != nil {
		source = "agent, " + source
	}
	fmt.Fprintf(&b, "%s, %s\n\n", source, mo.Reading.Time.Format("2006-01-02 15:04:05 MST"))
	m.printDevices(&b)
	m.printLeased(&b)
	if len(m.shown) == 0 {
		b.WriteString("no process on a GPU that can be seen from here\n\n")
	} else {
		printList(&b, look, &m.processes, m.shown)
	}
	switch {
	case len(m.shownLeases) > 0:
		printList(&b, look, &m.leases, m.shownLeases)
	case mo.About != nil:
		fmt.Fprintf(&b, "%s: none\n\n", m.leasesName())
	}
	notes := m.notes()
	if mo.About == nil && mo.Missing == "" {
		notes = append([]string{torchNote}, notes...)
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "note: %s\n", term.Clean(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printTable writes a table and an empty line. A Builder takes everything.
func printTable(b *strings.Builder, look term.Look, table term.Table) {
	_ = table.Print(b, look)
	b.WriteByte('\n')
}

func printList[R any, K comparable](b *strings.Builder, look term.Look, l *list[R, K], rows []R) {
	columns := l.visible(look.Width)
	var table term.Table
	for _, c := range columns {
		table.Columns = append(table.Columns, term.Column{Title: c.title, Right: c.right, Cut: c.cut})
	}
	for _, r := range rows {
		table.Row(texts(columns, r)...)
	}
	printTable(b, look, table)
}

func (m *model) printDevices(b *strings.Builder) {
	look := m.o.Look
	table := term.Table{Columns: []term.Column{
		{Title: "GPU"},
		{Title: "NAME", Cut: term.CutAtEnd},
		{Title: "TOTAL", Right: true},
		{Title: "PROCESSES", Right: true},
		{Title: "OTHER", Right: true},
		{Title: "DRIVER", Right: true},
		{Title: "FREE", Right: true},
		{Title: "BUSY", Right: true},
	}}
	var all []string
	for i := range m.now.Reading.Devices {
		d := &m.now.Reading.Devices[i]
		busy := "-"
		if d.Utilization != nil {
			busy = fmt.Sprintf("%d %%", *d.Utilization)
		}
		table.Row(memoryRow(look, fmt.Sprint(d.Index), deviceName(*d), d.Memory, m.now.fillOf(m.all, d, nil), busy)...)
		for k := range d.Instances {
			in := &d.Instances[k]
			table.Row(memoryRow(look, m.unitText(in.UUID), in.UUID, in.Memory, m.now.fillOf(m.all, d, in), "-")...)
		}
		for _, trouble := range m.troubles(d) {
			all = append(all, fmt.Sprintf("GPU %d: %s\n", d.Index, term.Clean(trouble)))
		}
	}
	_ = table.Print(b, look)
	b.WriteString(strings.Join(all, "") + "\n")
}

func memoryRow(look term.Look, index, name string, memory *gpu.Memory, f fill, busy string) []string {
	if memory == nil {
		return []string{index, name, unknown, units.FormatBytes(f.processes), unknown, unknown, unknown, busy}
	}
	processes, other := units.FormatBytes(f.processes), units.FormatBytes(f.other)
	least, most := "≥ ", "≤ "
	if !look.Unicode {
		least, most = ">= ", "<= "
	}
	switch {
	case !f.told && f.processes == 0:
		processes, other = unknown, most+other
	case !f.told:
		processes, other = least+processes, most+other
	}
	return []string{index, name, units.FormatBytes(memory.TotalBytes), processes, other, bytesText(memory.ReservedBytes), units.FormatBytes(memory.FreeBytes), busy}
}

// printLeased writes how leases see the devices, where an agent tells.
func (m *model) printLeased(b *strings.Builder) {
	if m.now.About == nil {
		return
	}
	table := term.Table{Columns: []term.Column{
		{Title: "GPU"},
		{Title: "CAPACITY", Right: true},
		{Title: "LEASED", Right: true},
		{Title: "USED OF IT", Right: true},
		{Title: "FOREIGN", Right: true},
		{Title: "AVAILABLE", Right: true},
		{Title: "", Cut: term.CutAtEnd},
	}}
	for i := range m.now.Devices {
		l := &m.now.Devices[i]
		table.Row(m.unitText(l.UUID), units.FormatBytes(l.CapacityBytes), units.FormatBytes(l.GrantedBytes), bytesText(m.now.leasedUse(l)), units.FormatBytes(l.ForeignBytes), units.FormatBytes(l.AvailableBytes), m.tags(l.UUID, ""))
	}
	printTable(b, m.o.Look, table)
}
