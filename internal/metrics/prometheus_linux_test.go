//go:build prometheus

package metrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// realAgent builds the program and runs an agent of a fake machine. It returns where it is
// scraped, and how to use its socket and to end it.
func realAgent(t *testing.T) (address string, run func(args ...string) *exec.Cmd, end func()) {
	t.Helper()
	dir := t.TempDir()
	program, socket := filepath.Join(dir, "ullage"), filepath.Join(dir, "agent.sock")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/ullage")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close() // nobody else asks for a port between this and the agent's start
	run = func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), program, append(args, "--socket", socket)...)
	}
	agent := run("agent", "--probe", "fake:h200x2", "--state", filepath.Join(dir, "state"), "--metrics", address)
	start(t, agent, regexp.MustCompile(`"(the agent is at work)"`))
	return address, run, func() { _ = agent.Process.Signal(os.Interrupt) }
}

// expect waits for the answer of a query: one series with that value.
func (s server) expect(t *testing.T, expr, want string) {
	t.Helper()
	await(t, expr, func(ctx context.Context) error {
		got, err := s.query(ctx, expr)
		if err == nil && (len(got) != 1 || got[0].Value[1] != want) {
			err = fmt.Errorf("%v, want %s", got, want)
		}
		return err
	})
}

// Prometheus scrapes the agent itself: its devices, a lease that is granted, an allocator
// that fails in a process which reports, and its end.
func TestPrometheusAgent(t *testing.T) {
	address, run, end := realAgent(t)
	s := prometheusOf(t, address)
	s.expect(t, "count(ullage_device_info)", "2")
	s.expect(t, `count(ullage:memory_used_bytes / ullage_device_memory_total_bytes)`, "2")
	s.expect(t, "sum(ullage_device_processes)", "4")
	s.expect(t, "ullage_agent_ready", "1")

	holder := run("lease", "request", "--memory", "8GiB", "--name", "held")
	holder.Args = append(holder.Args, "--", "cat") // until its input ends
	input, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	s.expect(t, `sum(ullage_lease_memory_bytes * on (lease) group_left (name) ullage_lease_info{name="held"})`, fmt.Sprint(8*gib))
	s.expect(t, "sum(ullage_device_granted_bytes)", fmt.Sprint(8*gib))

	s.expect(t, "sum(ullage_device_ooms_total)", "0")
	// What this process, which is older than the agent, has counted before is no news.
	for ooms := range 2 {
		report(t, run, fmt.Sprintf(`{"devices": [{"device": "GPU-00000000-0000-4000-8000-000000000001", "ooms": %d}]}`, 3+ooms))
	}
	s.expect(t, `ullage_device_ooms_total{uuid="GPU-00000000-0000-4000-8000-000000000001"}`, "1")
	s.expect(t, `count(ALERTS{alertname="UllageOutOfMemory",alertstate="firing"})`, "1")

	input.Close()
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
	s.expect(t, "sum(ullage_device_granted_bytes)", "0")
	s.expect(t, `sum(ullage_leases_ended_total)`, "1")
	end()
	s.expect(t, `count(ALERTS{alertname="UllageAgentDown",alertstate="pending"})`, "1")
}

// report tells the agent of an allocator, in the name of this process.
func report(t *testing.T, run func(...string) *exec.Cmd, text string) {
	t.Helper()
	args := run().Args
	socket := args[len(args)-1]
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://agent/v1/report", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, body)
	}
}
