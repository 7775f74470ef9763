package tui

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

var update = flag.Bool("update", false, "rewrite golden files")

// handClock is a clock that tests move by hand. Its timers never go off: fakes that answer
// need none.
type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) Timer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// driver drives a monitor by messages: what bubbletea does, without a terminal.
type driver struct {
	t     testing.TB
	m     *model
	clock *handClock
	agent *fakeAgent    // nil: there is none
	err   error         // of the probe's readings
	ended []gpu.Process // that were asked to end
	waits []time.Duration
}

var plainLook = term.Look{Terminal: true, Unicode: true}

// drive starts a monitor of a fake without an agent, as user 1001 who is alice there.
func drive(t testing.TB, fake string, look term.Look, width, height int) *driver {
	t.Helper()
	return driveAgent(t, fake, "", look, width, height)
}

// driveAgent is as drive, with an agent that tells what dress makes of the fake's readings,
// where that is not empty. To its probe this machine is one that exists.
func driveAgent(t testing.TB, fake, dress string, look term.Look, width, height int) *driver {
	t.Helper()
	d := &driver{t: t, clock: &handClock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}}
	probe, err := gpu.Open(t.Context(), "fake:"+fake, gpu.Machine{Clock: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	source := &Source{Open: func(context.Context) (gpu.Probe, error) { return &switched{d, probe}, nil }, Local: true, Clock: d.clock}
	o := Options{Read: source.Read, Interval: time.Second, Look: look, UID: 1001, End: func(p gpu.Process) error {
		d.ended = append(d.ended, p)
		return nil
	}}
	if dress != "" {
		d.agent = &fakeAgent{probe: probe, name: "nvml", dress: dresses[dress]}
		source.Agent, o.Agent = d.agent, d.agent
	}
	d.m = newModel(t.Context(), o)
	d.m.wait = func(span time.Duration) tea.Cmd {
		d.waits = append(d.waits, span)
		return nil
	}
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	return d
}

// switched is a probe that fails while the driver says so.
type switched struct {
	d *driver
	gpu.Probe
}

func (s *switched) Read(ctx context.Context) (gpu.Reading, error) {
	if s.d.err != nil {
		return gpu.Reading{}, s.d.err
	}
	return s.Probe.Read(ctx)
}

// change alters what the monitor knows, as the next reading would.
func (d *driver) change(alter func(*Moment)) {
	d.t.Helper()
	moment := d.m.now
	alter(&moment)
	d.send(readMsg{moment: moment})
}

// send hands a message to the monitor, and then what its command answers, to the end.
func (d *driver) send(msg tea.Msg) {
	d.t.Helper()
	for msgs := []tea.Msg{msg}; len(msgs) > 0; msgs = msgs[1:] {
		switch msg := msgs[0].(type) {
		case nil:
		case tea.QuitMsg:
			return
		case tea.BatchMsg:
			for _, cmd := range msg {
				msgs = append(msgs, cmd())
			}
		default:
			if _, cmd := d.m.Update(msg); cmd != nil {
				msgs = append(msgs, cmd())
			}
		}
	}
	d.checkSize()
}

// checkSize: no frame is larger than the window.
func (d *driver) checkSize() {
	d.t.Helper()
	lines := strings.Split(d.m.frame(), "\n")
	if len(lines) > max(d.m.height, 1+footRows) {
		d.t.Errorf("%d lines in a window of %d", len(lines), d.m.height)
	}
	if d.m.o.Look.Color {
		return
	}
	for _, line := range lines {
		if term.Width(line) > d.m.width {
			d.t.Errorf("a line of %d columns in a window of %d: %q", term.Width(line), d.m.width, line)
		}
	}
}

// wait lets n readings pass, a second apart.
func (d *driver) pass(n int) {
	d.t.Helper()
	for range n {
		d.send(d.m.read())
		d.clock.now = d.clock.now.Add(time.Second)
	}
}

var specialKeys = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab,
	"backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
}

// keys presses keys, by name; a word that is no name is typed.
func (d *driver) keys(names ...string) {
	d.t.Helper()
	for _, name := range names {
		if code, ok := specialKeys[name]; ok {
			d.send(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range name {
			d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// golden compares the frame with a file.
func (d *driver) golden(name string) {
	d.t.Helper()
	got := d.m.frame() + "\n"
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// has holds texts against the frame.
func (d *driver) has(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.m.frame(), text) {
			d.t.Errorf("the frame has no %q:\n%s", text, d.m.frame())
		}
	}
}

// hasNot holds texts against the frame that must not be there.
func (d *driver) hasNot(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if strings.Contains(d.m.frame(), text) {
			d.t.Errorf("the frame has %q:\n%s", text, d.m.frame())
		}
	}
}

// released are the leases that were given back.
func (d *driver) released() []int64 {
	if d.agent == nil {
		return nil
	}
	return d.agent.released
}
