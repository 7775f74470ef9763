package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// since is when a lease came into the state that it is in.
func since(l client.Lease) time.Time {
	for _, at := range []*time.Time{l.Ended, l.Draining, l.Granted} {
		if at != nil {
			return *at
		}
	}
	return l.Queued
}

func (m *model) sinceText(l client.Lease) string { return m.ago(since(l)) }

// ago is how long ago something was when the reading was made.
func (m *model) ago(at time.Time) string { return spanText(m.now.Reading.Time.Sub(at)) }

// spanText is a span in whole seconds: readings are a second apart.
func spanText(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", max(0, d/time.Second))
	}
	return units.FormatDuration(d.Truncate(time.Second))
}

func (m *model) endsText(l client.Lease) string {
	if l.Expires == nil {
		return "-"
	}
	return m.inText(*l.Expires)
}

func (m *model) inText(at time.Time) string {
	left := at.Sub(m.now.Reading.Time)
	if left < time.Second {
		return "now"
	}
	return spanText(left)
}

// grades say how firmly a lease's limit is kept.
var grades = map[string]string{
	"hw":      "by the hardware: the MIG device is its alone",
	"kernel":  "by the kernel",
	"hook":    "by a library within the program, which can go around it",
	"server":  "by a server that runs the programs of several",
	"self":    "by the program itself: PyTorch's allocator has a limit",
	"watched": "more than it holds is seen and told, and stopped if the agent is set so",
}

// leaseDetail is all that is known of a lease, with a plot of what it uses, or with why it
// waits.
func (m *model) leaseDetail(l client.Lease, room int) []string {
	facts := [][2]string{
		{"lease", fmt.Sprintf("%d, %s", l.ID, stateText(l)) + causeText(l)},
		{"user", partiesText(l)},
		{"memory", m.wishText(l)},
	}
	for _, s := range heldShares(&l) {
		facts = append(facts, [2]string{"GPU " + m.unitText(s.Device), fmt.Sprintf("%s leased, %s used", units.FormatBytes(s.Bytes), bytesText(s.UsedBytes))})
	}
	if l.State != stateQueued {
		facts = append(facts, [2]string{"kept", gradeText(l.Grade)})
	}
	facts = append(facts, [2]string{"times", m.timesText(l)})
	if text := holderText(l); text != "" {
		facts = append(facts, [2]string{"held by", text})
	}
	if l.Name != "" {
		facts = append(facts, [2]string{"name", l.Name})
	}
	if l.State == stateQueued {
		return append(m.detail(facts, leaseKey(l.ID), 0, room), m.reasons(l)...)
	}
	whole := int64(0)
	if n := leased(l); n != nil {
		whole = *n
	}
	return m.detail(facts, leaseKey(l.ID), whole, room)
}

func causeText(l client.Lease) string {
	if l.Cause == "" {
		return ""
	}
	return ": " + l.Cause
}

func gradeText(grade string) string {
	if text, ok := grades[grade]; ok {
		return grade + ": " + text
	}
	return orUnknown(grade)
}

// partiesText is who is accounted for a lease.
func partiesText(l client.Lease) string {
	text := l.User
	for _, f := range [][2]string{{"group ", l.Group}, {"project ", l.Project}, {"queue ", l.Queue}} {
		if f[1] != "" {
			text += ", " + f[0] + f[1]
		}
	}
	if l.Priority != 0 {
		text += fmt.Sprintf(", priority %d", l.Priority)
	}
	return text
}

// wishText is what was asked for.
func (m *model) wishText(l client.Lease) string {
	text := "all"
	if l.MemoryBytes > 0 {
		text = units.FormatBytes(l.MemoryBytes)
	}
	text += " on " + units.FormatPlural(max(1, l.DeviceCount), "device", "devices")
	if l.Device != "" {
		text += ", on GPU " + m.unitText(l.Device)
	}
	if l.Model != "" {
		text += ", a model with " + strconv.Quote(l.Model) + " in its name"
	}
	if l.Exclusive {
		text += ", with no other lease there"
	}
	return text
}

func (m *model) timesText(l client.Lease) string {
	text := "asked for " + m.ago(l.Queued) + " ago"
	if l.Granted != nil {
		text += ", granted " + m.ago(*l.Granted) + " ago"
	}
	if l.Draining != nil {
		text += ", draining for " + m.ago(*l.Draining)
	}
	if l.Expires != nil {
		text += ", ends in " + m.inText(*l.Expires)
	}
	return text
}

func holderText(l client.Lease) string {
	var parts []string
	switch {
	case l.Detached:
		parts = append(parts, "no process: until it is released, or its time is over")
	case l.HolderPID != 0:
		parts = append(parts, fmt.Sprintf("process %d", l.HolderPID))
	}
	if len(l.Processes) > 0 {
		pids := make([]string, len(l.Processes))
		for i, pid := range l.Processes {
			pids[i] = strconv.Itoa(pid)
		}
		parts = append(parts, "members "+strings.Join(pids, " "))
	}
	return strings.Join(parts, ", ")
}

// reasons say why a request waits, as the agent explained when it was last asked.
func (m *model) reasons(l client.Lease) []string {
	lines := []string{"", m.line(span{"  why it waits", term.Bold})}
	switch {
	case m.why.lease != l.ID || m.why.err == nil && m.why.reasons == nil:
		return append(lines, m.line(plain("  asking the agent")))
	case m.why.err != nil:
		return append(lines, m.line(span{"  " + m.why.err.Error(), term.Red}))
	case len(m.why.reasons) == 0:
		return append(lines, m.line(plain("  nothing keeps it: it starts at once")))
	}
	for i, r := range m.why.reasons {
		text := r.Text
		if r.Until != nil {
			text += ", for " + m.inText(*r.Until)
		}
		for k, part := range wrap("", text, max(1, m.width-5)) {
			number := "     "
			if k == 0 {
				number = fmt.Sprintf("  %d. ", i+1)
			}
			lines = append(lines, m.line(plain(number+part)))
		}
	}
	return lines
}
