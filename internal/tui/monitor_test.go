package tui

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// TestSizes: no window is too small, and none too large.
func TestSizes(t *testing.T) {
	for _, machine := range [][2]string{{"h200x2", ""}, {"h100x8", ""}, {"h100-mig", ""}, {"orin", ""}, {"h200x2", "h200x2"}, {"h200x2", "names"}, {"h100x8", "h100x8"}, {"orin", "bare"}} {
		d := driveAgent(t, machine[0], machine[1], plainLook, 80, 24)
		for _, keys := range [][]string{nil, {"enter"}, {"esc", "tab", "enter"}, {"esc", "tab", "enter"}, {"esc", "?"}} {
			d.pass(2)
			d.keys(keys...)
			for _, size := range [][2]int{{0, 0}, {1, 1}, {10, 3}, {20, 60}, {79, 5}, {80, 24}, {300, 100}} {
				d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			}
			d.keys("esc")
		}
	}
}

// TestReadings: a reading is asked for an interval after the one before, and when one fails
// the last stays, with what is wrong.
func TestReadings(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.has("reading the GPUs")
	if msg := d.m.Init()(); reflect.TypeOf(msg) != reflect.TypeFor[readMsg]() {
		t.Errorf("it begins with %T", msg)
	}
	d.pass(1)
	d.has("12:00:00", "train.py")
	d.clock.now = d.clock.now.Add(9 * time.Second)
	d.err = &gpu.StuckError{What: "NVML", For: 5 * time.Second}
	d.send(waitedMsg{})
	d.has("shown as of 12:00:00: NVML has not answered for 5.00 s", "train.py")
	d.err = nil
	d.send(waitedMsg{})
	d.has("12:00:10")
	if strings.Contains(d.m.frame(), "has not answered") {
		t.Error("the fault stays after it is gone")
	}
	if diff := cmp.Diff([]time.Duration{time.Second, time.Second, time.Second}, d.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// TestNeverRead: a driver that hangs from the start is told, too.
func TestNeverRead(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.err = errors.New("the driver is gone")
	d.pass(1)
	d.keys("down", "enter", "x", "tab", "enter", "esc", "s")
	d.has("no reading yet", "the driver is gone")
}

// TestTroubles: what is wrong with a device stands below it, on all pages.
func TestTroubles(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.pass(1)
	errors := int64(2)
	d.change(func(mo *Moment) {
		mo.Reading.Devices[1].Problem = "NVML has not answered for 2.00 s"
		mo.Reading.Devices[1].Memory = nil
		mo.Reading.Devices[0].ECC.Uncorrected = &errors
	})
	d.has("! 2 uncorrected errors of its memory", "! NVML has not answered for 2.00 s")
	d.keys("tab", "down", "enter")
	d.has("has not answered")
	var b strings.Builder
	if err := Print(&b, plainLook, d.m.now); err != nil || !strings.Contains(b.String(), "\nGPU 0: 2 uncorrected errors") || !strings.Contains(b.String(), "\nGPU 1: NVML has not") {
		t.Errorf("%v\n%s", err, &b)
	}
}

// pids are the processes on the list, from the top.
func (d *driver) pids() []int {
	var pids []int
	for _, r := range d.m.shown {
		pids = append(pids, r.process.PID)
	}
	return pids
}

func (d *driver) wantPIDs(what string, want ...int) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.pids()); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestOrder: every column sorts, in both directions, and the one that does is marked.
func TestOrder(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.pass(5) // then alice has grown by 19 GiB, dave a little
	d.has("MEMORY▼")
	d.wantPIDs("by memory", 52011, 41207, 41533, 52877)
	d.keys("r")
	d.has("MEMORY▲")
	d.wantPIDs("the other way", 52877, 41533, 41207, 52011)
	for _, tt := range []struct {
		title string
		want  []int
	}{
		{"TREND▼", []int{41207, 52877, 41533, 52011}},
		{"WHERE▲", []int{41533, 52011, 52877, 41207}},
		{"COMMAND▲", []int{41533, 52011, 52877, 41207}},
		{"PID▲", []int{41207, 41533, 52011, 52877}},
		{"USER▲", []int{41207, 41533, 52011, 52877}},
		{"GPU▲", []int{41207, 41533, 52011, 52877}},
		{"MEMORY▼", []int{52011, 41207, 41533, 52877}},
	} {
		d.keys("s")
		d.has(tt.title)
		d.wantPIDs(tt.title, tt.want...)
	}
	d.keys("S", "S", "r")
	d.has("USER▼")
	d.wantPIDs("by user, from the end", 52877, 52011, 41533, 41207)
	d.send(tea.WindowSizeMsg{Width: 50, Height: 24}) // where there is no room for a place
	d.keys("S", "S", "S")
	d.has("WHERE▲", "docker")
}

func TestFilter(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.pass(1)
	for filter, want := range map[string][]int{
		"VLLM": {52011}, "alice": {41207}, "docker": {41533}, "gpu1": {52011, 52877}, "slurm 88": {41207}, "4153": {41533}, "nobody": nil,
	} {
		d.keys("/", filter)
		d.has("filter: " + filter + "_")
		d.keys("enter")
		d.wantPIDs(filter, want...)
		d.has(fmt.Sprintf("processes %d of 4   with %q; Esc shows all", len(want), filter))
		d.keys("esc")
	}
	d.keys("/", "q!x", "backspace", "backspace", "backspace", "backspace", "bob", "enter") // none of them a command
	d.wantPIDs("bob", 41533)
	d.keys("/", "zzz", "esc")
	if len(d.pids()) != 4 {
		t.Errorf("Esc leaves %v", d.pids())
	}
}

// TestChosen: the process that is chosen stays so, wherever the order puts it; when it is
// gone, the one in its place is, and its detail closes.
func TestChosen(t *testing.T) {
	d := drive(t, "h100x8", plainLook, 80, 24)
	d.pass(1)
	d.keys("S", "down", "down") // by GPU: the third
	chosen := d.m.current().process.PID
	d.keys("r")
	if got := d.m.current().process.PID; got != chosen || d.m.processes.index(d.m.shown) != 197 {
		t.Errorf("chosen %d, then %d", chosen, got)
	}
	d.has("> ", "60002")
	d.keys("end")
	if got := d.m.current().process.PID; got != 60000 {
		t.Errorf("the last is %d", got)
	}
	d.keys("home", "pgdown", "pgup", "up")
	if got := d.m.current().process.PID; got != 60724 {
		t.Errorf("the first is %d", got)
	}
	d.change(func(mo *Moment) { mo.Reading.Processes = mo.Reading.Processes[:5] })
	if got := d.m.current().process.PID; got != 60004 {
		t.Errorf("after it has ended, %d", got)
	}
	d.keys("down", "down", "enter")
	d.has("process         60002")
	d.change(func(mo *Moment) { mo.Reading.Processes = slices.Delete(slices.Clone(mo.Reading.Processes), 2, 3) })
	d.has(">  60001", "processes 4", "the process has ended")
}

// TestEnd: a process is ended only if it is the user's own and the answer is y.
func TestEnd(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.pass(1)
	d.keys("x") // carol's is the first
	d.has("process 52011 belongs to carol: only they and root may end it")
	d.keys("/", "alice", "enter", "x")
	d.has("end process 41207 of alice with SIGTERM? y / n   (python train.py")
	d.keys("n")
	d.has("process 41207 goes on")
	d.keys("x", "enter")
	d.has("process 41207 goes on")
	if len(d.ended) != 0 {
		t.Fatalf("ended without a yes: %v", d.ended)
	}
	d.keys("x", "y")
	d.has("process 41207 was asked to end (SIGTERM)")
	if len(d.ended) != 1 || d.ended[0].PID != 41207 {
		t.Errorf("ended %v", d.ended)
	}
	d.m.o.End = func(gpu.Process) error { return errors.New("process 41207 has ended already") }
	d.keys("x", "y")
	d.has("process 41207 has ended already")
	d.m.o.UID = 0
	d.keys("esc", "x")
	d.has("end process 52011 of carol")
	d.keys("n")
	d.m.o.End = nil
	d.keys("x")
	d.has("not of this machine")
	d.keys("tab", "x")
	d.has("choose a process or a lease first")
}

// TestEndUnseen: a process that cannot be seen is nobody's to end.
func TestEndUnseen(t *testing.T) {
	d := drive(t, "h200x2", plainLook, 80, 24)
	d.m.o.UID = 0
	d.pass(1)
	d.change(func(mo *Moment) { mo.Reading.Processes[0].UID = nil })
	d.keys("/", "train", "enter", "x")
	d.has("process 41207 cannot be seen from here")
	if d.m.question != nil {
		t.Error("it asks all the same")
	}
}

func TestQuit(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		d := drive(t, "h200x2", plainLook, 80, 24)
		d.pass(1)
		if key.Mod != 0 {
			d.keys("/", "x") // even while typing
		}
		_, cmd := d.m.Update(key)
		if cmd == nil || cmd() != tea.Quit() || d.m.View().AltScreen {
			t.Errorf("%v does not quit", key)
		}
	}
}

