// Crashes of a whole agent. The test starts itself as the agent, with real processes that
// hold its leases, and kills it at random and at named points while clients ask through the
// socket. The file is long because what the clients do, and what has to hold after each
// crash, belong together.

package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/settings"
	"github.com/ullage-dev/ullage/internal/units"
)

var crashes = flag.Int("crashes", 200, "crashes of TestS2Crashes")

// The environment of the agent that is to crash: its folder, and the point to die at with how
// often that is passed before, as in "read 3".
const (
	envDir   = "ULLAGE_TEST_AGENT"
	envPoint = "ULLAGE_TEST_POINT"
	// envInterval is the time between its readings.
	envInterval = "ULLAGE_TEST_INTERVAL"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		if err := crashing(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// crashing is the life of that agent.
func crashing(dir string) error {
	ctx := context.Background()
	die := dieAt(os.Getenv(envPoint))
	l, err := ledger.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		return err
	}
	machine := gpu.ThisMachine()
	probe, err := gpu.Open(ctx, "fake:h200x2-idle@"+filepath.Join(dir, "load"), machine)
	if err != nil {
		return err
	}
	processes, err := holder.Open()
	if err != nil {
		return err
	}
	boot, err := holder.Boot()
	if err != nil {
		return err
	}
	s := settings.Default()
	s.Policy.KeepEach = 0 // all of them are looked for in the end
	if s.Interval, err = time.ParseDuration(cmp.Or(os.Getenv(envInterval), "50ms")); err != nil {
		return err
	}
	s.RestartGrace, s.Watch.Grace = 200*time.Millisecond, 200*time.Millisecond
	s.Metrics, s.Socket = "", filepath.Join(dir, "agent.sock")
	a, err := New(Options{
		Boot: boot, UID: os.Getuid(), Settings: s, Ledger: l, Probe: &mortalProbe{probe, die}, Clock: holder.NewClock(machine.Clock),
		Processes: &mortalProcesses{processes, die}, PeerOf: PeerOf, Names: SystemNames(machine.Clock), Counters: metrics.NewCounters(time.Now, 0),
		Log: slog.New(&mortalLog{slog.NewJSONHandler(os.Stderr, nil), die}),
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// dieAt returns a function that kills the process where it passes "point n" for the n-th
// time.
func dieAt(point string) func(string) {
	name, count, _ := strings.Cut(point, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return func(string) {}
	}
	var left atomic.Int64
	left.Store(int64(n))
	return func(at string) {
		if at == name && left.Add(-1) == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// points are where an agent dies: around its looks at the machine, when it ends a process,
// and when something is on disk that nobody has been told of.
var points = []string{"ask", "read", "scan", "scanned", "signal", "signalled", "submit", "grant", "drain", "end"}

type mortalProbe struct {
	gpu.Probe
	die func(string)
}

func (p *mortalProbe) Read(ctx context.Context) (gpu.Reading, error) {
	p.die("ask")
	defer p.die("read")
	return p.Probe.Read(ctx)
}

type mortalProcesses struct {
	*holder.Machine
	die func(string)
}

func (p *mortalProcesses) Scan() (holder.Changes, error) {
	p.die("scan")
	defer p.die("scanned")
	return p.Machine.Scan()
}

func (p *mortalProcesses) Signal(id holder.ID, sig syscall.Signal) error {
	p.die("signal")
	defer p.die("signalled")
	return p.Machine.Signal(id, sig)
}

// mortalLog dies at the line of an event: it is stored then, and not yet answered.
type mortalLog struct {
	slog.Handler
	die func(string)
}

func (l *mortalLog) Handle(ctx context.Context, r slog.Record) error {
	l.die(r.Message)
	return l.Handler.Handle(ctx, r)
}

// load is the memory of the machine's GPUs: what processes use, as the driver shows it. Two
// leases of the same memory would show here.
type load struct {
	path     string
	capacity int64 // of a GPU
	mu       sync.Mutex
	bytes    map[int]int64
	on       map[int]string
	faults   []string
}

func newLoad(path string, capacity int64) *load {
	return &load{path: path, capacity: capacity, bytes: map[int]int64{}, on: map[int]string{}}
}

// put has a process use memory; with 0 bytes the driver has taken it back.
func (l *load) put(pid int, device string, amount int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if amount == 0 {
		delete(l.bytes, pid)
	} else {
		l.bytes[pid], l.on[pid] = amount, device
	}
	var text bytes.Buffer
	sums := map[string]int64{}
	for pid, amount := range l.bytes {
		fmt.Fprintf(&text, "%d %s %dB\n", pid, l.on[pid], amount)
		sums[l.on[pid]] += amount
	}
	for device, sum := range sums {
		if sum > l.capacity {
			l.faults = append(l.faults, fmt.Sprintf("%s: %d MiB of %d are used under leases", device, sum/units.MiB, l.capacity/units.MiB))
		}
	}
	err := os.WriteFile(l.path+".new", text.Bytes(), 0o600)
	if err == nil {
		err = os.Rename(l.path+".new", l.path)
	}
	if err != nil {
		l.faults = append(l.faults, err.Error())
	}
}

// crowd is the clients and what they were told.
type crowd struct {
	t      *testing.T
	client *client.Client
	load   *load
	ctx    context.Context // of the time in which they ask for more
	seed   uint64

	mu     sync.Mutex
	leases map[int64]*told
	keys   map[string]int64
	faults []string
}

// told is what a client knows of its lease: the furthest state that it was told, and what is
// to become of it.
type told struct {
	state string
	stays func() // ends its processes, which go on until then; nil: they have ended
}

func rank(state string) int {
	return strings.Index("queued granted draining ended", state)
}

func (c *crowd) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// wrong is what has been found so far.
func (c *crowd) wrong() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	return slices.Concat(c.faults, c.load.faults)
}

// hear takes down what the agent says of a lease. It never goes back.
func (c *crowd) hear(key string, l client.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := c.keys[key]; ok && id != l.ID {
		c.faults = append(c.faults, fmt.Sprintf("key %s is lease %d and lease %d", key, id, l.ID))
	}
	c.keys[key] = l.ID
	known := c.leases[l.ID]
	if known == nil {
		known = &told{state: l.State}
		c.leases[l.ID] = known
	}
	if rank(l.State) < rank(known.state) {
		c.faults = append(c.faults, fmt.Sprintf("lease %d was %s and is %s", l.ID, known.state, l.State))
	}
	known.state = l.State
}

// insist asks until an agent has answered, through all crashes.
func (c *crowd) insist(ask func(context.Context) (client.Lease, error)) (client.Lease, error) {
	for {
		l, err := ask(context.Background())
		var answer *client.AnswerError
		switch {
		case err == nil:
			return l, nil
		case errors.As(err, &answer) && answer.Status != 429 && answer.Status != 503 && answer.Status != 500:
			return l, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// sleeper is a process that does nothing.
type sleeper struct {
	*os.Process
	ended chan struct{} // closed when it has
}

// sleep starts one.
func (c *crowd) sleep(env ...string) *sleeper {
	cmd := exec.Command("sleep", "3600")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		c.fault("%v", err)
		return nil
	}
	s := &sleeper{cmd.Process, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	return s
}

// end kills it, and returns when it is gone.
func (s *sleeper) end() {
	_ = s.Kill()
	<-s.ended
}

func (s *sleeper) lives() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// live is one client: it asks for leases and has processes use them until the time is over.
func (c *crowd) live(n int) {
	random := rand.New(rand.NewPCG(c.seed, uint64(n)))
	pause := func(mostMS int) { <-time.After(time.Duration(random.IntN(mostMS)) * time.Millisecond) }
	for k := 0; c.ctx.Err() == nil; k++ {
		c.job(fmt.Sprintf("%d-%d", n, k), random, pause)
		pause(1000)
	}
}

// job is one lease from its request to what the client knows of its end.
func (c *crowd) job(key string, random *rand.Rand, pause func(int)) {
	holds := c.sleep()
	if holds == nil {
		return
	}
	r := client.Request{MemoryBytes: (4 + random.Int64N(60)) * units.GiB, Key: key, HolderPID: holds.Pid}
	brief := random.IntN(10) == 0
	if brief {
		r.TTLMS = int64(300 + random.IntN(1500))
	}
	l, err := c.insist(func(ctx context.Context) (client.Lease, error) { return c.client.Submit(ctx, r) })
	if err != nil {
		c.fault("job %s: %v", key, err)
		holds.end()
		return
	}
	c.hear(key, l)
	for tries := 0; l.State == "queued" && tries < 20 && c.ctx.Err() == nil; tries++ {
		if l, err = c.insist(func(ctx context.Context) (client.Lease, error) {
			return c.client.Wait(ctx, l.ID, "queued", 200*time.Millisecond)
		}); err != nil {
			c.fault("job %s: %v", key, err)
		}
		c.hear(key, l)
	}
	switch {
	case l.State != "granted":
		c.leave(key, l.ID, holds, random.IntN(2) == 0)
	case brief:
		<-holds.ended // the agent ends it when its time is over
	default:
		c.use(key, l, holds, random, pause)
	}
}

// leave takes a request back, or dies without a word.
func (c *crowd) leave(key string, id int64, holds *sleeper, word bool) {
	if word {
		c.release(key, id)
	}
	holds.end()
}

func (c *crowd) release(key string, id int64) {
	l, err := c.insist(func(ctx context.Context) (client.Lease, error) { return c.client.Release(ctx, id, client.Meant{}) })
	var answer *client.AnswerError
	switch {
	case err == nil:
		c.hear(key, l)
	case !errors.As(err, &answer) || answer.Status != 409 && answer.Status != 404:
		c.fault("job %s: release: %v", key, err)
	}
}

// use has a process use a lease for a while. It is the holder, or one that the holder has
// marked and that outlives it.
func (c *crowd) use(key string, l client.Lease, holds *sleeper, random *rand.Rand, pause func(int)) {
	works := holds
	marked := random.IntN(3) == 0
	if marked {
		works = c.sleep(fmt.Sprintf("%s=%d", holder.LeaseVariable, l.ID), fmt.Sprintf("%s=%d", holder.EpochVariable, l.Epoch))
		if works == nil {
			return
		}
	}
	device, pid := l.Shares[0].Device, works.Pid
	c.load.put(pid, device, l.Shares[0].Bytes)
	if random.IntN(40) == 0 && c.stay(l.ID, func() { holds.end(); works.end(); c.load.put(pid, device, 0) }) {
		return
	}
	pause(400)
	if marked {
		holds.end()
		pause(200)
		now, err := c.insist(func(ctx context.Context) (client.Lease, error) { return c.client.Lease(ctx, l.ID) })
		if err == nil && now.State == "ended" && works.lives() {
			c.fault("lease %d has ended (%s) while a process of it lives", l.ID, now.Cause)
		}
	}
	if random.IntN(3) == 0 {
		c.release(key, l.ID)
	}
	works.end()
	holds.end()
	pause(60) // the driver takes its time
	c.load.put(pid, device, 0)
}

// stay makes a lease one that goes on until the end, unless there are enough of those.
func (c *crowd) stay(id int64, end func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	staying := 0
	for _, known := range c.leases {
		if known.stays != nil {
			staying++
		}
	}
	if staying >= 4 {
		return false
	}
	c.leases[id].stays = end
	return true
}

// TestS2Crashes: what an agent has answered is so after it was killed; nothing comes back,
// nothing is there twice, and no memory is used by two. 100 clients ask while agents are
// killed; holders die while no agent is there, and jobs go on.
func TestS2Crashes(t *testing.T) {
	dir := t.TempDir()
	capacity := int64(143771-601) * units.MiB
	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	c := &crowd{
		t: t, client: client.New(filepath.Join(dir, "agent.sock")), load: newLoad(filepath.Join(dir, "load"), capacity),
		ctx: ctx, seed: uint64(os.Getpid()), leases: map[int64]*told{}, keys: map[string]int64{},
	}
	defer c.client.Close()
	c.load.put(0, "", 0)
	t.Logf("seed %d", c.seed)
	var clients sync.WaitGroup
	for n := range 100 {
		clients.Go(func() { c.live(n) })
	}
	random := rand.New(rand.NewPCG(c.seed, 1<<32))
	for k := 0; k < *crashes && len(c.wrong()) == 0; k++ {
		c.life(dir, random, k%2 == 0)
		if k%50 == 49 {
			c.check(dir)
		}
	}
	last := c.begin(t, dir, "")
	enough()
	clients.Wait()
	c.settle()
	_ = last.Process.Kill()
	_ = last.Wait()
	c.check(dir)
	c.compare(dir)
	for _, f := range c.wrong() {
		t.Error(f)
	}
	t.Logf("%d crashes, %d leases that were answered", *crashes, len(c.leases))
}

// begin starts an agent.
func (c *crowd) begin(t testing.TB, dir, point string) *exec.Cmd {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envDir+"="+dir, envPoint+"="+point)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// life is an agent from its start to its end, at a point or at random.
func (c *crowd) life(dir string, random *rand.Rand, named bool) {
	point, most := "", 40+random.IntN(200)
	if named {
		point, most = fmt.Sprintf("%s %d", points[random.IntN(len(points))], 1+random.IntN(4)), 400
	}
	cmd := c.begin(c.t, dir, point)
	timer := time.AfterFunc(time.Duration(most)*time.Millisecond, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		c.t.Fatalf("an agent ended with %v:\n%s", err, log[max(0, len(log)-2000):])
	}
}

// check looks for faults in the ledger that a dead agent left.
func (c *crowd) check(dir string) {
	r, err := ledger.Read(context.Background(), filepath.Join(dir, "ledger.db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	report, err := r.Check(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range report.Faults {
		c.fault("ledger: %s", f)
	}
}

// settle waits until the last agent has ended all leases but those whose processes go on.
func (c *crowd) settle() {
	const most = 60 * time.Second
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		all, err := c.client.Leases(context.Background(), false)
		late := time.Since(began) > most
		busy := err != nil
		for _, l := range all {
			known := c.leases[l.ID]
			stays := known != nil && known.stays != nil && l.State == "granted"
			busy = busy || !stays
			if late && !stays {
				c.fault("lease %d (holder %d) is still %s, with %v", l.ID, l.HolderPID, l.State, l.Processes)
			}
		}
		if !busy || late {
			return
		}
	}
}

// compare holds what clients were told against what is in the ledger.
func (c *crowd) compare(dir string) {
	l, err := ledger.Open(context.Background(), filepath.Join(dir, "ledger.db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	l.View(func(b *lease.Book) {
		byKey := map[string]int{}
		for _, held := range append(b.Past(), b.Leases()...) {
			byKey[held.Key]++
		}
		for key, id := range c.keys {
			held, ok := b.Lease(lease.ID(id))
			known := c.leases[id]
			switch {
			case !ok || held.Key != key:
				c.fault("lease %d, which was acknowledged, is lost", id)
			case byKey[key] != 1:
				c.fault("key %s has %d leases", key, byKey[key])
			case rank(string(held.State)) < rank(known.state):
				c.fault("lease %d is %s, and was %s", id, held.State, known.state)
			case known.stays != nil && held.State != lease.Granted:
				c.fault("lease %d is %s by %s, and its processes live", id, held.State, held.Cause)
			case known.stays == nil && held.State != lease.Ended:
				c.fault("lease %d is %s, and its processes have ended", id, held.State)
			}
		}
	})
	for _, known := range c.leases {
		if known.stays != nil {
			known.stays()
		}
	}
}
