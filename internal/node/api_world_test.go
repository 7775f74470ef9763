package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/settings"
	"github.com/ullage-dev/ullage/internal/units"
)

// world is an agent that answers on a socket, on a machine that a test makes up: two GPUs of
// 80 GiB, users by their number, and nobody who reads a driver.
type world struct {
	*Agent
	t        testing.TB
	clock    *holdertest.Clock
	machine  *holdertest.Machine
	front    *front
	dir      string
	dials    atomic.Int64
	stop     func() // ends the agent, and waits for it
	accounts accounts
}

const (
	agentUID = 900
	annUID   = 1001
	bobUID   = 1002
	opsUID   = 1003 // a member of the admin group
)

// accounts are the users of the world, and their groups.
type accounts map[int]struct {
	name   string
	group  int
	others []int
}

var worldAccounts = accounts{
	0:        {"root", 0, nil},
	agentUID: {"ullage", 900, nil},
	annUID:   {"ann", 2000, []int{2001}},
	bobUID:   {"bob", 2000, nil},
	opsUID:   {"ops", 2000, []int{3000}},
}

var worldGroups = map[int]string{0: "root", 900: "ullage", 2000: "staff", 2001: "vision", 3000: "gpu-admins"}

func (a accounts) User(uid int) (string, error) {
	if account, ok := a[uid]; ok {
		return account.name, nil
	}
	return strconv.Itoa(uid), nil
}

func (a accounts) Group(gid int) (string, error) {
	if name, ok := worldGroups[gid]; ok {
		return name, nil
	}
	return strconv.Itoa(gid), nil
}

// unread is a probe that nobody asks.
type unread struct{}

func (unread) Read(context.Context) (gpu.Reading, error) { return gpu.Reading{}, gpu.ErrNoGPU }
func (unread) Close() error                              { return nil }

// newWorld starts an agent that answers. change may change its options.
func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t, dir: t.TempDir(), machine: holdertest.NewMachine(), accounts: worldAccounts,
		clock: holdertest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	}
	w.Agent = w.agent(filepath.Join(w.dir, "ledger.db"), change)
	w.start()
	return w
}

