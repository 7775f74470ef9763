package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	body := m.body(room)
	body = body[:min(len(body), room)]
	body = append(body, slices.Repeat([]string{""}, room-len(body))...)
	lines := append([]string{m.head()}, body...)
	return strings.Join(append(lines, m.status(), m.keyBar()), "\n")
}

func (m *model) body(room int) []string {
	switch {
	case !m.seen && m.err == nil:
		return []string{m.line(plain("reading the GPUs"))}
	case !m.seen:
		return append([]string{m.line(plain("no reading yet")), ""}, m.errorLines()...)
	case m.page == pageHelp:
		return m.help()
	case m.page == pageList:
		return m.list(room)
	}
	switch device, lease, process := m.currentDevice(), m.currentLease(), m.current(); {
	case m.focus == focusDevices && device != nil:
		return m.deviceDetail(device, room)
	case m.focus == focusLeases && lease != nil:
		return m.leaseDetail(*lease, room)
	case m.focus == focusProcesses && process != nil:
		return m.processDetail(*process, room)
	}
	return m.list(room)
}

// errorLines are all of an error, with what to do about it: the line of status may be too
// short for that.
func (m *model) errorLines() []string {
	var lines []string
	texts := []string{m.err.Error()}
	if hint := interface{ Hint() string }(nil); errors.As(m.err, &hint) && hint.Hint() != "" {
		texts = append(texts, "hint: "+hint.Hint())
	}
	for _, text := range texts {
		for _, part := range wrap("  ", text, m.width) {
			lines = append(lines, m.line(plain(part)))
		}
	}
	return lines
}

func (m *model) line(spans ...span) string { return paint(m.o.Look, m.width, spans...) }

// head is the first line: where the readings come from, and of when they are.
func (m *model) head() string {
	left, right := "ullage top  ", ""
	if m.seen {
		if m.now.About != nil {
			left += "agent, "
		}
		left += sourceText(&m.now.Reading)
		right = m.now.Reading.Time.Format("15:04:05")
	}
	gap := max(1, m.width-term.Width(left)-term.Width(right))
	return m.line(span{left + strings.Repeat(" ", gap) + right, term.Bold})
}

// staleAfter is the age of an agent's reading from which it is told: the agent reads every
// second, and a driver that hangs is what keeps it from that.
const staleAfter = 5 * time.Second

// status is the line that tells: what is asked, what is wrong, what was done, or a note.
func (m *model) status() string {
	old := m.now.Asked.Sub(m.now.Reading.Time)
	switch {
	case m.question != nil:
		return m.line(span{m.question.text, term.Yellow})
	case m.typing:
		return m.line(plain("filter: " + m.filter + "_"))
	case m.err != nil && m.seen:
		return m.line(span{fmt.Sprintf("shown as of %s: %v", m.now.Reading.Time.Format("15:04:05"), m.err), term.Red})
	case m.err != nil: // the page has it
		return ""
	case m.told != "":
		return m.line(plain(m.told))
	case m.now.About != nil && old >= staleAfter:
		return m.line(span{"the agent's last reading is " + units.FormatDuration(old.Round(time.Second)) + " old", term.Red})
	case m.page == pageList:
		return m.noteLine()
	}
	return ""
}

// notes are what the reading cannot tell, and why.
func (m *model) notes() []string {
	notes := m.now.Reading.Notes
	if m.now.Missing != "" {
		notes = append([]string{"leases and PyTorch's part are unknown: " + m.now.Missing}, notes...)
	}
	return notes
}

// noteLine is the first note. That no agent answers is in the legend already, and only worth
// a line of its own where one did before.
func (m *model) noteLine() string {
	notes := m.notes()
	if m.now.Missing != "" && !m.lost {
		notes = notes[1:]
	}
	if len(notes) == 0 {
		return ""
	}
	text := "note: " + notes[0]
	if more := len(notes) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more: ?)", more)
	}
	return m.line(span{text, term.Dim})
}

// keyBar names the keys that matter most on this page.
func (m *model) keyBar() string {
	var spans []span
	for _, b := range bindings() {
		if short := b.label(m); short != "" {
			spans = append(spans, span{m.keyText(b.shown), term.Bold}, plain(" "+short+"  "))
		}
	}
	return m.line(spans...)
}

// keyText is the name of a key as this terminal can show it.
func (m *model) keyText(shown string) string {
	if m.o.Look.Unicode {
		return shown
	}
	return strings.NewReplacer("↑", "Up", "↓", "Down").Replace(shown)
}

