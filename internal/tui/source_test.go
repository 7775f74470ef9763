package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// TestAgentGoes: when the agent stops answering, the monitor goes on with the driver and
// says so, and takes the agent up again by itself.
func TestAgentGoes(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 120, 40)
	d.pass(3)
	d.keys("tab", "enter")
	d.has("agent, fake", "lease           12, granted")
	d.agent.err = errGone
	d.pass(1)
	d.has("the agent has gone: the driver alone", "note: leases and PyTorch's part are unknown: the agent at /run", "train.py", "12:00:03")
	d.hasNot("agent, fake", "granted")
	d.keys("tab") // there are no leases to go to
	d.has("> 0 H200")
	d.keys("tab")
	d.agent.err = nil
	d.pass(1)
	d.has("agent, fake", "granted")
	d.hasNot("has gone", "unknown:")
	if n := len(d.m.history[d.m.all[0].key]); n != 5 {
		t.Errorf("%d samples of a process: the trend begins anew with the agent", n)
	}
}

// TestNamed: processes that the agent leaves without a name get one from elsewhere.
func TestNamed(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 120, 40)
	source := Source{Agent: d.agent, Clock: d.clock, Name: func(r *gpu.Reading) { r.Processes[0].Command = "python named.py" }}
	moment, err := source.Read(t.Context())
	if err != nil || moment.Reading.Processes[0].Command != "python named.py" {
		t.Errorf("%v: %q", err, moment.Reading.Processes[0].Command)
	}
}

// TestNoAgent: where none ever answered, one quiet remark says so.
func TestNoAgent(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 80, 24)
	d.agent.err = errGone
	d.pass(2)
	d.has("no agent: PyTorch, leases: unknown", "train.py")
	d.hasNot("connection refused")
	d.keys("?")
	d.has("connection refused")
}

// TestNobody: with neither agent nor driver, both are told of, and the last of both stays.
func TestNobody(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 200, 24)
	d.pass(1)
	d.agent.err, d.err = errGone, errors.New("no GPU was found")
	d.pass(1)
	d.has("shown as of 12:00:00: the agent at /run/ullage/agent.sock cannot be reached: connection refused; no GPU was found", "granted")
}

// TestStale: an agent whose driver hangs still answers, with what it read last.
func TestStale(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 80, 24)
	d.agent.lag = 4 * time.Second
	d.pass(1)
	d.hasNot("old")
	d.agent.lag = 75 * time.Second
	d.pass(1)
	d.has("the agent's last reading is 1 min 15 s old")
}

// silent is an agent that takes a request and never answers.
type silent struct{ fakeAgent }

func (*silent) State(ctx context.Context) (client.State, error) {
	<-ctx.Done()
	return client.State{}, ctx.Err()
}

