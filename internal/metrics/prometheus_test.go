//go:build prometheus

package metrics

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests need a Prometheus: scripts/test-prometheus has one and runs them.

// server is a Prometheus that scrapes one target, with the rules that we ship.
type server struct{ url string }

// prometheusOf starts one. It ends with the test.
func prometheusOf(t *testing.T, target string) server {
	t.Helper()
	folder := os.Getenv("ULLAGE_PROMETHEUS")
	if folder == "" {
		t.Fatal("ULLAGE_PROMETHEUS is not the folder of a prometheus; run scripts/test-prometheus")
	}
	rules, err := filepath.Abs(rulesPath)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nrule_files: [%q]\nscrape_configs: [{job_name: ullage, static_configs: [{targets: [%q]}]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(folder, "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.level=info")
	return server{"http://" + start(t, command, regexp.MustCompile(`msg="Listening on".* address=(\S+)`))}
}

// start starts a program, and returns what its log says of where it listens.
func start(t *testing.T, command *exec.Cmd, where *regexp.Regexp) string {
	t.Helper()
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	var mu sync.Mutex
	var all strings.Builder
	go func() {
		defer close(found)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			mu.Lock()
			fmt.Fprintln(&all, lines.Text())
			mu.Unlock()
			if m := where.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				_, _ = io.Copy(io.Discard, log)
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		for range found { //nolint:revive // the log is read to its end first
		}
		_ = command.Wait()
	})
	address, ok := <-found
	if !ok {
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%s does not say where it listens:\n%s", command.Path, all.String())
	}
	return address
}

// get asks the API and decodes the data of the answer.
func (s server) get(ctx context.Context, path string, values url.Values, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path+"?"+values.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
		Warnings      []string
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" || len(answer.Warnings) > 0 {
		return fmt.Errorf("%s: %s %s", response.Status, answer.Error, answer.Warnings)
	}
	return json.Unmarshal(answer.Data, into)
}

type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s server) query(ctx context.Context, expr string) ([]sample, error) {
	var data struct{ Result []sample }
	err := s.get(ctx, "/api/v1/query", url.Values{"query": {expr}}, &data)
	return data.Result, err
}

// await looks again and again until a check has no error, for a minute at most.
func await(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, last)
		}
	}
}

// awaitSeries waits until Prometheus has as many of our series as a scrape shows, and every
// rule has been evaluated.
func (s server) awaitSeries(t *testing.T, count int) {
	t.Helper()
	await(t, "all series are there", func(ctx context.Context) error {
		got, err := s.query(ctx, `count({__name__=~"ullage_.+",job="ullage"})`)
		if err != nil || len(got) == 0 || got[0].Value[1] != fmt.Sprint(count) {
			return fmt.Errorf("%v of %d series, %w", got, count, errors.Join(err, errors.New("not yet")))
		}
		return nil
	})
	await(t, "all rules are evaluated", func(ctx context.Context) error {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := s.get(ctx, "/api/v1/rules", nil, &data); err != nil {
			return err
		}
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.LastError != "" {
					t.Fatalf("rule %s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" {
					return fmt.Errorf("rule %s is %s", r.Name, r.Health)
				}
			}
		}
		return nil
	})
}

// count returns how many series of ours a target shows.
func count(t *testing.T, target string) (series int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+target+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "ullage_") {
			series++
		}
	}
	return series
}

// Prometheus takes the whole scrape, evaluates every rule, and has an answer to every query
// of the dashboard.
func TestPrometheus(t *testing.T) {
	target := httptest.NewServer(collector(machine(t), busyCounters(t), Options{}).Handler())
	defer target.Close()
	address := target.Listener.Addr().String()
	s := prometheusOf(t, address)
	s.awaitSeries(t, count(t, address))
	s.awaitAnswers(t, unanswered)
	s.awaitAlerts(t)
}

// unanswered are parts of queries that rightly show nothing of a machine where nothing
// happens while it is looked at, and on which no alert has held for long enough.
var unanswered = []string{"> 0", `alertstate="firing"`}

// awaitAnswers asks every query of the dashboard. The increase of a counter has an answer
// after the second scrape only.
func (s server) awaitAnswers(t *testing.T, but []string) {
	t.Helper()
	fill := strings.NewReplacer("$instance", ".*", "$uuid", ".*", "$user", ".*", "$__range", "1h")
	d := loadDashboard(t)
	for _, expr := range d.queries() {
		if slices.ContainsFunc(but, func(part string) bool { return strings.Contains(expr, part) }) {
			if _, err := s.query(t.Context(), fill.Replace(expr)); err != nil {
				t.Errorf("%s: %v", expr, err)
			}
			continue
		}
		await(t, expr, func(ctx context.Context) error {
			got, err := s.query(ctx, fill.Replace(expr))
			if err == nil && len(got) == 0 {
				err = errors.New("no answer")
			}
			return err
		})
	}
}

// awaitAlerts compares the alerts that are about to fire with what is wrong with the machine
// of the fixture.
func (s server) awaitAlerts(t *testing.T) {
	t.Helper()
	want := []string{
		"UllageDeviceOverfull", "UllageDeviceProblem", "UllageDrainOverdue", "UllageForeignMemory", "UllageLeaseOverUse", "UllageOrphanProcesses", "UllageStrayContexts",
	}
	await(t, "alerts", func(ctx context.Context) error {
		// How old the reading is depends on the day, for the fixture stands still.
		got, err := s.query(ctx, `count by (alertname) (ALERTS{alertname!="UllageProbeFailing"})`)
		var names []string
		for _, g := range got {
			names = append(names, g.Metric["alertname"])
		}
		slices.Sort(names)
		if err == nil && !slices.Equal(names, want) {
			err = fmt.Errorf("%s, want %s", names, want)
		}
		return err
	})
}

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
