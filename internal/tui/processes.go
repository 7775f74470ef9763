package tui

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// trendColumns is the width of the line that shows where a process is going.
func (m *model) trendColumns() int {
	if m.width >= wide {
		return 24
	}
	return 8
}

// pageRows is how many processes are shown at once, about.
func (m *model) pageRows() int { return max(1, m.height/2) }

// processes is the table of processes, room lines high with its head.
func (m *model) processes(room int) []string {
	rows := m.rows()
	if len(rows) == 0 {
		return []string{m.noProcesses()}
	}
	shown := max(1, room-1)
	chosen := m.index(rows)
	m.offset = max(0, min(m.offset, len(rows)-shown, chosen))
	m.offset = max(m.offset, chosen-shown+1)
	end := min(len(rows), m.offset+shown)
	table := term.Table{Columns: m.columns()}
	for i, r := range rows[m.offset:end] {
		table.Row(m.cells(r, m.offset+i == chosen)...)
	}
	return m.paintTable(table, chosen-m.offset)
}

// paintTable draws a table, with the row that is chosen in reverse over the whole width.
func (m *model) paintTable(table term.Table, chosen int) []string {
	look := m.o.Look
	look.Width, look.Color = m.width, false
	var b strings.Builder
	_ = table.Print(&b, look) // a Builder takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, text := range lines {
		style := term.Plain
		switch {
		case i == 0:
			style = term.Bold
		case i == chosen+1 && m.focus == focusProcesses:
			style = reversed
			if m.o.Look.Color {
				text += strings.Repeat(" ", max(0, m.width-term.Width(text)))
			}
		}
		lines[i] = m.line(span{text, style})
	}
	return lines
}

func (m *model) noProcesses() string {
	if m.filter != "" && len(m.reading.Processes) > 0 {
		return m.line(plain(fmt.Sprintf("  none of %s has %q in its user, GPU, place or command", units.FormatPlural(len(m.reading.Processes), "process", "processes"), m.filter)))
	}
	return m.line(plain("  no process on a GPU that can be seen from here"))
}

// narrow is the width below which the table has neither trends nor places.
const narrow = 64

// columns of the table. The last two are cut where the window is not wide enough.
func (m *model) columns() []term.Column {
	columns := []term.Column{
		{},
		{Title: "PID", Right: true},
		{Title: "USER", Cut: term.CutAtEnd},
		{Title: "GPU"},
		{Title: "MEMORY", Right: true},
		{Title: "COMMAND", Cut: term.CutAtEnd},
	}
	if m.width < narrow {
		return columns
	}
	columns[5] = term.Column{Title: "TREND"}
	return append(columns, term.Column{Title: "WHERE", Cut: term.CutAtEnd}, term.Column{Title: "COMMAND", Cut: term.CutAtEnd})
}

func (m *model) cells(r row, chosen bool) []string {
	marker := ""
	if chosen && m.focus == focusProcesses {
		marker = ">"
	}
	p := r.process
	cells := []string{marker, fmt.Sprint(p.PID), owner(p), gpuText(r.device, p), bytesText(p.UsedBytes)}
	if m.width >= narrow {
		cells = append(cells, m.trend(r.key), p.Place.String())
	}
	return append(cells, commandText(p))
}

func (m *model) trend(key rowKey) string {
	return spark(m.o.Look, m.history.last(key, m.trendColumns()), m.trendColumns())
}

// processDetail is all that is known of a process, with a plot of its memory.
func (m *model) processDetail(r row, room int) []string {
	p := r.process
	facts := [][2]string{
		{"process", fmt.Sprintf("%d, %s", p.PID, p.Use)},
		{"user", owner(p)},
		{"GPU", gpuText(r.device, p) + ", " + p.DeviceUUID},
		{"memory", bytesText(p.UsedBytes) + growthText(m.history, r.key)},
		{"of it PyTorch's", "unknown to the driver"},
		{"where", placeText(p)},
		{"command", commandText(p)},
	}
	return m.detail(facts, r.key, top(r.device), room)
}

func top(d *gpu.Device) int64 {
	if d == nil || d.Memory == nil {
		return 0
	}
	return d.Memory.TotalBytes
}

func growthText(h histories, key rowKey) string {
	if len(h[key]) < 2 {
		return ""
	}
	return fmt.Sprintf(", %s in %s", units.FormatBytesDelta(h.growth(key)), units.FormatDuration(age(h[key])))
}