// TestSilent: an agent that does not answer in time is left, unless the user left first.
func TestSilent(t *testing.T) {
	s := Source{Agent: &silent{}, Named: true, Clock: &handClock{}, Open: func(context.Context) (gpu.Probe, error) { return nil, gpu.ErrNoGPU }}
	if err := s.Ready(t.Context()); !errors.Is(err, gpu.ErrNoGPU) || !strings.Contains(err.Error(), "the agent has not answered for 1.00 s") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.askAgent(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
}

// TestReady: what does not answer is told of, the agent only where it was asked for.
func TestReady(t *testing.T) {
	opened := 0
	open := func(context.Context) (gpu.Probe, error) {
		opened++
		return nil, gpu.ErrNoGPU
	}
	gone := &fakeAgent{err: errGone}
	for _, tt := range []struct {
		source Source
		want   string
	}{
		{Source{Open: open}, "no GPU was found"},
		{Source{Open: open, Agent: gone}, "no GPU was found"},
		{Source{Open: open, Agent: gone, Named: true}, errGone.Error() + "; no GPU was found"},
	} {
		if err := tt.source.Ready(t.Context()); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	d := driveAgent(t, "h200x2", "bare", plainLook, 80, 24)
	here := Source{Open: open, Agent: d.agent, Clock: d.clock}
	opened = 0
	if err := here.Ready(t.Context()); err != nil || opened != 0 {
		t.Errorf("%v; the probe was opened %d times beside an agent", err, opened)
	}
	if err := here.Close(); err != nil {
		t.Error(err)
	}
}

// TestRelease: a lease is released only after a y, by whom the agent allows it.
func TestRelease(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 120, 40)
	d.agent.user = true
	d.pass(1)
	d.keys("tab", "x")
	d.has("release lease 12 of alice, 90.00 GiB? y / n   (1 of its processes still run)")
	d.keys("n")
	d.has("lease 12 stays")
	d.keys("down", "x")
	d.has("lease 13 belongs to carol: only they and admins may release it")
	if len(d.agent.released) != 0 {
		t.Fatalf("released without a yes: %v", d.agent.released)
	}
	d.keys("up", "x", "y")
	d.has("lease 12 is released, and drains until its memory is free")
	d.keys("down", "down", "down", "x", "y")
	d.has("lease 16 is released")
	d.agent.user, d.agent.err = false, errGone
	d.pass(1)
	d.agent.err = nil
	d.pass(1)
	d.keys("tab", "up", "x")
	d.has("lease 15 is released already, and drains")
	d.keys("up", "x")
	d.agent.err = errors.New("lease 13 belongs to carol")
	d.keys("y")
	d.has("lease 13 belongs to carol")
	d.agent.err = context.DeadlineExceeded
	d.keys("x", "y")
	d.has("the agent has not answered: whether lease 13 is released, the list will show")
	if diff := cmp.Diff([]int64{12, 16}, d.agent.released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// TestWhy: the detail of a lease that waits asks the agent why, at once and at each reading,
// and no other does.
func TestWhy(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 80, 24)
	d.pass(1)
	d.keys("tab", "enter", "esc", "end", "enter")
	d.has("why it waits", "1. 32.00 GiB more", "2. lease 13 has GPU 1 for itself, for 1 h 30 min")
	d.pass(1)
	d.keys("up")
	if diff := cmp.Diff([]int64{17, 17, 16}, d.agent.explained); diff != "" {
		t.Errorf("explained (-want +got):\n%s", diff)
	}
	d.change(func(mo *Moment) { mo.Leases = mo.Leases[:3] })
	d.has("the lease is over", "leases 3")
	d.pass(1)
	d.keys("end", "enter")
	d.agent.err = errGone
	d.send(d.m.askWhy()())
	d.has("connection refused")
}

// TestJobs: what a process told stands beside what the driver tells of it, and a job that the
// driver does not show has a row too.
func TestJobs(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 200, 50)
	d.pass(1)
	d.change(func(mo *Moment) {
		used := int64(3 << 30)
		mo.Jobs = append(mo.Jobs, client.Job{PID: 99, User: "frank", Name: "unseen", Devices: []client.JobDevice{
			{Device: mo.Reading.Devices[1].UUID, UsedBytes: &used, Stray: true},
			{Device: "GPU-gone"},
		}})
	})
	d.keys("/", "unseen", "enter")
	d.has("processes 2 of 6", "frank", "3.00 GiB", "- stray")
	d.keys("enter")
	d.has("stray           a context and nothing else here", "job             unseen", "unknown: the process does not report; 'ullage run' makes it")
	d.keys("esc", "esc")
	for range 4 {
		d.keys("s") // to ALLOCATED, RESERVED, SPLIT, OUTSIDE
	}
	d.has("OUTSIDE▼")
	if first := d.m.shown[0].process.PID; first != 41207 {
		t.Errorf("the first with something outside of PyTorch is %d", first)
	}
}

// TestLeaseOrder: leases sort by each of their columns.
func TestLeaseOrder(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 200, 50)
	d.pass(3)
	d.keys("tab")
	for _, tt := range []struct {
		title string
		want  []int64
	}{
		{"USER▲", []int64{12, 16, 13, 15, 17}},
		{"GPU▲", []int64{12, 13, 15, 17, 16}},
		{"LEASED▼", []int64{17, 13, 12, 16, 15}},
		{"USED▼", []int64{13, 12, 15, 16, 17}},
		{"TREND▼", []int64{12, 15, 13, 16, 17}},
		{"GRADE▲", []int64{16, 17, 12, 13, 15}},
		{"SINCE▲", []int64{13, 12, 16, 17, 15}},
		{"ENDS▲", []int64{12, 13, 15, 16, 17}},
		{"QUEUE▲", []int64{12, 15, 16, 17, 13}},
		{"PRIORITY▼", []int64{13, 12, 15, 16, 17}},
		{"PROJECT▲", []int64{13, 15, 16, 17, 12}},
		{"NAME▲", []int64{16, 15, 12, 17, 13}},
		{"LEASE▲", []int64{12, 13, 15, 16, 17}},
		{"STATE▲", []int64{12, 13, 15, 16, 17}},
	} {
		d.keys("s")
		d.has(tt.title)
		var got []int64
		for _, l := range d.m.shownLeases {
			got = append(got, l.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.title, diff)
		}
	}
	d.keys("r", "/", "llama", "enter")
	d.has("leases 1 of 5, 2 waiting   with \"llama\"")
}

