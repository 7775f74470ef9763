package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// serveState is an agent that tells one state. It returns its socket.
func serveState(t *testing.T, s client.State) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/state", answer(s))
	mux.Handle("GET /v1/leases/4/explain", answer(client.Explanation{Reasons: []client.Reason{{Code: "memory", Text: "other leases hold what it needs"}}}))
	mux.Handle("GET /v1/agent", answer(client.About{Probe: "fake:h200x2", Ready: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		_ = os.RemoveAll(dir)
	})
	return path
}

// leasedState is the state of two GPUs with a process under a lease, and one request that
// waits.
func leasedState(t *testing.T) client.State {
	t.Helper()
	const gib = 1 << 30
	probe, err := gpu.Open(t.Context(), "fake:h200x2", gpu.NoMachine(stillClock{}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := probe.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := r.Processes[0]
	outside := int64(500 << 20)
	allocator := client.Allocator{AllocatedBytes: 40 * gib, ReservedBytes: *p.UsedBytes - outside, AllocRetries: 2}
	at := r.Time
	return client.State{
		Reading: r,
		Devices: []client.Device{{UUID: r.Devices[0].UUID, CapacityBytes: 139 * gib, GrantedBytes: 80 * gib, ForeignBytes: 12 * gib, AvailableBytes: 47 * gib}},
		Leases: []client.Lease{
			{ID: 3, State: "granted", User: p.User, MemoryBytes: 80 * gib, DeviceCount: 1, Grade: "self", Name: "train", Queued: at, Granted: &at, Processes: []int{p.PID}, Shares: []client.Share{{Device: p.DeviceUUID, Bytes: 80 * gib, UsedBytes: p.UsedBytes}}},
			{ID: 4, State: "queued", User: "erin", MemoryBytes: 90 * gib, DeviceCount: 1, Position: 1, Name: "eval", Queued: at, Shares: []client.Share{}},
		},
		Jobs: []client.Job{{PID: p.PID, User: p.User, Lease: 3, Devices: []client.JobDevice{{Device: p.DeviceUUID, UsedBytes: p.UsedBytes, Outside: &outside, Allocator: &allocator}}}},
	}
}

// TestTopAgent: where an agent answers, tables and JSON have its part too; where it does not,
// they have the driver's, and a note says why.
func TestTopAgent(t *testing.T) {
	socket := serveState(t, leasedState(t))
	var table, object, gone outside
	if code := table.run(t, "top", "--once", "--socket", socket); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &table.stderr)
	}
	golden(t, filepath.Join("testdata", "top_agent.golden"), table.stdout.Bytes())
	object.run(t, "top", "--json", "--socket", socket)
	var got topJSON
	if err := json.Unmarshal(object.stdout.Bytes(), &got); err != nil || got.Agent == nil {
		t.Fatalf("%v: %s", err, &object.stdout)
	}
	if len(got.Processes) != 4 || len(got.Agent.Leases) != 2 || len(got.Agent.Jobs) != 1 || got.Agent.Devices[0].GrantedBytes != 80<<30 {
		t.Errorf("%s", &object.stdout)
	}
	lost := outside{env: map[string]string{client.SocketVariable: "/no/such.sock"}}
	if code := lost.run(t, "top", "--once"); code != exitFailed || !strings.Contains(lost.stderr.String(), "the agent at /no/such.sock cannot be reached") {
		t.Errorf("exit code %d: %s", code, &lost.stderr)
	}
	code := gone.run(t, "top", "--once", "--socket", "/no/such.sock", "--probe", "fake:h200x2")
	if says := "note: leases and PyTorch's part are unknown: the agent at /no/such.sock cannot be reached"; code != exitDone || !strings.Contains(gone.stdout.String(), says) {
		t.Errorf("exit code %d: %s%s", code, &gone.stdout, &gone.stderr)
	}
}

// TestTopAgentReplay: what --json prints with an agent can be played as well.
func TestTopAgentReplay(t *testing.T) {
	var recorded, played outside
	recorded.run(t, "top", "--json", "--socket", serveState(t, leasedState(t)))
	played.stdin = recorded.stdout.String()
	if code := played.run(t, "top", "--once", "--probe", "file:-"); code != exitDone || !strings.Contains(played.stdout.String(), "train.py") {
		t.Errorf("exit code %d: %s%s", code, &played.stdout, &played.stderr)
	}
}

// TestTopWhichAgent: the agent of this machine is asked unless another machine was chosen.
func TestTopWhichAgent(t *testing.T) {
	socket := serveState(t, leasedState(t))
	env := map[string]string{client.SocketVariable: socket}
	for args, asked := range map[string]bool{
		"top --once":                                      true,
		"top --once --probe fake:h200x2":                  false,
		"top --once --socket " + socket:                   true,
		"top --once --probe fake:orin --socket " + socket: true,
	} {
		o := outside{env: env}
		if code := o.run(t, strings.Fields(args)...); code != exitDone || strings.HasPrefix(o.stdout.String(), "agent, ") != asked {
			t.Errorf("%s: exit code %d: %s%s", args, code, &o.stdout, &o.stderr)
		}
	}
}
