package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// Options are what the monitor needs of its caller.
type Options struct {
	Read     func(context.Context) (gpu.Reading, error)
	Interval time.Duration           // between the end of a reading and the next
	Look     term.Look               // its width is ignored: the window tells its own
	UID      int                     // of the user; 0 may end every process
	End      func(gpu.Process) error // asks a process to end; nil where the readings are not of this machine
}

// model is the state of the monitor.
type model struct {
	o    Options
	ctx  context.Context
	wait func(time.Duration) tea.Cmd // sends waitedMsg

	width, height int

	reading gpu.Reading
	seen    bool  // reading is one
	err     error // of the last attempt; the reading is then an older one
	history histories

	page     page
	focus    focus
	order    order
	reverse  bool
	filter   string
	typing   bool // the filter is being typed
	process  rowKey
	device   string // UUID
	offset   int    // of the first process that is shown
	ending   *gpu.Process
	told     string // what came of the last command
	quitting bool
}

// page is what is shown below the head.
type page uint8

const (
	pageList page = iota
	pageDetail
	pageHelp
)

// focus is which list the keys move in.
type focus uint8

const (
	focusProcesses focus = iota
	focusDevices
)

// The messages.
type (
	readMsg struct {
		reading gpu.Reading
		err     error
	}
	waitedMsg struct{}
	endedMsg  struct {
		process gpu.Process
		err     error
	}
)

func newModel(ctx context.Context, o Options) *model {
	return &model{
		o: o, ctx: ctx, width: 80, height: 24, history: histories{},
		wait: func(d time.Duration) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return waitedMsg{} })
		},
	}
}

// Init asks for the first reading.
func (m *model) Init() tea.Cmd { return m.read }

func (m *model) read() tea.Msg {
	r, err := m.o.Read(m.ctx)
	return readMsg{r, err}
}

// Update changes the model by a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case waitedMsg:
		return m, m.read
	case readMsg:
		m.take(msg)
		return m, m.wait(m.o.Interval)
	case endedMsg:
		m.told = fmt.Sprintf("process %d was asked to end (SIGTERM)", msg.process.PID)
		if msg.err != nil {
			m.told = msg.err.Error()
		}
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	return m, nil
}

// take keeps a reading. After one that failed the last good one stays, and its age is shown.
func (m *model) take(msg readMsg) {
	if m.err = msg.err; m.err != nil {
		return
	}
	m.reading, m.seen = msg.reading, true
	m.history.add(&m.reading)
}

// View draws the model.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = !m.quitting
	v.WindowTitle = "ullage top"
	return v
}
