package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// binding is a key, or several, with what they do. The bar at the bottom and the page of
// help are made of the bindings, so that they cannot tell of a key that does nothing.
type binding struct {
	keys  []string // as bubbletea names them
	shown string   // in the bar and the help; empty: the binding before it tells of both
	short string   // in the bar; empty: not there
	what  string   // in the help
	do    func(*model) tea.Cmd
}

func bindings() []binding {
	return []binding{
		{[]string{"up", "k"}, "↑ ↓ k j", "", "move", func(m *model) tea.Cmd { return m.move(-1) }},
		{[]string{"down", "j"}, "", "", "", func(m *model) tea.Cmd { return m.move(1) }},
		{[]string{"pgup", "ctrl+b"}, "PgUp PgDn", "", "move by a page", func(m *model) tea.Cmd { return m.move(-m.pageRows()) }},
		{[]string{"pgdown", "ctrl+f"}, "", "", "", func(m *model) tea.Cmd { return m.move(m.pageRows()) }},
		{[]string{"home", "g"}, "g G", "", "to the first, to the last", func(m *model) tea.Cmd { return m.move(-1 << 30) }},
		{[]string{"end", "G"}, "", "", "", func(m *model) tea.Cmd { return m.move(1 << 30) }},
		{[]string{"tab"}, "Tab", "gpus", "between processes and GPUs", (*model).switchFocus},
		{[]string{"enter"}, "Enter", "detail", "all that is known of one, with a plot", (*model).openDetail},
		{[]string{"s"}, "s", "sort", "sort by memory, GPU, user, PID, growth", (*model).nextOrder},
		{[]string{"r"}, "r", "", "reverse the order", func(m *model) tea.Cmd { m.reverse = !m.reverse; return nil }},
		{[]string{"/"}, "/", "filter", "show processes with a text in their user, GPU, place or command", (*model).typeFilter},
		{[]string{"x"}, "x", "end", "end a process of yours (SIGTERM), once you say y", (*model).askEnd},
		{[]string{"esc", "backspace"}, "Esc", "", "back; on the list: show all processes", (*model).back},
		{[]string{"?"}, "?", "help", "this page", func(m *model) tea.Cmd { m.page = pageHelp; return nil }},
		{[]string{"ctrl+z"}, "^Z", "", "stop until fg", func(*model) tea.Cmd { return tea.Suspend }},
		{[]string{"q", "ctrl+c"}, "q", "quit", "quit", (*model).quit},
	}
}

// press does what a key is for, in the state that the monitor is in.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		return m.quit()
	case m.ending != nil:
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

func (m *model) switchFocus() tea.Cmd {
	m.focus = 1 - m.focus
	return nil
}

func (m *model) openDetail() tea.Cmd {
	if m.focus == focusDevices && m.currentDevice() != nil || m.focus == focusProcesses && m.current() != nil {
		m.page = pageDetail
	}
	return nil
}

func (m *model) nextOrder() tea.Cmd {
	m.order = (m.order + 1) % orders
	m.reverse = false
	m.told = "sorted by " + m.order.String()
	return nil
}

func (m *model) typeFilter() tea.Cmd {
	m.typing, m.page, m.focus = true, pageList, focusProcesses
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

// askEnd asks whether to end the process that is chosen, if the user may.
func (m *model) askEnd() tea.Cmd {
	row := m.current()
	if m.focus != focusProcesses || row == nil {
		m.told = "choose a process first"
		return nil
	}
	if why := m.mayNot(row.process); why != "" {
		m.told = why
		return nil
	}
	p := row.process
	m.ending = &p
	return nil
}

// mayNot says why a process cannot be ended from here; nothing if it can.
func (m *model) mayNot(p gpu.Process) string {
	switch {
	case m.o.End == nil:
		return "these processes are not of this machine, so there is nothing to end"
	case p.UID == nil:
		return fmt.Sprintf("process %d cannot be seen from here, so it cannot be ended from here", p.PID)
	case m.o.UID != 0 && *p.UID != m.o.UID:
		return fmt.Sprintf("process %d belongs to %s: only they and root may end it", p.PID, owner(p))
	}
	return ""
}

// answer takes the answer to whether to end a process. All but y is no.
func (m *model) answer(key string) tea.Cmd {
	p := *m.ending
	m.ending = nil
	if strings.ToLower(key) != "y" {
		m.told = fmt.Sprintf("process %d goes on", p.PID)
		return nil
	}
	end := m.o.End
	return func() tea.Msg { return endedMsg{p, end(p)} }
}
