//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
)

// fakeAgent answers one call after the other from a list, and keeps what it was asked.
type fakeAgent struct {
	outside
	t       *testing.T
	mu      sync.Mutex
	answers []answer
	asked   []string
	keys    []string // of the requests
	given   []string // back: the keys of the leases
}

// answer is one of the agent. Without a body the connection is cut.
type answer struct {
	to     string // beginning of METHOD PATH
	status int
	body   string
	do     func() // before it is answered
}

const (
	queuedLease  = `{"id":7,"state":"queued","user":"ann","memory_bytes":8589934592,"device_count":1,"position":2}`
	grantedLease = `{"id":7,"state":"granted","user":"ann","memory_bytes":8589934592,"device_count":1,"epoch":9,"shares":[{"device":"GPU-a","bytes":8589934592}]}`
	explanation  = `{"lease":` + queuedLease + `,"reasons":[{"code":"memory","text":"3 MiB more have to be free"},{"code":"order","text":"lease 5 is before it"}]}`
)

func serveAgent(t *testing.T, answers ...answer) *fakeAgent {
	t.Helper()
	dir, err := os.MkdirTemp("", "ul") // the path of a socket has some hundred bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	a := &fakeAgent{t: t, answers: answers, outside: outside{env: map[string]string{client.SocketVariable: l.Addr().String()}}}
	server := &http.Server{Handler: a}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return a
}

func (a *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	call := r.Method + " " + r.URL.Path
	a.asked = append(a.asked, call)
	if call == "POST /v1/leases" {
		var req client.Request
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			a.t.Error(err)
		}
		a.keys = append(a.keys, req.Key)
	}
	if r.Method == http.MethodDelete {
		a.given = append(a.given, r.URL.Query().Get("key"))
	}
	if len(a.answers) == 0 {
		if r.Method != http.MethodDelete { // to give a lease back is the end of all runs
			a.t.Errorf("asked for %s, and there is nothing more to say", call)
		}
		io.WriteString(w, grantedLease)
		return
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	if !strings.HasPrefix(call, next.to) {
		a.t.Errorf("asked for %s, want %s", call, next.to)
	}
	if next.do != nil {
		next.do()
	}
	if next.body == "" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Retry-After", "3")
	w.WriteHeader(next.status)
	io.WriteString(w, next.body)
}

// swiftClock is a clock whose timers go off at once, and are kept.
type swiftClock struct {
	stillClock
	timers *[]time.Duration
}

func (c swiftClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	*c.timers = append(*c.timers, d)
	over := make(chan time.Time, 1)
	over <- c.Now()
	return over, func() {}
}

// says is the body of an answer that something was not done.
func says(code, message string) string {
	return fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)
}

const (
	waitingLine = "ullage: waiting for lease 7, 2nd in the queue: 3 MiB more have to be free; lease 5 is before it\n"
	goneLine    = "ullage: waiting for the agent to come back: the agent at SOCKET cannot be reached: it closed the connection before it had answered\n"
	grantLine   = "ullage: lease 7: 8.00 GiB on GPU-a\n"
)

var submitted = answer{"POST /v1/leases", 201, queuedLease, nil}

