package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// binding is a key, or several, with what they do. The bar at the bottom and the page of
// help are made of the bindings, so that they cannot tell of a key that does nothing.
type binding struct {
	keys  []string // as bubbletea names them
	shown string   // in the bar and the help; empty: the binding before it tells of both
	what  string   // in the help
	do    func(*model) tea.Cmd
	short label // in the bar
}

// label is what the bar calls a key in the state that the monitor is in; empty: not there.
type label func(*model) string

func (b binding) label(m *model) string {
	if b.short == nil {
		return ""
	}
	return b.short(m)
}

// on is a label that stands on some pages.
func on(text string, pages ...page) label {
	return func(m *model) string {
		if slices.Contains(pages, m.page) {
			return text
		}
		return ""
	}
}

func bindings() []binding {
	return []binding{
		{keys: []string{"up", "k"}, shown: "↑ ↓ k j", what: "move", do: moving(-1)},
		{keys: []string{"down", "j"}, do: moving(1)},
		{keys: []string{"pgup", "ctrl+b"}, shown: "PgUp PgDn", what: "move by a page", do: func(m *model) tea.Cmd { return moving(-m.pageRows())(m) }},
		{keys: []string{"pgdown", "ctrl+f"}, do: func(m *model) tea.Cmd { return moving(m.pageRows())(m) }},
		{keys: []string{"home", "g"}, shown: "g G", what: "to the first, to the last", do: moving(-1 << 30)},
		{keys: []string{"end", "G"}, do: moving(1 << 30)},
		{keys: []string{"tab"}, shown: "Tab", what: "between processes, leases and GPUs", do: focusing(1), short: (*model).tabLabel},
		{keys: []string{"shift+tab"}, do: focusing(-1)},
		{keys: []string{"enter"}, shown: "Enter", what: "all that is known of one, with a plot, or with why it waits", do: (*model).openDetail, short: (*model).detailLabel},
		{keys: []string{"s"}, shown: "s", what: "sort by the next column; S: by the one before", do: sorting(1), short: on("sort", pageList)},
		{keys: []string{"S"}, do: sorting(-1)},
		{keys: []string{"r"}, shown: "r", what: "reverse the order", do: (*model).turn},
		{keys: []string{"/"}, shown: "/", what: "show only what has a text in its user, GPU, place, name, ...", do: (*model).typeFilter, short: on("filter", pageList)},
		{keys: []string{"x"}, shown: "x", what: "end a process of yours (SIGTERM) or release a lease, after a y", do: (*model).ask, short: (*model).endLabel},
		{keys: []string{"esc", "backspace"}, shown: "Esc", what: "back; on the list: show all", do: (*model).back, short: on("back", pageDetail, pageHelp)},
		{keys: []string{"?"}, shown: "?", what: "this page", do: func(m *model) tea.Cmd { m.page = pageHelp; return nil }, short: on("help", pageList, pageDetail)},
		{keys: []string{"ctrl+z"}, shown: "^Z", what: "stop until fg", do: func(*model) tea.Cmd { return tea.Suspend }},
		{keys: []string{"q", "ctrl+c"}, shown: "q", what: "quit", do: (*model).quit, short: on("quit", pageList, pageDetail, pageHelp)},
	}
}

// press does what a key is for, in the state that the monitor is in.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		return m.quit()
	case m.question != nil:
		return m.answer(key)
	case m.typing:
		m.typeKey(msg)
		return nil
	}
	m.told = ""
	if m.page == pageHelp && key != "q" {
		m.page = pageList
		return nil
	}
	for _, b := range bindings() {
		if slices.Contains(b.keys, key) {
			return b.do(m)
		}
	}
	return nil
}

func (m *model) quit() tea.Cmd {
	m.quitting = true
	return tea.Quit
}

func (m *model) back() tea.Cmd {
	if m.page == pageList {
		m.filter = ""
	}
	m.page = pageList
	return nil
}

// pageRows is how many rows are shown at once, about.
func (m *model) pageRows() int { return max(1, m.height/2) }

// moving chooses another row. Where its detail is open, that changes with it.
func moving(by int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		m.move(by)
		return m.askWhy()
	}
}

func (f focus) String() string { return [...]string{"processes", "leases", "gpus"}[f] }

// nextFocus is the list after the one that has the focus. Leases are one while an agent
// tells of them.
func (m *model) nextFocus(step int) focus {
	next := focus((int(m.focus) + step + int(focuses)) % int(focuses))
	if next == focusLeases && m.now.About == nil {
		next = focus((int(next) + step + int(focuses)) % int(focuses))
	}
	return next
}

func focusing(step int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		m.focus = m.nextFocus(step)
		return m.askWhy()
	}
}

