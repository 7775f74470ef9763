package tui

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Widths on a device's line: of its name, and of the amounts and the load behind the bar.
const (
	nameColumns   = 24
	amountColumns = 23
	busyColumns   = 6
)

// devices are the lines of devices and their instances, with what is leased of them where
// that fits into room too. Where there are more than room, the last line says how many are
// left out; the one that is chosen is not among them.
func (m *model) devices(room int) []string {
	lines, chosen := m.deviceList(true)
	if len(lines) > room {
		lines, chosen = m.deviceList(false)
	}
	if len(lines) <= room {
		return lines
	}
	from := min(max(0, chosen-room+2), len(lines)-room+1)
	left := len(lines) - room + 1
	return append(lines[from:from+room-1:from+room-1], m.line(span{fmt.Sprintf("  %d more lines: Tab, then up and down", left), term.Dim}))
}

func (m *model) deviceList(leases bool) (lines []string, chosen int) {
	current := m.currentDevice()
	if current == nil {
		return []string{m.line(plain("  no GPU here"))}, 0
	}
	for i := range m.now.Reading.Devices {
		d := &m.now.Reading.Devices[i]
		if d == current {
			chosen = len(lines)
		}
		lines = append(lines, m.deviceLines(d, d == current && m.focus == focusDevices, leases)...)
	}
	return lines, chosen
}

func (m *model) deviceLines(d *gpu.Device, chosen, leases bool) []string {
	mark, style := "  ", term.Plain
	if chosen {
		mark, style = "> ", reversed
	}
	name := fmt.Sprintf("%s%d %s", mark, d.Index, strings.TrimPrefix(orUnknown(d.Name), "NVIDIA "))
	busy := ""
	if d.Utilization != nil {
		busy = fmt.Sprintf(" %3d %%", *d.Utilization)
	}
	lines := []string{m.memoryLine(name, m.tags(d.UUID, kindTag(*d)), style, d.Memory, m.now.fillOf(m.all, d, nil), busy)}
	if leases {
		lines = append(lines, m.leasedLine(d.UUID)...)
	}
	for k := range d.Instances {
		in := &d.Instances[k]
		lines = append(lines, m.memoryLine("    "+instanceName(*in), m.tags(in.UUID, ""), term.Plain, in.Memory, m.now.fillOf(m.all, d, in), ""))
		if leases {
			lines = append(lines, m.leasedLine(in.UUID)...)
		}
	}
	for _, trouble := range m.troubles(d) {
		lines = append(lines, m.line(span{"    ! " + trouble, term.Red}))
	}
	return lines
}

// troubles are what is wrong with a device, by the driver and by the agent.
func (m *model) troubles(d *gpu.Device) []string {
	all := troubles(*d)
	for _, uuid := range unitsOf(d, nil) {
		if l := m.now.leased(uuid); l != nil && l.Overfull {
			all = append(all, "more of it is leased than there is now: "+units.FormatBytes(l.GrantedBytes)+" of "+units.FormatBytes(l.CapacityBytes))
		}
	}
	return all
}

// tags are what is special about a device, behind its name.
func (m *model) tags(uuid, kind string) string {
	tags := kind
	if l := m.now.leased(uuid); l != nil {
		for _, f := range []struct {
			on  bool
			tag string
		}{{l.Cordoned, "cordoned"}, {l.Absent, "absent"}} {
			if f.on {
				tags = strings.TrimSpace(tags + " " + f.tag)
			}
		}
	}
	return tags
}

// leasedLine is what leases hold of a device, below its bar. A GPU that is split has none:
// its MIG devices are leased.
func (m *model) leasedLine(uuid string) []string {
	l := m.now.leased(uuid)
	if l == nil || l.Split {
		return nil
	}
	text := "not looked at since the agent began"
	if !l.Unseen {
		text = fmt.Sprintf("leases use %21s   foreign %10s   left %10s", m.usedOf(l), units.FormatBytes(l.ForeignBytes), units.FormatBytes(l.AvailableBytes))
	}
	return []string{m.line(span{"      " + text, term.Dim})}
}

// usedOf is what leases use of what they hold; what they hold alone, where not all is told.
func (m *model) usedOf(l *client.Device) string {
	used := m.now.leasedUse(l)
	switch {
	case l.GrantedBytes == 0:
		return units.FormatBytes(0)
	case used != nil:
		return pairText(*used, l.GrantedBytes)
	}
	return "some of " + units.FormatBytes(l.GrantedBytes)
}

// memoryLine draws a name, of which tag is not cut, and a memory: as numbers, and as a bar
// where there is room for one.
func (m *model) memoryLine(name, tag string, style term.Style, memory *gpu.Memory, f fill, busy string) string {
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
		spans = append(spans, m.bar(bar, memory, f)...)
		spans = append(spans, plain("] "))
	}
	return m.line(append(spans, plain(fmt.Sprintf("%*s%s", amountColumns, amounts, busy)))...)
}

