package tui

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Print writes a reading as two tables, devices and processes, with its notes.
func Print(w io.Writer, look term.Look, r gpu.Reading) error {
	if _, err := fmt.Fprintf(w, "%s, %s\n\n", sourceText(&r), r.Time.Format("2006-01-02 15:04:05 MST")); err != nil {
		return err
	}
	if err := printDevices(w, look, &r); err != nil {
		return err
	}
	if err := printProcesses(w, look, &r); err != nil {
		return err
	}
	for _, n := range append([]string{torchNote}, r.Notes...) {
		if _, err := fmt.Fprintf(w, "note: %s\n", term.Clean(n)); err != nil {
			return err
		}
	}
	return nil
}

func printDevices(w io.Writer, look term.Look, r *gpu.Reading) error {
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
	for _, d := range r.Devices {
		busy := "-"
		if d.Utilization != nil {
			busy = fmt.Sprintf("%d %%", *d.Utilization)
		}
		table.Row(memoryRow(look, fmt.Sprint(d.Index), deviceName(d), d.Memory, sharesOf(r, &d), busy)...)
		for _, in := range d.Instances {
			table.Row(memoryRow(look, fmt.Sprintf("%d/%s", d.Index, instanceName(in)), in.UUID, in.Memory, instanceShares(r, &d, in), "-")...)
		}
	}
	if err := table.Print(w, look); err != nil {
		return err
	}
	for _, d := range r.Devices {
		for _, trouble := range troubles(d) {
			if _, err := fmt.Fprintf(w, "GPU %d: %s\n", d.Index, term.Clean(trouble)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func memoryRow(look term.Look, index, name string, memory *gpu.Memory, s shares, busy string) []string {
	if memory == nil {
		return []string{index, name, unknown, units.FormatBytes(s.processes), unknown, unknown, unknown, busy}
	}
	processes, other := units.FormatBytes(s.processes), units.FormatBytes(s.other)
	least, most := "≥ ", "≤ "
	if !look.Unicode {
		least, most = ">= ", "<= "
	}
	switch {
	case !s.told && s.processes == 0:
		processes, other = unknown, most+other
	case !s.told:
		processes, other = least+processes, most+other
	}
	return []string{index, name, units.FormatBytes(memory.TotalBytes), processes, other, bytesText(memory.ReservedBytes), units.FormatBytes(memory.FreeBytes), busy}
}

func printProcesses(w io.Writer, look term.Look, r *gpu.Reading) error {
	if len(r.Processes) == 0 {
		_, err := fmt.Fprint(w, "no process on a GPU that can be seen from here\n\n")
		return err
	}
	table := term.Table{Columns: []term.Column{
		{Title: "PID", Right: true},
		{Title: "USER"},
		{Title: "GPU"},
		{Title: "MEMORY", Right: true},
		{Title: "WHERE", Cut: term.CutAtEnd},
		{Title: "COMMAND", Cut: term.CutAtEnd},
	}}
	for _, p := range r.Processes {
		table.Row(fmt.Sprint(p.PID), owner(p), gpuText(r.Device(p.DeviceUUID), p), bytesText(p.UsedBytes), p.Place.String(), commandText(p))
	}
	if err := table.Print(w, look); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
