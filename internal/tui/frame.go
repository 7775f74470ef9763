package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// footRows are the lines at the bottom: what was told last, and the keys.
const footRows = 2

// frame is the whole picture: height lines at most, of width columns.
func (m *model) frame() string {
	if m.quitting {
		return ""
	}
	room := max(0, m.height-1-footRows)
	var body []string
	switch {
	case !m.seen && m.err == nil:
		body = []string{m.line(plain("reading the GPUs"))}
	case !m.seen:
		body = []string{m.line(plain("no reading yet"))}
	case m.page == pageHelp:
		body = m.help()
	case m.page == pageDetail && m.focus == focusDevices && m.currentDevice() != nil:
		body = m.deviceDetail(*m.currentDevice(), room)
	case m.page == pageDetail && m.focus == focusProcesses && m.current() != nil:
		body = m.processDetail(*m.current(), room)
	default:
		body = m.list(room)
	}
	body = body[:min(len(body), room)]
	body = append(body, slices.Repeat([]string{""}, room-len(body))...)
	lines := append([]string{m.head()}, body...)
	return strings.Join(append(lines, m.status(), m.keyBar()), "\n")
}

func (m *model) line(spans ...span) string { return paint(m.o.Look, m.width, spans...) }

// head is the first line: where the readings come from, and of when they are.
func (m *model) head() string {
	left, right := "ullage top  ", ""
	if m.seen {
		left += sourceText(&m.reading)
		right = m.reading.Time.Format("15:04:05")
	}
	gap := max(1, m.width-term.Width(left)-term.Width(right))
	return m.line(span{left + strings.Repeat(" ", gap) + right, term.Bold})
}

// status is the line that tells: what is asked, what is wrong, what was done, or a note.
func (m *model) status() string {
	switch {
	case m.ending != nil:
		return m.line(span{fmt.Sprintf("end process %d of %s with SIGTERM? y / n   (%s)", m.ending.PID, owner(*m.ending), commandText(*m.ending)), term.Yellow})
	case m.typing:
		return m.line(plain("filter: " + m.filter + "_"))
	case m.err != nil && m.seen:
		return m.line(span{fmt.Sprintf("%v; what is shown is of %s", m.err, m.reading.Time.Format("15:04:05")), term.Red})
	case m.err != nil:
		return m.line(span{m.err.Error(), term.Red})
	case m.told != "":
		return m.line(plain(m.told))
	case len(m.reading.Notes) > 0 && m.page == pageList:
		text := "note: " + m.reading.Notes[0]
		if more := len(m.reading.Notes) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more: ?)", more)
		}
		return m.line(span{text, term.Dim})
	}
	return ""
}

// keyBar names the keys that matter most.
func (m *model) keyBar() string {
	var spans []span
	for _, b := range bindings() {
		if b.short != "" {
			spans = append(spans, span{b.shown, term.Bold}, plain(" "+b.short+"  "))
		}
	}
	return m.line(spans...)
}

// help lists all keys, what the marks of bars mean, and the notes of the reading.
func (m *model) help() []string {
	lines := []string{""}
	for _, b := range bindings() {
		if b.shown == "" {
			continue
		}
		shown := b.shown
		if !m.o.Look.Unicode {
			shown = strings.NewReplacer("↑", "Up", "↓", "Down").Replace(shown)
		}
		lines = append(lines, m.line(span{fmt.Sprintf("  %-11s", shown), term.Bold}, plain(b.what)))
	}
	lines = append(lines, "", m.legend())
	for _, n := range append([]string{torchNote}, m.reading.Notes...) {
		for _, text := range wrap("  ", n, m.width) {
			lines = append(lines, m.line(plain(text)))
		}
	}
	return lines
}