// TestLeasedParts: what leases hold and do not use is drawn apart, and never more of it than
// is free; what a user is not shown is not guessed.
func TestLeasedParts(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 80, 24)
	d.pass(1)
	device := &d.m.now.Reading.Devices[0]
	f := d.m.now.fillOf(d.m.all, device, nil)
	want := fill{processes: 62*gib + 11*gib + 300<<20, other: 520 << 20, told: true, allocated: 48 * gib, cached: 14*gib - 612<<20, idle: 28 * gib}
	if diff := cmp.Diff(want, f, cmp.AllowUnexported(fill{})); diff != "" {
		t.Errorf("fill (-want +got):\n%s", diff)
	}
	d.change(func(mo *Moment) {
		mo.Leases = append([]client.Lease{}, mo.Leases[1:]...)
		mo.Reading.Devices[0].Memory.FreeBytes = gib
		mo.Leases[0].Shares = []client.Share{{Device: device.UUID, Bytes: 90 * gib, UsedBytes: pointer(int64(0))}, {Device: device.UUID, Bytes: gib}}
	})
	if f := d.m.now.fillOf(d.m.all, device, nil); f.idle != gib {
		t.Errorf("%d bytes leased and idle, of which 1 GiB is free", f.idle)
	}
	d.has("some of 90.00 GiB", "some of 104.00 GiB")
}

// TestOrphanedReading: a lease on a device that is not in the reading is shown by its UUID.
func TestOrphanedReading(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 200, 50)
	d.pass(1)
	d.change(func(mo *Moment) {
		mo.Devices[1].Overfull, mo.Devices[1].Absent, mo.Devices[0].Unseen = true, true, true
		mo.Leases[0].Shares[0].Device = "GPU-gone"
	})
	d.has("GPU-gone", "H200 cordoned absent", "! more of it is leased than there is now: 104.00 GiB of 139.00 GiB", "not looked at since the agent began")
}

// TestHidden: what the agent keeps from a user is unknown, and not nothing.
func TestHidden(t *testing.T) {
	d := driveAgent(t, "h200x2", "h200x2", plainLook, 120, 40)
	d.agent.user = true
	d.agent.dress = func(s *client.State) {
		dressH200x2(s)
		s.Leases, s.Jobs = s.Leases[:1], s.Jobs[:1] // alice's
	}
	d.pass(1)
	d.has("your leases 1", "some of 104.00 GiB")
	d.keys("/", "carol", "enter")
	d.has("96.00 GiB    unknown   unknown                 ▄  unknown")
	d.keys("enter")
	d.has("of it PyTorch's told to their user and to admins")
	d.keys("esc", "esc", "/", "alice", "enter")
	d.has("48.00 GiB")
	d.change(func(mo *Moment) { mo.Leases = nil })
	d.keys("esc")
	var b strings.Builder
	if err := Print(&b, plainLook, d.m.now); err != nil || !strings.Contains(b.String(), "your leases: none\n") {
		t.Errorf("%v\n%s", err, &b)
	}
}