// TestAnyKeys: whatever is pressed, in whatever window, while processes come and go, the
// frame fits, and nothing is ended that the user may not end.
func TestAnyKeys(t *testing.T) {
	names := []string{"up", "down", "enter", "esc", "tab", "backspace", "pgdown", "pgup", "home", "end", "s", "r", "/", "x", "y", "n", "?", "g", "G", "a", "1"}
	rapid.Check(t, func(rt *rapid.T) {
		machine := rapid.SampledFrom([]string{"h200x2", "h100-mig", "orin", "h100x8"}).Draw(rt, "machine")
		dress := rapid.SampledFrom([]string{"", "bare", machine}).Draw(rt, "dress")
		if dresses[dress] == nil {
			dress = ""
		}
		d := driveAgent(t, machine, dress, plainLook, 80, 24)
		if d.agent != nil {
			d.agent.user = rapid.Bool().Draw(rt, "user")
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "kind") {
			case 6: // the agent goes, or comes back
				if d.agent != nil && d.agent.err == nil {
					d.agent.err = errGone
				} else if d.agent != nil {
					d.agent.err = nil
				}
				d.pass(1)
			case 0:
				d.pass(1)
			case 1:
				d.send(tea.WindowSizeMsg{Width: rapid.IntRange(0, 200).Draw(rt, "width"), Height: rapid.IntRange(0, 60).Draw(rt, "height")})
			case 2:
				n := len(d.m.now.Reading.Processes)
				left := rapid.IntRange(0, n).Draw(rt, "left")
				d.change(func(mo *Moment) {
					mo.Reading.Processes = mo.Reading.Processes[:left]
					mo.Leases = mo.Leases[:min(left, len(mo.Leases))]
				})
			default:
				d.keys(rapid.SampledFrom(names).Draw(rt, "key"))
			}
		}
		for _, p := range d.ended {
			if *p.UID != 1001 {
				rt.Errorf("ended %d of user %d", p.PID, *p.UID)
			}
		}
		for _, id := range d.released() {
			if dress == "h200x2" && d.agent.user && id != 12 && id != 16 {
				rt.Errorf("released lease %d, which is not alice's", id)
			}
		}
	})
}