// bar draws a memory with its parts.
func (m *model) bar(width int, memory *gpu.Memory, f fill) []span {
	if memory == nil || width <= 0 {
		return []span{plain(strings.Repeat(" ", max(0, width)))}
	}
	driver := partDriver
	if memory.ReservedBytes != nil {
		driver.bytes = *memory.ReservedBytes
	}
	if m.now.About == nil {
		processes, other := partProcesses, partOther
		processes.bytes, other.bytes = f.processes, f.other
		return stacked(m.o.Look, width, memory.TotalBytes, processes, other, driver)
	}
	allocated, reserved, rest, idle := partAllocated, partReserved, partRest, partIdle
	allocated.bytes, reserved.bytes, idle.bytes = f.allocated, f.cached, f.idle
	rest.bytes = memory.UsedBytes - f.allocated - f.cached
	return stacked(m.o.Look, width, memory.TotalBytes, allocated, reserved, rest, idle, driver)
}

// legend says what the parts of a bar are, and of what nobody tells.
func (m *model) legend() string {
	type entry struct {
		part part
		what string
	}
	entries := []entry{{partProcesses, "processes"}, {partOther, "other"}, {partDriver, "driver"}}
	tail := span{"PyTorch's allocated, reserved: unknown", term.Dim}
	switch {
	case m.now.About != nil:
		entries = []entry{{partAllocated, "allocated"}, {partReserved, "reserved"}, {partRest, "other use"}, {partIdle, "leased, unused"}, {partDriver, "driver"}}
		tail = span{}
	case m.lost:
		tail = span{"the agent has gone: the driver alone", term.Yellow}
	case m.now.Missing != "":
		tail = span{"no agent: PyTorch, leases: unknown", term.Dim}
	}
	spans := []span{plain("  ")}
	for i, e := range entries {
		if i > 0 {
			spans = append(spans, plain("   "))
		}
		spans = append(spans, span{e.part.glyphFor(m.o.Look), e.part.style}, plain(" "+e.what))
	}
	if tail.text != "" {
		tail.text = "   " + tail.text
	}
	return m.line(append(spans, tail)...)
}

// deviceDetail is all that is known of a device, with a plot of its used memory.
func (m *model) deviceDetail(d *gpu.Device, room int) []string {
	facts := [][2]string{
		{"GPU", fmt.Sprintf("%d, %s, %s", d.Index, deviceName(*d), d.UUID)},
		{"address", orUnknown(d.PCIAddress)},
	}
	if d.Memory != nil {
		facts = append(facts, [2]string{"memory", memoryText(*d.Memory) + m.history.growthText(deviceKey(d.UUID))}, [2]string{"of it used by", m.fillText(m.now.fillOf(m.all, d, nil))})
	}
	facts = append(facts, m.leasedFacts(d)...)
	if links := linksText(&m.now.Reading, d); links != "" {
		facts = append(facts, [2]string{"links", links})
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
	for _, trouble := range m.troubles(d) {
		facts = append(facts, [2]string{"trouble", trouble})
	}
	return m.detail(facts, deviceKey(d.UUID), top(d), room)
}

// leasedFacts are how leases see a device, or its MIG devices.
func (m *model) leasedFacts(d *gpu.Device) [][2]string {
	var facts [][2]string
	for i, uuid := range unitsOf(d, nil) {
		l := m.now.leased(uuid)
		if l == nil || l.Split {
			continue
		}
		name := "leases"
		if i > 0 {
			name = "of " + instanceName(d.Instances[i-1])
		}
		text := fmt.Sprintf("use %s, foreign %s, left %s", m.usedOf(l), units.FormatBytes(l.ForeignBytes), units.FormatBytes(l.AvailableBytes))
		for _, r := range l.Reserves {
			text += fmt.Sprintf("; %s kept for queue %s", units.FormatBytes(r.Bytes), r.Queue)
		}
		if l.Cordoned {
			text += "; cordoned: it takes no new lease"
		}
		facts = append(facts, [2]string{name, text})
	}
	return facts
}

func memoryText(memory gpu.Memory) string {
	text := fmt.Sprintf("%s total, %s used, %s free", units.FormatBytes(memory.TotalBytes), units.FormatBytes(memory.UsedBytes), units.FormatBytes(memory.FreeBytes))
	if memory.ReservedBytes != nil {
		text += fmt.Sprintf(", %s kept by the driver", units.FormatBytes(*memory.ReservedBytes))
	}
	return text
}

func (m *model) fillText(f fill) string {
	text := fmt.Sprintf("processes %s, other %s", units.FormatBytes(f.processes), units.FormatBytes(f.other))
	if !f.told {
		text = fmt.Sprintf("processes at least %s, other at most %s: not all tell", units.FormatBytes(f.processes), units.FormatBytes(f.other))
	}
	if f.allocated+f.cached > 0 {
		text += fmt.Sprintf("; PyTorch that reports: %s allocated, %s reserved", units.FormatBytes(f.allocated), units.FormatBytes(f.allocated+f.cached))
	}
	return text
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