// leaseRequests are runs of lease request, by what the agent answers.
var leaseRequests = []struct {
	name    string
	answers []answer
	code    int
	stdout  string
	stderr  string
	timers  []time.Duration
}{
	{
		"granted at once",
		[]answer{{"POST /v1/leases", 201, grantedLease, nil}},
		3, "GPU-a 7 9 8589934592\n", "", nil,
	},
	{"waits, and says why once", []answer{
		submitted,
		{"GET /v1/leases/7", 200, queuedLease, nil},
		{"GET /v1/leases/7/explain", 200, explanation, nil},
		{"GET /v1/leases/7", 200, queuedLease, nil},
		{"GET /v1/leases/7/explain", 200, explanation, nil},
		{"GET /v1/leases/7", 200, grantedLease, nil},
	}, 3, "GPU-a 7 9 8589934592\n", waitingLine + grantLine, nil},
	{"too many wait", []answer{
		submitted, {"GET /v1/leases/7", 429, says("busy", "too many requests"), nil}, {"GET /v1/leases/7", 200, grantedLease, nil},
	}, 3, "GPU-a 7 9 8589934592\n", "", []time.Duration{3 * time.Second}},
	{"waits less than is worth a word", []answer{submitted, {"GET /v1/leases/7", 200, grantedLease, nil}}, 3, "GPU-a 7 9 8589934592\n", "", nil},
	{"the agent is not ready, then busy", []answer{
		{"POST /v1/leases", 503, says("unready", "the GPUs have not been read yet"), nil},
		{"POST /v1/leases", 429, says("busy", "too many requests"), nil},
		{"POST /v1/leases", 201, grantedLease, nil},
	}, 3, "GPU-a 7 9 8589934592\n", "ullage: waiting for the agent: the GPUs have not been read yet\nullage: waiting for the agent: too many requests\n" + grantLine, []time.Duration{3 * time.Second, 3 * time.Second}},
	{"the answer to the request is lost", []answer{
		{"POST /v1/leases", 0, "", nil}, {"POST /v1/leases", 201, grantedLease, nil},
	}, 3, "GPU-a 7 9 8589934592\n", goneLine + grantLine, []time.Duration{retryWait}},
	{"something else answers", []answer{{"POST /v1/leases", 404, "page not found", nil}}, 6, "", "ullage: error: the agent at SOCKET cannot be reached: the answer is not one of an agent: HTTP 404 Not Found\n", nil},
	{"ended while it waited", []answer{submitted, {"GET /v1/leases/7", 200, strings.Replace(grantedLease, `"granted"`, `"ended","cause":"released"`, 1), nil}}, 5, "", "ullage: error: lease 7 has ended before it could be used: it was given back\n", nil},
	{"taken back by root while it waited", []answer{submitted, {"GET /v1/leases/7", 200, strings.Replace(grantedLease, `"granted"`, `"ended","cause":"released","ended_by":"root"`, 1), nil}}, 5, "", "ullage: error: lease 7 has ended before it could be used: root gave it back\n", nil},
	{"taken back by root while the command ran", []answer{
		{"POST /v1/leases", 201, grantedLease, nil},
		{"DELETE /v1/leases/7", 200, strings.Replace(grantedLease, `"granted"`, `"draining","cause":"released","ended_by":"root"`, 1), nil},
	}, 3, "GPU-a 7 9 8589934592\n", "ullage: warning: lease 7 was ended before the command: root gave it back\n", nil},
	{"stopped", []answer{
		{"POST /v1/leases", 201, grantedLease, nil},
		{"DELETE /v1/leases/7", 200, strings.Replace(grantedLease, `"granted"`, `"draining","cause":"stopped","ended_by":"agent","over":{"device":"GPU-a","used_bytes":8592031744}`, 1), nil},
	}, 3, "GPU-a 7 9 8589934592\n", "ullage: warning: lease 7 was ended by the agent: 8.00 GiB were used on GPU-a, 2.00 MiB more than its 8.00 GiB\n", nil},
	{"on a GPU that is emptied", []answer{
		{"POST /v1/leases", 201, grantedLease, nil},
		{"DELETE /v1/leases/7", 200, strings.Replace(grantedLease, `"granted"`, `"draining","cause":"drained","ended_by":"agent"`, 1), nil},
	}, 3, "GPU-a 7 9 8589934592\n", "ullage: warning: lease 7 was ended by the agent: its GPU is being emptied\n", nil},
	{"refused", []answer{{"POST /v1/leases", 409, says("never", "no device here could hold it"), nil}}, 5, "", "ullage: error: no device here could hold it\n", nil},
	{"no such queue", []answer{{"POST /v1/leases", 404, says("unknown", `there is no queue "x"`), nil}}, 5, "", "ullage: error: there is no queue \"x\"\n", nil},
	{"invalid", []answer{{"POST /v1/leases", 400, says("invalid", "memory is negative"), nil}}, 2, "", "ullage: error: memory is negative\n", nil},
}