// agent makes an agent that has looked at its machine once.
func (w *world) agent(path string, change func(*Options)) *Agent {
	w.t.Helper()
	book, err := ledger.Open(context.Background(), path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { book.Close() })
	s := settings.Default()
	s.Socket, s.Metrics, s.AdminGroup = filepath.Join(w.dir, "agent.sock"), "", "gpu-admins"
	s.Policy.Queues = []lease.Queue{{Name: "batch"}}
	s.Policy.Limits = []lease.Limit{{Scope: lease.User, Name: "bob", MemoryBytes: 40 * units.GiB, Priority: 2, TTLMS: 3_600_000}}
	s.Projects = []settings.Project{{Name: "eyes", Groups: []string{"vision"}}}
	o := Options{
		Version: "0.0-test", Boot: "boot-1", UID: agentUID, Settings: s, Ledger: book, Probe: unread{}, Clock: w.clock,
		Processes: w.machine, PeerOf: w.peerOf, Names: w.accounts,
		Counters: metrics.NewCounters(w.clock.Now, 0), Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	a.times = connTimes{header: time.Hour, body: time.Hour, idle: time.Hour} // however slow the machine is
	return a
}

// start has the agent answer until the test ends, or stop is called.
func (w *world) start() {
	w.t.Helper()
	var err error
	if w.front, err = w.listen(); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if w.audit, err = w.Ledger.Reader(ctx); err != nil {
		w.t.Fatal(err)
	}
	if err := w.begin(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.looked(80*units.GiB, 80*units.GiB)
	ended := make(chan error, 1)
	go func() { ended <- w.front.serve(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("serve: %v", err)
		}
		w.front.close()
		w.audit.Close()
	}
	w.t.Cleanup(w.stop)
}

// looked does what a first look at a machine with GPUs of some capacity does.
func (w *world) looked(capacity ...int64) {
	w.t.Helper()
	v := *w.now()
	v.readings, v.reading.Time, v.reading.Source = 1, w.clock.Now(), "test"
	_, err := w.decide(context.Background(), func(b *lease.Book, atMS int64) (all []lease.Event, err error) {
		var devices []lease.Device
		for i, c := range capacity {
			devices = append(devices, lease.Device{UUID: gpuName(i), Model: "NVIDIA H100 80GB HBM3", CapacityBytes: c})
		}
		all, err = b.SetDevices(atMS, lease.Agent, devices, nil)
		for i := range capacity {
			more, seen := b.SetForeign(atMS, gpuName(i), 0)
			all = append(all, more...)
			if err == nil {
				err = seen
			}
		}
		return all, err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.publish(&v)
}

func gpuName(i int) string { return fmt.Sprintf("GPU-%d", i) }

// peerOf reads who a client is from the address that it connected from: see person.dial.
func (w *world) peerOf(c *net.UnixConn) (Peer, error) {
	var p Peer
	var n int
	if _, err := fmt.Sscanf(filepath.Base(c.RemoteAddr().String()), "u%d.p%d.t%d.n%d", &p.UID, &p.PID, &p.Start, &n); err != nil {
		return p, fmt.Errorf("%q: %w", c.RemoteAddr(), err)
	}
	account := w.accounts[p.UID]
	p.GID, p.Groups = account.group, account.others
	return p, nil
}

// person is a process of a user that speaks to the agent.
type person struct {
	*world
	uid  int
	id   holder.ID
	http *http.Client
}

// as begins a process of a user.
func (w *world) as(uid int) *person {
	u := &person{world: w, uid: uid, id: w.machine.Begin(holder.ID{}, uid, holder.Mark{})}
	u.http = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return u.dial() },
	}}
	w.t.Cleanup(u.http.CloseIdleConnections)
	return u
}

// dial connects as the user's process.
func (u *person) dial() (*net.UnixConn, error) {
	name := fmt.Sprintf("u%d.p%d.t%d.n%d", u.uid, u.id.PID, u.id.Start, u.dials.Add(1))
	from := &net.UnixAddr{Name: filepath.Join(u.dir, name), Net: "unix"}
	return net.DialUnix("unix", from, &net.UnixAddr{Name: u.settings.Load().Socket, Net: "unix"})
}

// raw asks, with a body as it is, and returns the status and the body of the answer.
func (u *person) raw(method, path, body string) (*http.Response, []byte) {
	u.t.Helper()
	r, err := http.NewRequest(method, "http://agent"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		u.t.Fatal(err)
	}
	return u.send(r)
}

func (u *person) send(r *http.Request) (*http.Response, []byte) {
	u.t.Helper()
	answer, err := u.http.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	conforms(u.t, r.Method, r.URL.EscapedPath(), answer.StatusCode, text)
	return answer, text
}

// ask asks and wants a status. It reads the answer into out, if that is not nil.
func (u *person) ask(method, path string, body any, status int, out any) {
	u.t.Helper()
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			u.t.Fatal(err)
		}
	}
	answer, got := u.raw(method, path, string(text))
	if answer.StatusCode != status {
		u.t.Fatalf("%s %s %s: %d %s, want %d", method, path, text, answer.StatusCode, got, status)
	}
	if out == nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(got))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		u.t.Fatalf("%s %s: %s: %v", method, path, got, err)
	}
}

// refused asks and wants a refusal with a status, a code and a reason.
func (u *person) refused(method, path string, body any, status int, code string) client.ErrorBody {
	u.t.Helper()
	var e client.Error
	u.ask(method, path, body, status, &e)
	if e.Error.Code != code || e.Error.Message == "" {
		u.t.Fatalf("%s %s: %+v, want code %q and a message", method, path, e.Error, code)
	}
	return e.Error
}

// lease asks for one.
func (u *person) lease(r client.Request) (l client.Lease) {
	u.t.Helper()
	u.ask(http.MethodPost, "/v1/leases", r, http.StatusCreated, &l)
	return l
}

// see asks for a lease's state.
func (u *person) see(id int64) (l client.Lease) {
	u.t.Helper()
	u.ask(http.MethodGet, fmt.Sprintf("/v1/leases/%d", id), nil, http.StatusOK, &l)
	return l
}

// until waits for something that goroutines of the agent bring about.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

// waiting counts the questions that wait for a lease.
func (w *world) waiting() (n int) {
	w.changes.mu.Lock()
	defer w.changes.mu.Unlock()
	for _, channels := range w.changes.waiting {
		n += len(channels)
	}
	return n
}

// connections counts those that are open.
func (w *world) connections() int {
	w.front.limits.mu.Lock()
	defer w.front.limits.mu.Unlock()
	return w.front.limits.total
}

// allow sets how many connections one user may have.
func (w *world) allow(n int) {
	w.front.limits.mu.Lock()
	defer w.front.limits.mu.Unlock()
	w.front.limits.perUser = n
}
