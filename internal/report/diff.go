package report

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Diff prints what changed from one recording to another.
func Diff(w io.Writer, l term.Look, before, after string, d *analyze.DiffReport, markdown bool) error {
	p := newPage(l, markdown)
	p.title(fmt.Sprintf("%s against %s", after, before))
	change := d.After.AllocatedBytes - d.Before.AllocatedBytes
	p.strong(term.Bold, fmt.Sprintf("%s allocated: %s, before %s.", units.FormatBytesDelta(change), units.FormatBytes(d.After.AllocatedBytes), units.FormatBytes(d.Before.AllocatedBytes)))
	p.diffTotals(d)
	p.diffSettings(d)
	p.heading("By category")
	t := newGrid(">change", ">before", ">after", "category")
	t.head = true
	for _, c := range d.Categories {
		t.row(units.FormatBytesDelta(c.AfterBytes-c.BeforeBytes), units.FormatBytes(c.BeforeBytes), units.FormatBytes(c.AfterBytes), c.Category.String())
	}
	p.grid(t)
	p.diffSites(d)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) diffTotals(d *analyze.DiffReport) {
	p.heading("Totals")
	t := newGrid(">change", ">before", ">after", "what")
	t.head = true
	for _, r := range []struct {
		name          string
		before, after int64
	}{
		{fmt.Sprintf("allocated at e%d and e%d", d.Before.Event, d.After.Event), d.Before.AllocatedBytes, d.After.AllocatedBytes},
		{"reserved there", d.Before.ReservedBytes, d.After.ReservedBytes},
		{"peak allocated", d.Before.PeakAllocatedBytes, d.After.PeakAllocatedBytes},
		{"peak reserved", d.Before.PeakReservedBytes, d.After.PeakReservedBytes},
	} {
		t.row(units.FormatBytesDelta(r.after-r.before), units.FormatBytes(r.before), units.FormatBytes(r.after), r.name)
	}
	p.grid(t)
}

func (p *page) diffSettings(d *analyze.DiffReport) {
	if len(d.Settings) == 0 {
		return
	}
	p.heading("Settings that differ")
	t := newGrid("setting", "before", "after")
	t.head = true
	for _, s := range d.Settings {
		t.row(s.Name, s.Before, s.After)
	}
	p.grid(t)
}

func (p *page) diffSites(d *analyze.DiffReport) {
	if len(d.Changed) == 0 {
		p.text(0, "No site holds more or less than before.")
		return
	}
	p.heading("By site")
	t := newGrid(">change", ">before", ">after", "", "where")
	t.head = true
	for _, c := range d.Changed {
		t.row(units.FormatBytesDelta(c.DeltaBytes()), units.FormatBytes(c.BeforeBytes), units.FormatBytes(c.AfterBytes), string(c.Change), c.Name)
	}
	if c := d.Rest; c != nil {
		t.row(units.FormatBytesDelta(c.DeltaBytes()), units.FormatBytes(c.BeforeBytes), units.FormatBytes(c.AfterBytes), "", c.Name)
	}
	p.grid(t)
	p.text(2, sitesText(d.Same)+" as much as before.")
}

func sitesText(n int) string {
	if n == 1 {
		return "1 other site holds"
	}
	return units.FormatCount(int64(n)) + " other sites hold"
}
