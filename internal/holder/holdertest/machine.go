// Package holdertest has processes that do not exist, and a clock that is set by hand, for
// tests of what is above package holder.
package holdertest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"

	"github.com/ullage-dev/ullage/internal/holder"
)

// Machine has the processes that a test starts and ends. Its methods may be called from
// several goroutines.
type Machine struct {
	mu      sync.Mutex
	procs   map[holder.ID]*process
	next    holder.ID
	changes holder.Changes
	watched map[holder.ID]bool
	dead    []holder.ID
	news    chan struct{}
	scanErr error
}

type process struct {
	holder.Process
	deaf bool // SIGTERM does not end it
	sent []syscall.Signal
}

// NewMachine returns one without processes.
func NewMachine() *Machine {
	return &Machine{
		procs: map[holder.ID]*process{}, next: holder.ID{PID: 1000, Start: 5000},
		watched: map[holder.ID]bool{}, news: make(chan struct{}, 1),
	}
}

// Begin starts a process of a user; the parent may be the zero ID.
func (m *Machine) Begin(parent holder.ID, uid int, mark holder.Mark) holder.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.next
	m.next.PID++
	m.next.Start += 10
	p := holder.Process{ID: id, Parent: parent, UID: uid, Mark: mark}
	m.procs[id] = &process{Process: p}
	m.changes.Began = append(m.changes.Began, p)
	return id
}

// Exec has a process run another program, with another mark.
func (m *Machine) Exec(id holder.ID, mark holder.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.procs[id]
	p.Mark = mark
	m.changes.Changed = append(m.changes.Changed, p.Process)
}

// Deafen has a process ignore SIGTERM.
func (m *Machine) Deafen(id holder.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.procs[id].deaf = true
}

// Kill ends processes.
func (m *Machine) Kill(ids ...holder.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.kill(id)
	}
}

func (m *Machine) kill(id holder.ID) {
	if m.procs[id] == nil {
		return
	}
	delete(m.procs, id)
	m.changes.Ended = append(m.changes.Ended, id)
	if m.watched[id] {
		delete(m.watched, id)
		m.dead = append(m.dead, id)
		select {
		case m.news <- struct{}{}:
		default:
		}
	}
}

// FailScan has scans fail from now on, or succeed if err is nil.
func (m *Machine) FailScan(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scanErr = err
}

// Forget makes the next scan the first, as for an agent that has started anew.
func (m *Machine) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes, m.watched, m.dead = holder.Changes{}, map[holder.ID]bool{}, nil
	ids := slices.SortedFunc(maps.Keys(m.procs), func(a, b holder.ID) int { return int(a.Start - b.Start) })
	for _, id := range ids {
		p := m.procs[id].Process
		if m.procs[p.Parent] == nil {
			p.Parent = holder.ID{} // whoever had it as a child is gone
		}
		m.changes.Began = append(m.changes.Began, p)
	}
}

// Lives tells whether a process does.
func (m *Machine) Lives(id holder.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.procs[id] != nil
}

// Sent returns the signals that a process that lives was sent.
func (m *Machine) Sent(id holder.ID) []syscall.Signal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.procs[id]; p != nil {
		return slices.Clone(p.sent)
	}
	return nil
}

// Scan is as holder.Machine's.
func (m *Machine) Scan() (holder.Changes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scanErr != nil {
		return holder.Changes{}, m.scanErr
	}
	ch := m.changes
	m.changes = holder.Changes{}
	ended := func(p holder.Process) bool { return m.procs[p.ID] == nil }
	ch.Began, ch.Changed = slices.DeleteFunc(ch.Began, ended), slices.DeleteFunc(ch.Changed, ended)
	return ch, nil
}

// Find is as holder.Find.
func (m *Machine) Find(pid int) (holder.Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.procs {
		if id.PID == pid {
			return p.Process, nil
		}
	}
	return holder.Process{}, fmt.Errorf("process %d: %w", pid, holder.ErrGone)
}

// Watch is as holder.Machine's.
func (m *Machine) Watch(id holder.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.procs[id] == nil {
		return holder.ErrGone
	}
	m.watched[id] = true
	return nil
}

// Unwatch is as holder.Machine's.
func (m *Machine) Unwatch(id holder.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watched, id)
}

// Deaths is as holder.Machine's.
func (m *Machine) Deaths() <-chan struct{} { return m.news }

// Dead is as holder.Machine's.
func (m *Machine) Dead() []holder.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.dead
	m.dead = nil
	return dead
}

// Signal is as holder.Signal. Processes end at SIGKILL, and at SIGTERM unless they are deaf.
func (m *Machine) Signal(id holder.ID, sig syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.procs[id]
	if p == nil {
		return holder.ErrGone
	}
	p.sent = append(p.sent, sig)
	if sig == syscall.SIGKILL || sig == syscall.SIGTERM && !p.deaf {
		m.kill(id)
	}
	return nil
}

// Close is as holder.Machine's.
func (m *Machine) Close() error { return nil }