// openDetail shows all of what is chosen, and stays with it wherever the order puts it.
func (m *model) openDetail() tea.Cmd {
	there := m.focus == focusDevices && m.currentDevice() != nil
	if l := m.currentLease(); m.focus == focusLeases && l != nil {
		m.leases.chosen, there = l.ID, true
	}
	if r := m.current(); m.focus == focusProcesses && r != nil {
		m.processes.chosen, there = r.key, true
	}
	if there {
		m.page = pageDetail
	}
	return m.askWhy()
}

// tabLabel names the list that comes next.
func (m *model) tabLabel() string { return on(m.nextFocus(1).String(), pageList)(m) }

// detailLabel tells that the detail of a lease that waits says why.
func (m *model) detailLabel() string {
	if m.page != pageList {
		return ""
	}
	if l := m.currentLease(); m.focus == focusLeases && l != nil && l.State == stateQueued {
		return "why"
	}
	return "detail"
}

func (m *model) endLabel() string {
	switch {
	case m.page == pageHelp || m.focus == focusDevices:
		return ""
	case m.focus == focusLeases:
		return "release"
	}
	return "end"
}

func sorting(step int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		by := &m.processes.by
		if m.focus == focusLeases {
			by = &m.leases.by
			m.leases.sortBy(step)
		} else {
			m.processes.sortBy(step)
		}
		m.told = "sorted by " + *by
		return nil
	}
}

// turn reverses the order of the list that is sorted.
func (m *model) turn() tea.Cmd {
	if m.focus == focusLeases {
		m.leases.reverse = !m.leases.reverse
	} else {
		m.processes.reverse = !m.processes.reverse
	}
	return nil
}

func (m *model) typeFilter() tea.Cmd {
	m.typing, m.page = true, pageList
	if m.focus == focusDevices {
		m.focus = focusProcesses
	}
	return nil
}

// maxFilter is more than any window shows.
const maxFilter = 200

// typeKey edits the filter.
func (m *model) typeKey(msg tea.KeyPressMsg) {
	switch key := msg.String(); {
	case key == "enter":
		m.typing = false
	case key == "esc":
		m.typing, m.filter = false, ""
	case key == "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	case msg.Text != "" && len(m.filter) < maxFilter:
		m.filter += msg.Text
	}
}

// ask asks whether to end the process, or to release the lease, that is chosen.
func (m *model) ask() tea.Cmd {
	switch row, l := m.current(), m.currentLease(); {
	case m.focus == focusProcesses && row != nil:
		m.askEnd(row)
	case m.focus == focusLeases && l != nil:
		m.askRelease(*l)
	default:
		m.told = "choose a process or a lease first"
	}
	return nil
}

func (m *model) askEnd(r *row) {
	p := r.process
	if why := m.mayNotEnd(p); why != "" {
		m.told = why
		return
	}
	m.question = &question{
		text:     fmt.Sprintf("end process %d of %s with SIGTERM? y / n   (%s)", p.PID, owner(p), commandText(p)),
		declined: fmt.Sprintf("process %d goes on", p.PID),
		yes:      func() tea.Msg { return m.end(p) },
	}
}

// mayNotEnd says why a process cannot be ended from here; nothing if it can.
func (m *model) mayNotEnd(p gpu.Process) string {
	switch {
	case !m.now.Local || m.o.End == nil:
		return "these processes are not of this machine, so there is nothing to end"
	case p.UID == nil:
		return fmt.Sprintf("process %d cannot be seen from here, so it cannot be ended from here", p.PID)
	case m.o.UID != 0 && *p.UID != m.o.UID:
		return fmt.Sprintf("process %d belongs to %s: only they and root may end it", p.PID, owner(p))
	}
	return ""
}

func (m *model) askRelease(l client.Lease) {
	switch you := m.now.About.You; {
	case m.o.Agent == nil:
		m.told = "this agent cannot be asked"
		return
	case l.State == stateDraining:
		m.told = fmt.Sprintf("lease %d is released already, and drains until its memory is free", l.ID)
		return
	case !you.Admin && you.User != l.User:
		m.told = fmt.Sprintf("lease %d belongs to %s: only they and admins may release it", l.ID, l.User)
		return
	}
	id := l.ID
	text := fmt.Sprintf("release lease %d of %s, %s? y / n", id, l.User, askedText(l))
	if n := len(l.Processes); n > 0 {
		text += fmt.Sprintf("   (%d of its processes still run)", n)
	}
	m.question = &question{text: text, declined: fmt.Sprintf("lease %d stays", id), yes: func() tea.Msg { return m.release(l) }}
}

// answer takes the answer to a question. All but y is no.
func (m *model) answer(key string) tea.Cmd {
	q := m.question
	m.question = nil
	if strings.ToLower(key) != "y" {
		m.told = q.declined
		return nil
	}
	return q.yes
}