// placeText is a place in full.
func placeText(p gpu.Process) string {
	var parts []string
	for _, f := range [][2]string{
		{"Slurm job ", p.Place.SlurmJob},
		{"step ", p.Place.SlurmStep},
		{"pod ", p.Place.PodUID},
		{p.Place.Runtime + " container ", p.Place.ContainerID},
		{"unit ", p.Place.Unit},
	} {
		if f[1] != "" {
			parts = append(parts, f[0]+f[1])
		}
	}
	if p.NamespacePID != 0 && p.NamespacePID != p.PID {
		parts = append(parts, fmt.Sprintf("PID %d in there", p.NamespacePID))
	}
	if len(parts) == 0 {
		return unknown
	}
	return strings.Join(parts, ", ")
}

// deviceDetail is all that is known of a device, with a plot of its used memory.
func (m *model) deviceDetail(d gpu.Device, room int) []string {
	facts := [][2]string{
		{"GPU", fmt.Sprintf("%d, %s, %s", d.Index, deviceName(d), d.UUID)},
		{"address", orUnknown(d.PCIAddress)},
	}
	if d.Memory != nil {
		facts = append(facts, [2]string{"memory", memoryText(*d.Memory) + growthText(m.history, deviceKey(d.UUID))}, [2]string{"of it used by", sharesText(sharesOf(&m.reading, &d))})
	}
	facts = append(facts,
		[2]string{"ECC", eccText(d.ECC)},
		[2]string{"persistence", orUnknown(d.Persistence)},
		[2]string{"compute mode", orUnknown(d.ComputeMode)},
	)
	for _, in := range d.Instances {
		text := fmt.Sprintf("%s, GPU instance %d, compute instance %d", orUnknown(in.UUID), in.GPUInstance, in.ComputeInstance)
		if in.Memory != nil {
			text += ", " + pairText(in.Memory.UsedBytes, in.Memory.TotalBytes)
		}
		facts = append(facts, [2]string{"MIG " + instanceName(in), text})
	}
	for _, trouble := range troubles(d) {
		facts = append(facts, [2]string{"trouble", trouble})
	}
	return m.detail(facts, deviceKey(d.UUID), top(&d), room)
}

func memoryText(memory gpu.Memory) string {
	text := fmt.Sprintf("%s total, %s used, %s free", units.FormatBytes(memory.TotalBytes), units.FormatBytes(memory.UsedBytes), units.FormatBytes(memory.FreeBytes))
	if memory.ReservedBytes != nil {
		text += fmt.Sprintf(", %s kept by the driver", units.FormatBytes(*memory.ReservedBytes))
	}
	return text
}

func sharesText(s shares) string {
	if !s.told {
		return fmt.Sprintf("processes at least %s, other at most %s: not all tell", units.FormatBytes(s.processes), units.FormatBytes(s.other))
	}
	return fmt.Sprintf("processes %s, other %s", units.FormatBytes(s.processes), units.FormatBytes(s.other))
}

func eccText(e gpu.ECC) string {
	if e.Mode == "" {
		return "none, or not told"
	}
	text := e.Mode
	if e.Corrected != nil && e.Uncorrected != nil {
		text += fmt.Sprintf(", %d corrected and %d uncorrected errors since the driver was loaded", *e.Corrected, *e.Uncorrected)
	}
	return text
}

// factColumns is how far what is known stands from the left, behind its name.
const factColumns = 18

// fact is a name and what is known, on as many lines as it takes.
func (m *model) fact(name, what string) []string {
	lines := wrap("", what, max(1, m.width-factColumns))
	for i, text := range lines {
		lines[i] = m.line(span{fmt.Sprintf("  %-*s", factColumns-2, name), term.Bold}, plain(text))
		name = ""
	}
	return lines
}

// detail draws facts, and below them the history of key up to a whole of top bytes.
func (m *model) detail(facts [][2]string, key rowKey, top int64, room int) []string {
	lines := []string{""}
	for _, f := range facts {
		lines = append(lines, m.fact(f[0], f[1])...)
	}
	all := m.history[key]
	height := room - len(lines) - 3
	if len(all) == 0 || height < 2 || top <= 0 {
		return lines
	}
	const margin = 13 // for amounts as "1023.99 MiB"
	width := max(1, m.width-margin-2)
	lines = append(lines, "")
	for i, text := range plot(m.o.Look, m.history.last(key, width), top, width, height) {
		label := ""
		switch i {
		case 0:
			label = units.FormatBytes(top)
		case height - 1:
			label = "0"
		}
		lines = append(lines, m.line(plain(fmt.Sprintf("%*s |", margin-2, label)), span{text, term.Green}))
	}
	shown := all[max(0, len(all)-width):]
	return append(lines, m.line(plain(fmt.Sprintf("%*s  the last %s", margin-2, "", units.FormatDuration(age(shown))))))
}