// help lists all keys, what the marks of bars mean, and the notes of the reading.
func (m *model) help() []string {
	lines := []string{""}
	for _, b := range bindings() {
		if b.shown == "" {
			continue
		}
		lines = append(lines, m.line(span{fmt.Sprintf("  %-11s", m.keyText(b.shown)), term.Bold}, plain(b.what)))
	}
	lines = append(lines, "", m.legend())
	if m.err != nil {
		lines = append(lines, m.errorLines()...)
	}
	notes := append([]string{torchNote}, m.notes()...)
	if m.now.About != nil {
		notes[0] = foreignNote
	}
	for _, n := range notes {
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

// list is the page of all devices, processes and leases. Devices take half of the lines at
// most.
func (m *model) list(room int) []string {
	lines := m.devices(max(1, room/2))
	lines = append(lines, m.legend())
	above := len(lines)
	room -= above
	if m.now.About == nil {
		return append(lines, m.processLines(room, false)...)
	}
	switch processes, leases := m.split(room); {
	case leases > 0 && processes > 0:
		lines = append(lines, m.processLines(processes-1, true)...)
		lines = append(lines, slices.Repeat([]string{""}, max(0, above+processes-len(lines)))...)
		return append(lines, m.leaseLines(leases, true)...)
	case leases > 0:
		return append(lines, m.leaseLines(leases, false)...)
	}
	return append(lines, m.processLines(room, false)...)
}

// leastBoth is the number of lines from which both lists are shown.
const leastBoth = 16

// split shares lines out to the two lists, each with a line of its name, one of titles, and
// one that sets it off. Where both do not fit, the one without the focus gets a third; in a
// small window, nothing.
func (m *model) split(room int) (processes, leases int) {
	const around = 3
	focused, other := len(m.shown)+around, len(m.shownLeases)+around
	if m.focus == focusLeases {
		focused, other = other, focused
	}
	switch {
	case room < leastBoth:
		focused, other = room, 0
	case focused+other > room:
		other = min(other, room/3)
		focused = room - other
	}
	if m.focus == focusLeases {
		return other, focused
	}
	return focused, other
}

// processLines and leaseLines are the lists under their names: both are shown, or one alone.
func (m *model) processLines(room int, both bool) []string {
	lines := []string{m.listHead(focusProcesses, both)}
	if len(m.shown) == 0 {
		return append(lines, m.line(plain("  no process on a GPU that can be seen from here"+m.thatMatches(len(m.all)))))
	}
	return append(lines, m.processes.lines(m.o.Look, m.width, room-1, m.focus == focusProcesses, m.shown)...)
}

func (m *model) leaseLines(room int, both bool) []string {
	lines := []string{m.listHead(focusLeases, both)}
	if len(m.shownLeases) == 0 {
		return append(lines, m.line(plain("  none"+m.thatMatches(len(m.now.Leases)))))
	}
	return append(lines, m.leases.lines(m.o.Look, m.width, room-1, m.focus == focusLeases, m.shownLeases)...)
}

// thatMatches says why a list is empty that is not.
func (m *model) thatMatches(all int) string {
	if m.filter == "" || all == 0 {
		return ""
	}
	return fmt.Sprintf(" has %q in what is shown of it", m.filter)
}

// listHead names the list below it, and the other one where that is not shown, and says what
// the filter hides.
func (m *model) listHead(below focus, both bool) string {
	processes, leases := span{m.countText("processes", len(m.shown), len(m.all)), term.Bold}, span{m.countText(m.leasesName(), len(m.shownLeases), len(m.now.Leases)), term.Dim}
	if below == focusLeases {
		processes.style, leases.style = term.Dim, term.Bold
	}
	spans := []span{plain("  "), processes, plain("   "), leases}
	switch {
	case m.now.About == nil, both && below == focusProcesses:
		spans = spans[:2]
	case both:
		spans = []span{plain("  "), leases}
	}
	if m.filter != "" {
		spans = append(spans, span{fmt.Sprintf("   with %q; Esc shows all", m.filter), term.Yellow})
	}
	return m.line(spans...)
}

// leasesName is what the list of leases is called: to most users the agent tells only their
// own.
func (m *model) leasesName() string {
	if m.now.About != nil && !m.now.About.You.Admin {
		return "your leases"
	}
	return "leases"
}

// countText counts a list: "processes 2 of 4".
func (m *model) countText(what string, shown, all int) string {
	text := fmt.Sprintf("%s %d", what, all)
	if m.filter != "" {
		text = fmt.Sprintf("%s %d of %d", what, shown, all)
	}
	if what == "processes" {
		return text
	}
	waiting := 0
	for _, l := range m.now.Leases {
		if l.State == stateQueued {
			waiting++
		}
	}
	if waiting > 0 {
		text += fmt.Sprintf(", %d waiting", waiting)
	}
	return text
}
