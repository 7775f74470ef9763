package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bare is a machine with nothing on it, but files.
func bare() Machine {
	m := NoMachine(newHandClock())
	m.Open = func(path string) (io.ReadCloser, error) { return os.Open(path) }
	m.User = users
	return m
}

func withSMI(m Machine, log, list string) Machine {
	m.Run = func(_ context.Context, program string, args ...string) ([]byte, error) {
		switch strings.Join(append([]string{program}, args...), " ") {
		case "nvidia-smi -q -x":
			return []byte(log), nil
		case "nvidia-smi topo -m":
			return []byte("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t8-15\n"), nil
		case "nvidia-smi -L":
			return []byte(list), nil
		}
		return nil, fmt.Errorf("unexpected: %s %q", program, args)
	}
	return m
}

func withBoard(m Machine) Machine {
	m.Root = fstest.MapFS{
		"proc/device-tree/model": file("NVIDIA Jetson AGX Orin Developer Kit\x00"),
		"proc/meminfo":           file("MemTotal:       64349628 kB\nMemFree:         1000000 kB\nMemAvailable:   50000000 kB\n"),
		"etc/nv_tegra_release":   file("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n"),
	}
	return m
}

type fixed struct{ Reading }

func (f fixed) Read(context.Context) (Reading, error) { return f.Reading, nil }
func (f fixed) Close() error                          { return nil }

// TestOpenBest: the best probe that works is taken, and says why it is not a better one.
func TestOpenBest(t *testing.T) {
	withNVML := bare()
	withNVML.NVML = func(Machine) (Probe, error) { return fixed{Reading{Source: "nvml"}}, nil }
	for _, tt := range []struct {
		name   string
		m      Machine
		source string
		notes  []string
	}{
		{"all", withSMI(withBoard(withNVML), smiH200(t), ""), "nvml", nil},
		{"no NVML", withSMI(bare(), smiH200(t), ""), "nvidia-smi", []string{"read with nvidia-smi, for NVML (libnvidia-ml.so.1) is not installed"}},
		{
			"a board", withBoard(bare()), "meminfo",
			[]string{sharedNote, "read with meminfo, for NVML (libnvidia-ml.so.1) is not installed", "read with meminfo, for nvidia-smi: not installed"},
		},
	} {
		p, err := Open(t.Context(), "", tt.m)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		r, err := p.Read(t.Context())
		if err != nil || r.Source != tt.source {
			t.Errorf("%s: read with %q, %v", tt.name, r.Source, err)
		}
		if diff := cmp.Diff(tt.notes, r.Notes); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestOpenNone(t *testing.T) {
	for _, spec := range []string{"", "auto", "nvml", "nvidia-smi", "meminfo"} {
		_, err := Open(t.Context(), spec, bare())
		var hint interface{ Hint() string }
		if !errors.Is(err, ErrNoGPU) || !errors.As(err, &hint) || hint.Hint() == "" {
			t.Errorf("%q: %v", spec, err)
		}
	}
	for _, spec := range []string{"fake", "fake:", "fake:no-such", "file:", "dcgm", "nvml2"} {
		var unknown *SpecError
		if _, err := Open(t.Context(), spec, bare()); !errors.As(err, &unknown) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// TestOpenStuck: a driver that hangs while it is loaded keeps nobody waiting, and is not
// asked in another way.
func TestOpenStuck(t *testing.T) {
	for _, spec := range []string{"nvml", "auto"} {
		m, begun, release := bare(), make(chan bool), make(chan bool)
		defer close(release)
		m.NVML = func(Machine) (Probe, error) { begun <- true; <-release; return nil, errors.New("late") }
		clock := m.Clock.(*handClock)
		got := make(chan error)
		go func() {
			_, err := Open(t.Context(), spec, m)
			got <- err
		}()
		<-begun
		<-clock.set
		clock.advance(nvmlDeadline)
		var stuck *StuckError
		if err := <-got; !errors.As(err, &stuck) || stuck.Error() != "NVML has not answered for 5.00 s" {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

// TestFakes: every fake is a machine that can be, at any moment, and the same moment gives
// the same reading.
func TestFakes(t *testing.T) {
	for _, name := range fakeNames() {
		if name == "stuck" {
			continue // TestFakeStuck
		}
		one, two := newHandClock(), newHandClock()
		a, errA := openFake(name, NoMachine(one))
		b, errB := openFake(name, NoMachine(two))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for range 100 {
			ra, errA := a.Read(t.Context())
			rb, errB := b.Read(t.Context())
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if err := ra.check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(ra, rb); diff != "" {
				t.Fatalf("%s (-one +two):\n%s", name, diff)
			}
			one.advance(1700 * time.Millisecond)
			two.advance(1700 * time.Millisecond)
		}
	}
}

// TestFakeMoves: the load of a fake is not always the same.
func TestFakeMoves(t *testing.T) {
	clock := newHandClock()
	p, err := openFake("h200x2", NoMachine(clock))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := p.Read(t.Context())
	clock.advance(4 * time.Second)
	after, _ := p.Read(t.Context())
	if got, want := *after.Processes[0].UsedBytes-*before.Processes[0].UsedBytes, 19*gib; got != want {
		t.Errorf("the first process grew by %d, want %d", got, want)
	}
	if got, want := after.Devices[0].Memory.UsedBytes-before.Devices[0].Memory.UsedBytes, 19*gib; got != want {
		t.Errorf("its device grew by %d, want %d", got, want)
	}
}

func TestMeminfo(t *testing.T) {
	p, err := Open(t.Context(), "meminfo", withBoard(bare()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Device{
		UUID: "unified-0", Name: "NVIDIA Jetson AGX Orin Developer Kit", Kind: KindUnified, Instances: []Instance{},
		Memory: &Memory{TotalBytes: 64349628 << 10, UsedBytes: 14349628 << 10, FreeBytes: 50000000 << 10},
	}
	if diff := cmp.Diff([]Device{want}, r.Devices); diff != "" || r.Driver != "R36.4.3" {
		t.Errorf("driver %q; devices (-want +got):\n%s", r.Driver, diff)
	}
}

func TestParseMeminfo(t *testing.T) {
	for _, bad := range []string{"", "MemTotal: 5 kB\n", "MemTotal: 5 kB\nMemAvailable: 6 kB\n", "MemTotal: x kB\nMemAvailable: 6 kB\n", "MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n"} {
		if m, err := parseMeminfo([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}
