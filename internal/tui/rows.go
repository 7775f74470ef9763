package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// row is a process on a device.
type row struct {
	key     rowKey
	process gpu.Process
	device  *gpu.Device
}

// rowKey tells a process on one device, or one instance of it, from all others.
type rowKey struct {
	pid    int
	device string
	gi, ci int // -1: the whole device
}

func keyOf(p gpu.Process) rowKey {
	k := rowKey{p.PID, p.DeviceUUID, -1, -1}
	if p.GPUInstance != nil && p.ComputeInstance != nil {
		k.gi, k.ci = *p.GPUInstance, *p.ComputeInstance
	}
	return k
}

// order is what processes are sorted by.
type order uint8

const (
	byMemory order = iota
	byGPU
	byUser
	byPID
	byGrowth
	orders // how many there are
)

func (o order) String() string {
	return [...]string{"memory", "GPU", "user", "PID", "growth"}[o]
}

// rows are the processes that pass the filter, in order. What is alike stays by device and PID.
func (m *model) rows() []row {
	var rows []row
	for _, p := range m.reading.Processes {
		r := row{keyOf(p), p, m.reading.Device(p.DeviceUUID)}
		if r.matches(m.filter) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, m.compare)
	if m.reverse {
		slices.Reverse(rows)
	}
	return rows
}

func (r row) matches(filter string) bool {
	p := r.process
	text := strings.Join([]string{strconv.Itoa(p.PID), owner(p), "gpu" + gpuText(r.device, p), p.Place.String(), commandText(p)}, " ")
	return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
}

// compare sorts the largest first, names by the alphabet.
func (m *model) compare(a, b row) int {
	switch m.order {
	case byMemory:
		return cmp.Compare(usedOr(b.process, -1), usedOr(a.process, -1))
	case byUser:
		return cmp.Compare(owner(a.process), owner(b.process))
	case byPID:
		return cmp.Compare(a.process.PID, b.process.PID)
	case byGrowth:
		return cmp.Compare(m.history.growth(b.key), m.history.growth(a.key))
	}
	return 0 // by GPU: as they are
}

func usedOr(p gpu.Process, unknown int64) int64 {
	if p.UsedBytes == nil {
		return unknown
	}
	return *p.UsedBytes
}

// index finds the process that is chosen, or the one that takes its place if it has gone.
func (m *model) index(rows []row) int {
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.process }))
}

// current is the process that is chosen; nil where there is none.
func (m *model) current() *row {
	rows := m.rows()
	if len(rows) == 0 {
		return nil
	}
	return &rows[m.index(rows)]
}

func (m *model) currentDevice() *gpu.Device {
	if d := m.reading.Device(m.device); d != nil {
		return d
	}
	if len(m.reading.Devices) == 0 {
		return nil
	}
	return &m.reading.Devices[0]
}

// move chooses another process or device, by rows.
func (m *model) move(by int) tea.Cmd {
	if m.focus == focusDevices {
		if d := m.currentDevice(); d != nil {
			i := slices.IndexFunc(m.reading.Devices, func(o gpu.Device) bool { return o.UUID == d.UUID })
			m.device = m.reading.Devices[clamp(i+by, len(m.reading.Devices))].UUID
		}
		return nil
	}
	rows := m.rows()
	if len(rows) > 0 {
		m.process = rows[clamp(m.index(rows)+by, len(rows))].key
	}
	return nil
}

func clamp(i, n int) int { return min(max(i, 0), n-1) }
