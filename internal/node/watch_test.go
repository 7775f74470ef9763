package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/settings"
	"github.com/ullage-dev/ullage/internal/units"
)

const (
	gib  = units.GiB
	mib  = units.MiB
	gpuA = "GPU-a"
	gpuB = "GPU-b"
)

// card is a probe's device that a test writes to: its programs, by process.
type card struct {
	device  gpu.Device
	use     map[holder.ID]int64 // -1: not told
	hidden  int64               // used by no process
	vanish  map[holder.ID]bool  // has ended: shown with its PID and nothing else
	inGPU   map[holder.ID]int   // GPU instance of a process
	problem string
}

// bench is a probe that shows what a test puts on its cards.
type bench struct {
	mu    sync.Mutex
	clock *holdertest.Clock
	cards []*card
	links []gpu.Link
	err   error
	reads int
}

func (b *bench) Close() error { return nil }

func (b *bench) Read(context.Context) (gpu.Reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	if b.err != nil {
		return gpu.Reading{}, b.err
	}
	r := gpu.Reading{Time: b.clock.Now(), Source: "test", Links: b.links}
	for _, c := range b.cards {
		d := c.device
		d.Problem = c.problem
		if d.Memory != nil {
			m := *d.Memory
			m.UsedBytes = c.hidden
			for _, bytes := range c.use {
				m.UsedBytes += max(0, bytes)
			}
			m.FreeBytes = m.TotalBytes - m.UsedBytes
			d.Memory = &m
		}
		for id, bytes := range c.use {
			p := gpu.Process{PID: id.PID, StartTicks: id.Start, DeviceUUID: d.UUID, UsedBytes: &bytes}
			if bytes < 0 {
				p.UsedBytes = nil
			}
			if c.vanish[id] {
				p.StartTicks = 0
			}
			if gi, ok := c.inGPU[id]; ok {
				p.GPUInstance = &gi
			}
			r.Processes = append(r.Processes, p)
		}
		r.Devices = append(r.Devices, d)
	}
	return r, nil
}

func newCard(uuid string, totalBytes int64) *card {
	return &card{
		device: gpu.Device{UUID: uuid, Name: "NVIDIA H200", Kind: gpu.KindGPU, Memory: &gpu.Memory{TotalBytes: totalBytes}},
		use:    map[holder.ID]int64{}, vanish: map[holder.ID]bool{}, inGPU: map[holder.ID]int{},
	}
}

// numbered names users by their number: 1001 is u1001.
type numbered struct{}

func (numbered) User(uid int) (string, error)  { return "u" + strconv.Itoa(uid), nil }
func (numbered) Group(gid int) (string, error) { return "g" + strconv.Itoa(gid), nil }

// rig is an agent whose rounds a test runs by hand.
type rig struct {
	*loop
	*holdertest.Machine
	t     testing.TB
	clock *holdertest.Clock
	bench *bench
	path  string
	logs  *logs
	boot  string
}

// logs keeps messages.
type logs struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func (*logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Level >= slog.LevelInfo {
		l.text = append(l.text, r.Message)
	}
	return nil
}

func (l *logs) count(message string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.text {
		if m == message {
			n++
		}
	}
	return n
}

func newRig(t testing.TB, change func(*settings.Settings)) *rig {
	t.Helper()
	clock := holdertest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := &rig{
		Machine: holdertest.NewMachine(), t: t, clock: clock, boot: "boot-1", path: filepath.Join(t.TempDir(), "ledger.db"),
		bench: &bench{clock: clock, cards: []*card{newCard(gpuA, 80*gib), newCard(gpuB, 80*gib)}},
	}
	r.start(change)
	t.Cleanup(func() { r.Ledger.Close() })
	return r
}

// start makes an agent over what is there and lets it begin.
func (r *rig) start(change func(*settings.Settings)) {
	r.t.Helper()
	s := settings.Default()
	s.Metrics = ""
	if change != nil {
		change(&s)
	}
	l, err := ledger.Open(r.t.Context(), r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.logs = &logs{Handler: slog.DiscardHandler}
	a, err := New(Options{
		Boot: r.boot, Ledger: l, Probe: r.bench, Clock: r.clock, Processes: r.Machine, Names: numbered{}, Settings: s,
		PeerOf:   func(*net.UnixConn) (Peer, error) { return Peer{}, errors.ErrUnsupported },
		Counters: metrics.NewCounters(r.clock.Now, 0), Log: slog.New(r.logs),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.loop = newLoop(a)
	if err := a.begin(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// restart is a new agent after the death of the last one.
func (r *rig) restart(change func(*settings.Settings)) {
	r.t.Helper()
	if err := r.Ledger.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.Forget()
	r.start(change)
}

// round lets a second pass and the loop look once.
func (r *rig) round() {
	r.clock.Advance(time.Second)
	r.look(r.t.Context())
}

func (r *rig) rounds(n int) {
	for range n {
		r.round()
	}
}

// ask submits a request of user 1001. One that is detached has an end, far away.
func (r *rig) ask(q lease.Request) lease.ID {
	r.t.Helper()
	q.User = "u1001"
	if q.Devices == 0 {
		q.Devices = 1
	}
	if q.Detached && q.TTLMS == 0 {
		q.TTLMS = lease.LongestTTL.Milliseconds()
	}
	var id lease.ID
	_, err := r.decide(r.t.Context(), func(b *lease.Book, atMS int64) (events []lease.Event, err error) {
		id, events, err = b.Submit(atMS, q)
		return events, err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// held asks for memory of a card that a process holds.
func (r *rig) held(by holder.ID, uuid string, bytes int64) lease.ID {
	r.t.Helper()
	return r.ask(lease.Request{MemoryBytes: bytes, Device: uuid, HolderPID: by.PID, HolderStart: by.Start})
}

func (r *rig) lease(id lease.ID) (l lease.Lease) {
	r.Ledger.View(func(b *lease.Book) { l, _ = b.Lease(id) })
	return l
}

func (r *rig) wantState(id lease.ID, want lease.State, cause lease.Cause) {
	r.t.Helper()
	if l := r.lease(id); l.State != want || l.Cause != cause {
		r.t.Errorf("lease %d is %s by %q, want %s by %q", id, l.State, l.Cause, want, cause)
	}
}

func (r *rig) device(uuid string) lease.DeviceStatus {
	var all []lease.DeviceStatus
	r.Ledger.View(func(b *lease.Book) { all = b.Devices() })
	i := slices.IndexFunc(all, func(d lease.DeviceStatus) bool { return d.UUID == uuid })
	if i < 0 {
		r.t.Fatalf("there is no device %s", uuid)
	}
	return all[i]
}

func (r *rig) wantForeign(uuid string, want int64) {
	r.t.Helper()
	if got := r.device(uuid).ForeignBytes; got != want {
		r.t.Errorf("%s: %d MiB are foreign, want %d", uuid, got/mib, want/mib)
	}
}

// user starts a process of user 1001.
func (r *rig) user() holder.ID { return r.Begin(holder.ID{}, 1001, holder.Mark{}) }

func (r *rig) put(id holder.ID, uuid string, bytes int64) { r.card(uuid).use[id] = bytes }

func (r *rig) card(uuid string) *card {
	i := slices.IndexFunc(r.bench.cards, func(c *card) bool { return c.device.UUID == uuid })
	return r.bench.cards[i]
}

// off takes a process off all cards.
func (r *rig) off(id holder.ID) {
	for _, c := range r.bench.cards {
		delete(c.use, id)
	}
}