// TestHarmless: what a program calls itself moves no cursor.
func TestHarmless(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 200, 50)
	d.pass(1)
	d.change(func(mo *Moment) {
		for i := range mo.Leases {
			l := &mo.Leases[i]
			l.User, l.Name, l.Queue, l.Project, l.Model, l.Grade, l.Cause = "\x1b[4m", "\x1b[5m", "\x1b[6m", "\x1b[7m", "\x1b[8m", "\x1b[9m", "\x1b[10m"
		}
		mo.Jobs[0].Name, mo.Leases[0].Shares[0].Device = "\x1b[11m", "\x1b[12m"
		for i := range mo.Reading.Processes {
			mo.Reading.Processes[i].Command = "a\x1b[2Jb\nc"
			mo.Reading.Processes[i].User = "\x1b]0;x\a"
		}
		mo.Reading.Devices[0].Name, mo.Reading.Devices[0].Problem = "\x1b[1m", "\x1b[2m"
		mo.Reading.Notes = []string{"\x1b[3m"}
	})
	var b strings.Builder
	if err := Print(&b, plainLook, d.m.now); err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]string{nil, {"enter"}, {"esc", "tab", "enter"}, {"down"}, {"end"}, {"esc", "x"}, {"n", "tab", "enter"}, {"esc", "?"}, {"esc", "tab", "/", "a", "enter", "x"}} {
		d.keys(keys...)
		b.WriteString(d.m.frame())
	}
	if strings.ContainsAny(b.String(), "\x1b\a") {
		t.Errorf("%q", b.String())
	}
}

// TestBindings: each key is bound once, and says what it does.
func TestBindings(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bindings() {
		if (b.what == "") != (b.shown == "") || b.short != nil && b.shown == "" || b.do == nil {
			t.Errorf("%+v", b)
		}
		for _, key := range b.keys {
			if seen[key] {
				t.Errorf("%s is bound twice", key)
			}
			seen[key] = true
		}
	}
}
