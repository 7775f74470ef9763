//go:build prometheus

package metrics

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
	return server{"http://" + start(t, command, regexp.MustCompile(`msg="Listening on".* address=(\S+)\s`))}
}

// start starts a program, and returns what its log says of where it listens. It ends with
// the test.
func start(t *testing.T, command *exec.Cmd, where *regexp.Regexp) string {
	t.Helper()
	log := &watchedLog{where: where, found: make(chan string, 1)}
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case address := <-log.found:
		t.Cleanup(func() {
			_ = command.Process.Kill()
			<-ended
		})
		return address
	case err := <-ended:
		t.Fatalf("%s: %v, before it says where it listens:\n%s", command.Path, err, log.text.String())
		return ""
	}
}

// watchedLog keeps a log and looks for a text in it.
type watchedLog struct {
	where *regexp.Regexp
	text  bytes.Buffer
	found chan string // what the first group matched, once
}

func (l *watchedLog) Write(p []byte) (int, error) {
	l.text.Write(p)
	if m := l.where.FindSubmatch(l.text.Bytes()); m != nil {
		select {
		case l.found <- string(m[1]):
		default: // it has been told
		}
	}
	return len(p), nil
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