// wrap breaks a sentence into lines.
func wrap(indent, text string, width int) []string {
	var lines []string
	line := indent
	for _, word := range strings.Fields(term.Clean(text)) {
		if line != indent && term.Width(line)+1+term.Width(word) > width {
			lines = append(lines, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// list is the page of all devices and processes. Devices take half of the lines at most.
func (m *model) list(room int) []string {
	lines := m.devices(max(1, room/2))
	lines = append(lines, m.legend(), m.filterLine())
	return append(lines, m.processes(max(0, room-len(lines)))...)
}

// filterLine says what hides processes, where something does.
func (m *model) filterLine() string {
	if m.filter == "" {
		return ""
	}
	return m.line(span{fmt.Sprintf("  %d of %s with %q; Esc shows all", len(m.rows()), units.FormatPlural(len(m.reading.Processes), "process", "processes"), m.filter), term.Yellow})
}

// The parts of a bar.
var (
	partProcesses = part{glyph: "█", ascii: "#", style: term.Green, always: true}
	partOther     = part{glyph: "▓", ascii: "+", style: term.Yellow}
	partDriver    = part{glyph: "░", ascii: "-", style: term.Dim}
)

func (m *model) legend() string {
	spans := []span{plain("  ")}
	for _, e := range []struct {
		part part
		what string
	}{{partProcesses, "processes"}, {partOther, "other"}, {partDriver, "driver"}} {
		glyph := e.part.glyph
		if !m.o.Look.Unicode {
			glyph = e.part.ascii
		}
		spans = append(spans, span{glyph, e.part.style}, plain(" "+e.what+"   "))
	}
	return m.line(append(spans, span{"PyTorch's allocated, reserved: unknown", term.Dim})...)
}

// bar draws a memory with its parts.
func (m *model) bar(width int, memory *gpu.Memory, s shares) []span {
	if memory == nil || width <= 0 {
		return []span{plain(strings.Repeat(" ", max(0, width)))}
	}
	processes, other, driver := partProcesses, partOther, partDriver
	processes.bytes, other.bytes = s.processes, s.other
	if memory.ReservedBytes != nil {
		driver.bytes = *memory.ReservedBytes
	}
	return stacked(m.o.Look, width, memory.TotalBytes, processes, other, driver)
}

// wide is the width of a window from which there is room for long names.
const wide = 120

// Widths on a device's line: of its name, and of the amounts and the load behind the bar.
const (
	nameColumns   = 24
	amountColumns = 23
	busyColumns   = 6
)

// devices are the lines of devices and their instances. Where there are more than room, the
// last line says how many are left out; the one that is chosen is not among them.
func (m *model) devices(room int) []string {
	var lines []string
	chosen := 0
	for _, d := range m.reading.Devices {
		if cur := m.currentDevice(); cur != nil && cur.UUID == d.UUID {
			chosen = len(lines)
		}
		lines = append(lines, m.deviceLines(d)...)
	}
	if len(lines) <= room {
		return lines
	}
	from := min(max(0, chosen-room+2), len(lines)-room+1)
	left := len(lines) - room + 1
	return append(lines[from:from+room-1:from+room-1], m.line(span{fmt.Sprintf("  %d more lines: Tab, then up and down", left), term.Dim}))
}

func (m *model) deviceLines(d gpu.Device) []string {
	marker, style := "  ", term.Plain
	if cur := m.currentDevice(); m.focus == focusDevices && cur.UUID == d.UUID {
		marker, style = "> ", reversed
	}
	name := fmt.Sprintf("%s%d %s", marker, d.Index, strings.TrimPrefix(orUnknown(d.Name), "NVIDIA "))
	busy := ""
	if d.Utilization != nil {
		busy = fmt.Sprintf(" %3d %%", *d.Utilization)
	}
	lines := []string{m.memoryLine(name, kindTag(d), style, d.Memory, sharesOf(&m.reading, &d), busy)}
	for _, in := range d.Instances {
		lines = append(lines, m.memoryLine("    "+instanceName(in), "", term.Plain, in.Memory, instanceShares(&m.reading, &d, in), ""))
	}
	for _, trouble := range troubles(d) {
		lines = append(lines, m.line(span{"    ! " + trouble, term.Red}))
	}
	return lines
}

// memoryLine draws a name, of which tag is not cut, and a memory: as numbers, and as a bar
// where there is room for one.
func (m *model) memoryLine(name, tag string, style term.Style, memory *gpu.Memory, s shares, busy string) string {
	const frame, least = 4, 6 // the brackets with spaces beside them; a bar that shows something
	names := nameColumns
	if m.width >= wide {
		names = 2 * nameColumns
	}
	bar := m.width - names - amountColumns - busyColumns - frame
	if bar < least {
		names = max(least, m.width-amountColumns-busyColumns-1)
	}
	if tag != "" {
		tag = " " + tag
	}
	name = m.o.Look.CutEnd(term.Clean(name), names-term.Width(tag)) + tag
	amounts := unknown
	if memory != nil {
		amounts = pairText(memory.UsedBytes, memory.TotalBytes)
	}
	spans := []span{{name, style}, plain(strings.Repeat(" ", max(0, names-term.Width(name))+1))}
	if bar >= least {
		spans = append(spans, plain("["))
		spans = append(spans, m.bar(bar, memory, s)...)
		spans = append(spans, plain("] "))
	}
	return m.line(append(spans, plain(fmt.Sprintf("%*s%s", amountColumns, amounts, busy)))...)
}

// age is how long ago the first of some samples was.
func age(all []sample) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].at.Sub(all[0].at).Round(time.Second)
}
