package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/tui"
)

// TestTopExit: each failure has its code.
func TestTopExit(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"devices":[{"kind":"gpu"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"top", exitFailed, "no GPU was found: NVML"},
		{"top --once --probe nvidia-smi", exitFailed, "no GPU was found: nvidia-smi: not installed"},
		{"top --json", exitFailed, `"hints":["in a container`},
		{"top --probe dcgm", exitUsage, `--probe: "dcgm" is not a probe`},
		{"top --probe fake:x", exitUsage, "fake:h200x2"},
		{"top --interval 1ms", exitUsage, "1ms is too short"},
		{"top --socket /no/such.sock", exitFailed, "the agent at /no/such.sock cannot be reached: no such file or directory; no GPU was found: NVML"},
		{"top --socket /no/such.sock --probe fake:x", exitUsage, `"fake:x" is not a probe`},
		{"top --once --json", exitUsage, "cannot be together"},
		{"top --once --interval 1s", exitUsage, "cannot be together"},
		{"top --probe file:" + filepath.ToSlash(bad), exitInput, "reading 1: devices[0] has no uuid"},
		{"top --probe file:/no/such/file", exitInput, "/no/such/file"},
		{"top --probe fake:orin", exitDone, ""},
	} {
		var o outside
		if code := o.run(t, strings.Fields(tt.args)...); code != tt.code || !strings.Contains(o.stderr.String(), tt.says) {
			t.Errorf("%s: exit code %d, want %d: %s", tt.args, code, tt.code, &o.stderr)
		}
	}
}

// TestTopReplay: what --json prints, --probe file: plays: the same table, byte for byte.
func TestTopReplay(t *testing.T) {
	var recorded, live, played outside
	recorded.run(t, "top", "--json", "--probe", "fake:h100-mig")
	path := filepath.Join(t.TempDir(), "gpus.json")
	if err := os.WriteFile(path, recorded.stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	live.run(t, "top", "--once", "--probe", "fake:h100-mig")
	played.run(t, "top", "--once", "--probe", "file:"+path)
	piped := outside{stdin: recorded.stdout.String()}
	piped.run(t, "top", "--once", "--probe", "file:-")
	for _, o := range []*outside{&played, &piped} {
		if diff := cmp.Diff(live.stdout.String(), o.stdout.String()); diff != "" || live.stdout.Len() == 0 {
			t.Errorf("%s (-live +played):\n%s", &o.stderr, diff)
		}
	}
}

// tickingClock makes every wait end at once, and the time jump by it.
type tickingClock struct {
	now  time.Time
	wait func()
}

func (c *tickingClock) Now() time.Time { return c.now }

func (c *tickingClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	over := make(chan time.Time, 1)
	if d == time.Second { // the interval; deadlines of readings are others, and never met
		c.now = c.now.Add(d)
		c.wait()
		over <- c.now
	}
	return over, func() {}
}

// TestTopLines: a reading a line, an interval apart, until it is interrupted, which is no
// failure.
func TestTopLines(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := 0
	clock := &tickingClock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), wait: func() {
		if waits++; waits == 3 {
			cancel()
		}
	}}
	var o outside
	app := o.app()
	app.GPUs = gpu.NoMachine(clock)
	if code := Run(ctx, app, []string{"top", "--json", "--interval", "1s", "--probe", "fake:h200x2"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &o.stderr)
	}
	var seconds []int
	for dec := json.NewDecoder(&o.stdout); ; {
		var r gpu.Reading
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seconds = append(seconds, r.Time.Second())
	}
	if diff := cmp.Diff([]int{0, 1, 2}, seconds); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

// failing is a probe of which some readings fail, and the last of which calls off.
type failing struct {
	script string // of readings: x fails
	next   int
	cancel func()
}

func (f *failing) Read(context.Context) (gpu.Reading, error) {
	f.next++
	if f.next == len(f.script) {
		f.cancel()
	}
	if f.script[f.next-1] == 'x' {
		return gpu.Reading{}, errors.New("the driver is silent")
	}
	return gpu.Reading{}, nil
}

func (f *failing) Close() error { return nil }

// TestTopLinesFail: a driver that is silent for a while is told of once, and the readings go
// on after it.
func TestTopLinesFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var o outside
	app := o.app()
	app.GPUs = gpu.NoMachine(&tickingClock{wait: func() {}})
	probe := &failing{script: "oxxxoxxo.", cancel: cancel}
	source := tui.Source{Open: func(context.Context) (gpu.Probe, error) { return probe, nil }, Clock: app.GPUs.Clock}
	if err := app.topLines(ctx, source.Read, time.Second); err != nil {
		t.Fatal(err)
	}
	if lines, warnings := strings.Count(o.stdout.String(), "\n"), strings.Count(o.stderr.String(), "the driver is silent"); lines != 3 || warnings != 2 {
		t.Errorf("%d readings, %d warnings: %s", lines, warnings, &o.stderr)
	}
}

// screen is a terminal on whose keyboard q is pressed once the monitor has taken it.
type screen struct {
	bytes.Buffer
	once  sync.Once
	taken chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), "\x1b[?1049h") {
		s.once.Do(func() { close(s.taken) })
	}
	return n, err
}

func (s *screen) Read(p []byte) (int, error) {
	<-s.taken
	return copy(p, "q"), nil
}

// TestTopMonitor: on a terminal the monitor comes up, and q ends it and gives the screen
// back. What it draws is tested in package tui.
func TestTopMonitor(t *testing.T) {
	o := outside{terminal: term.Terminal{IsTerminal: true, ANSI: true, UTF8: true, Width: 80}, env: map[string]string{"TERM": "xterm"}}
	app := o.app()
	s := &screen{taken: make(chan struct{})}
	app.Stdin, app.Stdout = s, s
	if code := Run(t.Context(), app, []string{"top", "--probe", "fake:h200x2"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &o.stderr)
	}
	if !strings.Contains(s.String(), "\x1b[?1049l") {
		t.Errorf("the screen was not given back: %q", s.String())
	}
}

// TestTopDumb: a terminal that cannot move its cursor gets the table.
func TestTopDumb(t *testing.T) {
	o := outside{terminal: term.Terminal{IsTerminal: true, Width: 200}, env: map[string]string{"TERM": "dumb"}}
	if code := o.run(t, "top", "--probe", "fake:h200x2"); code != exitDone || !strings.Contains(o.stdout.String(), "PROCESSES") || strings.Contains(o.stdout.String(), "\x1b") {
		t.Errorf("exit code %d: %s", code, &o.stdout)
	}
}