func TestLeaseRequest(t *testing.T) {
	for _, tt := range leaseRequests {
		t.Run(tt.name, func(t *testing.T) {
			a := serveAgent(t, tt.answers...)
			var timers []time.Duration
			app := a.app()
			app.GPUs.Clock = swiftClock{timers: &timers}
			code := Run(t.Context(), app, []string{"lease", "request", "--memory", "8GiB", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $ULLAGE_LEASE $ULLAGE_LEASE_EPOCH $ULLAGE_LEASE_MEMORY; exit 3"})
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.stdout, a.stdout.String()); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			stderr := strings.ReplaceAll(a.stderr.String(), a.env[client.SocketVariable], "SOCKET")
			if diff := cmp.Diff(tt.stderr, stderr); diff != "" {
				t.Errorf("standard error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.timers, timers); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if slices.Sort(a.keys); len(slices.Compact(a.keys)) != 1 || a.keys[0] == "" {
				t.Errorf("keys %q, want one and the same", a.keys)
			}
			if last := a.asked[len(a.asked)-1]; tt.code == 3 && last != "DELETE /v1/leases/7" {
				t.Errorf("the last call is %s: the lease is not given back", last)
			}
		})
	}
}

// TestLeaseRequestAgentGone: an agent that restarts does not cost the place in the queue.
func TestLeaseRequestAgentGone(t *testing.T) {
	a := serveAgent(t,
		answer{"POST /v1/leases", 201, queuedLease, nil},
		answer{"GET /v1/leases/7", 0, "", nil},
		answer{"GET /v1/leases/7", 200, grantedLease, nil})
	// The transport asks again by itself where a connection that it kept was closed.
	a.answers = slices.Insert(a.answers, 2, a.answers[1])
	var timers []time.Duration
	app := a.app()
	app.GPUs.Clock = swiftClock{timers: &timers}
	if code := Run(t.Context(), app, []string{"lease", "request", "--memory", "8GiB", "--", "true"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := a.stderr.String(); !strings.HasPrefix(got, "ullage: waiting for the agent to come back: the agent at ") || !strings.HasSuffix(got, "\nullage: lease 7: 8.00 GiB on GPU-a\n") {
		t.Errorf("standard error %q", got)
	}
	if len(timers) != 1 || timers[0] != retryWait {
		t.Errorf("pauses %v", timers)
	}
}

// TestLeaseRequestOtherLedger: an agent that has lost its ledger numbers its leases from the
// beginning. The lease that has our number there is another's: it is not taken for ours, and not
// given back.
func TestLeaseRequestOtherLedger(t *testing.T) {
	const unknown = `{"error":{"code":"unknown","message":"there is no lease 7"}}`
	keyed := func(lease string, id int, key string) string {
		return strings.Replace(lease, `"id":7`, fmt.Sprintf(`"id":%d,"key":%q`, id, key), 1)
	}
	for name, lost := range map[string]answer{
		"another has the number":       {"GET /v1/leases/7", 200, keyed(grantedLease, 7, "other"), nil},
		"another user has the number":  {"GET /v1/leases/7", 403, strings.Replace(unknown, "unknown", "forbidden", 1), nil},
		"nobody has the number":        {"GET /v1/leases/7", 404, unknown, nil},
		"another waits for the number": {"GET /v1/leases/7", 200, keyed(queuedLease, 7, "other"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := serveAgent(t, answer{"POST /v1/leases", 201, keyed(queuedLease, 7, "ours"), nil}, lost,
				answer{"POST /v1/leases", 201, keyed(queuedLease, 2, "ours"), nil},
				answer{"GET /v1/leases/2/explain", 200, explanation, nil},
				answer{"GET /v1/leases/2", 200, keyed(grantedLease, 2, "ours"), nil})
			if code := Run(t.Context(), a.app(), []string{"lease", "request", "--memory", "8GiB", "--", "sh", "-c", "echo $ULLAGE_LEASE"}); code != 0 {
				t.Errorf("exit code %d: %s", code, a.stderr.String())
			}
			if got := a.stdout.String(); got != "2\n" {
				t.Errorf("the command has lease %q", got)
			}
			if !strings.Contains(a.stderr.String(), "the agent does not know lease 7 any more: it is asked for again\n") {
				t.Errorf("standard error %q", a.stderr.String())
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if len(a.keys) != 2 || a.keys[0] != a.keys[1] {
				t.Errorf("asked with keys %q", a.keys)
			}
			if want := []string{"ours"}; !slices.Equal(a.given, want) || a.asked[len(a.asked)-1] != "DELETE /v1/leases/2" {
				t.Errorf("asked %q, given back with keys %q", a.asked, a.given)
			}
		})
	}
}

// TestLeaseRequestInterrupted: what ends the waiting withdraws the request.
func TestLeaseRequestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := serveAgent(t, answer{"POST /v1/leases", 201, queuedLease, nil}, answer{"GET /v1/leases/7", 200, queuedLease, cancel})
	a.answers = append(a.answers, answer{"DELETE /v1/leases/7", 200, queuedLease, nil})
	if code := Run(ctx, a.app(), []string{"lease", "request", "--memory", "8GiB", "--", "true"}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) > 0 {
		t.Errorf("asked %q: the request is not withdrawn", a.asked)
	}
}
