package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// Options are what the monitor needs of its caller.
type Options struct {
	Read     func(context.Context) (Moment, error)
	Agent    Agent                   // of what is read, for questions about leases; nil: none is asked
	Interval time.Duration           // between the end of a reading and the next
	Look     term.Look               // its width is ignored: the window tells its own
	UID      int                     // of the user; 0 may end every process
	End      func(gpu.Process) error // asks a process of this machine to end
}

// model is the state of the monitor.
type model struct {
	o    Options
	ctx  context.Context
	wait func(time.Duration) tea.Cmd // sends waitedMsg

	width, height int

	now     Moment
	all     []row // of now
	seen    bool  // now is one
	lost    bool  // an agent answered, and does no more
	err     error // of the last attempt; now is then an older one
	history histories

	page      page
	focus     focus
	processes list[row, rowKey]
	leases    list[client.Lease, int64]
	device    string // UUID of the one that is chosen
	filter    string
	typing    bool // the filter is being typed

	shown       []row // of all, what passes the filter, in order
	shownLeases []client.Lease

	why      why
	question *question
	told     string // what came of the last command
	quitting bool
}

// why is what the agent explained last.
type why struct {
	lease   int64
	reasons []client.Reason
	err     error
}

// question is one that is answered by y or n.
type question struct {
	text, declined string
	yes            tea.Cmd
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
	focusLeases
	focusDevices
	focuses // how many there are
)

// The messages.
type (
	readMsg struct {
		moment Moment
		err    error
	}
	waitedMsg struct{}
	toldMsg   string // what came of a command
	whyMsg    why
)

func newModel(ctx context.Context, o Options) *model {
	m := &model{
		o: o, ctx: ctx, width: 80, height: 24, history: histories{},
		wait: func(d time.Duration) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return waitedMsg{} })
		},
	}
	m.processes = list[row, rowKey]{
		columns: m.processColumns, key: func(r row) rowKey { return r.key }, style: processStyle, by: titleMemory,
	}
	m.leases = list[client.Lease, int64]{
		columns: m.leaseColumns, key: func(l client.Lease) int64 { return l.ID }, style: leaseStyle, by: titleState,
	}
	return m
}

// Init asks for the first reading.
func (m *model) Init() tea.Cmd { return m.read }

func (m *model) read() tea.Msg {
	moment, err := m.o.Read(m.ctx)
	return readMsg{moment, err}
}

// Update changes the model by a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.take(msg)
	m.refresh()
	return m, cmd
}

func (m *model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case waitedMsg:
		return m.read
	case readMsg:
		m.takeMoment(msg)
		return tea.Batch(m.wait(m.o.Interval), m.askWhy())
	case toldMsg:
		m.told = string(msg)
	case whyMsg:
		m.why = why(msg)
	case tea.KeyPressMsg:
		return m.press(msg)
	}
	return nil
}

// takeMoment keeps what was read. After a reading that failed the last good one stays, and
// its age is shown.
func (m *model) takeMoment(msg readMsg) {
	if m.err = msg.err; m.err != nil {
		return
	}
	m.lost = msg.moment.About == nil && (m.lost || m.now.About != nil)
	m.now, m.seen = msg.moment, true
	m.all = m.now.rows()
	m.history.add(&m.now, m.all)
	if m.now.About == nil && m.focus == focusLeases {
		m.focus, m.page = focusProcesses, pageList
	}
}

// askWhy asks the agent why the lease waits whose detail is open.
func (m *model) askWhy() tea.Cmd {
	l := m.currentLease()
	if m.page != pageDetail || m.focus != focusLeases || l == nil || l.State != stateQueued || m.o.Agent == nil {
		return nil
	}
	id, ask, ctx := l.ID, m.o.Agent.Explain, m.ctx
	return func() tea.Msg {
		within, cancel := context.WithTimeout(ctx, agentDeadline)
		defer cancel()
		explained, err := ask(within, id)
		if explained.Reasons == nil {
			explained.Reasons = []client.Reason{}
		}
		return whyMsg{id, explained.Reasons, late(ctx, err)}
	}
}

// end asks a process to end.
func (m *model) end(p gpu.Process) tea.Msg {
	if err := m.o.End(p); err != nil {
		return toldMsg(err.Error())
	}
	return toldMsg(fmt.Sprintf("process %d was asked to end (SIGTERM)", p.PID))
}

// releaseDeadline is longer than that of a question: what is answered has been written to
// the disk.
const releaseDeadline = 10 * time.Second

// release gives a lease back: the one that was seen, or none.
func (m *model) release(seen client.Lease) tea.Msg {
	id := seen.ID
	ctx, cancel := context.WithTimeout(m.ctx, releaseDeadline)
	defer cancel()
	l, err := m.o.Agent.GiveBack(ctx, &seen)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return toldMsg(fmt.Sprintf("the agent has not answered: whether lease %d is released, the list will show", id))
	case err != nil:
		return toldMsg(err.Error())
	case l.State == stateDraining:
		return toldMsg(fmt.Sprintf("lease %d is released, and drains until its memory is free", id))
	}
	return toldMsg(fmt.Sprintf("lease %d is released", id))
}

// View draws the model.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = !m.quitting
	v.WindowTitle = "ullage top"
	return v
}
