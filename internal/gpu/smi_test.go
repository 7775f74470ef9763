package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/units"
)

var update = flag.Bool("update", false, "rewrite golden files")

func testFile(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func smiH200(t testing.TB) string { return testFile(t, "h200.xml") }

// TestSMI reads outputs of nvidia-smi; what is made of them is in golden files.
func TestSMI(t *testing.T) {
	for _, name := range []string{"h200-580", "h200", "mig", "gb10", "vgpu", "old"} {
		list := ""
		if name == "mig" {
			list = testFile(t, "mig.list")
		}
		m := withSMI(bare(), testFile(t, name+".xml"), list)
		if name == "h200-580" {
			m = withTopo(m, testFile(t, name+".topo"))
		}
		m.Root = fstest.MapFS{"proc/meminfo": file("MemTotal: 1000 kB\nMemAvailable: 400 kB\n")}
		p, err := Open(t.Context(), "nvidia-smi", m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := p.Read(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".golden.json", string(got)+"\n")
	}
}

// withTopo is a machine whose nvidia-smi tells of these links.
func withTopo(m Machine, matrix string) Machine {
	run := m.Run
	m.Run = func(ctx context.Context, program string, args ...string) ([]byte, error) {
		if args[0] == "topo" {
			return []byte(matrix), nil
		}
		return run(ctx, program, args...)
	}
	return m
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(testFile(t, name), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestSMIRepartitioned: a partition that changes between two calls names no instance wrongly.
func TestSMIRepartitioned(t *testing.T) {
	first, _, _ := strings.Cut(testFile(t, "mig.list"), "  MIG 1g")
	p, err := Open(t.Context(), "nvidia-smi", withSMI(bare(), testFile(t, "mig.xml"), first))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Read(t.Context())
	if err != nil || len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "2 of them in one list of nvidia-smi, and 1 in the other") {
		t.Fatalf("%v, notes %q", err, r.Notes)
	}
	for _, in := range r.Devices[0].Instances {
		if in.UUID != "" || in.Profile != "" {
			t.Errorf("got %+v", in)
		}
	}
}

func TestSMIBad(t *testing.T) {
	good := smiH200(t)
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":    {"", "EOF"},
		"no XML":     {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "expected the XML"},
		"other XML":  {"<html></html>", "expected element type <nvidia_smi_log>"},
		"no GPU":     {"<nvidia_smi_log></nvidia_smi_log>", "no devices were found"},
		"breaks off": {good[:len(good)/2], "EOF"},
		"UUID twice": {strings.ReplaceAll(good, "7777", "6666"), "is there twice"},
		"many GPUs":  {"<nvidia_smi_log>" + strings.Repeat("<gpu></gpu>", maxDevices+1) + "</nvidia_smi_log>", "1025 GPUs are more than"},
	} {
		if r, err := parseSMI([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, r, err, tt.want)
		}
	}
}

// TestSMITrouble: what is wrong with one device is its problem, and no other's.
func TestSMITrouble(t *testing.T) {
	good := smiH200(t)
	for name, tt := range map[string]struct{ old, new, want string }{
		"lost":         {"<total>143771 MiB</total>", "<total>GPU is lost</total>", "is not an amount of memory"},
		"unit":         {"71512 MiB", "71512 MoB", `"MoB" is no unit`},
		"more than is": {"71512 MiB", "9971512 MiB", "a part has"},
		"no sum":       {"71512 MiB", "1512 MiB", "add up to"},
		"PID":          {"41207", "-4", `"-4" is not the number of a process`},
		"its memory":   {"71010 MiB", "ERR!", "is not an amount of memory"},
		"UUID":         {"GPU-6f1c2a3b-1111-4222-8333-444455556666", "N/A", "nvidia-smi tells no UUID"},
	} {
		r, err := parseSMI([]byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err != nil || len(r.Devices) != 2 || !strings.Contains(r.Devices[0].Problem, tt.want) || r.Devices[1].Problem != "" || r.Devices[1].Memory == nil {
			t.Errorf("%s: %v, %+v", name, err, r.Devices)
		}
	}
	r, err := parseSMI([]byte(strings.Replace(testFile(t, "mig.xml"), "<gpu_instance_id>1<", "<gpu_instance_id>x<", 1)))
	if err != nil || len(r.Devices[0].Instances) != 1 || !strings.Contains(r.Devices[0].Problem, "no numbers of MIG instances") {
		t.Errorf("MIG: %v, %+v", err, r.Devices)
	}
}

// TestSMIFails: nvidia-smi fails when a GPU is lost, and tells of the others all the same.
func TestSMIFails(t *testing.T) {
	m := bare()
	out := smiH200(t)
	m.Run = func(context.Context, string, ...string) ([]byte, error) {
		return []byte(out), errors.New("exit status 15")
	}
	p, err := Open(t.Context(), "nvidia-smi", m)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := p.Read(t.Context()); err != nil || len(r.Devices) != 2 || len(r.Notes) == 0 || r.Notes[0] != "exit status 15" {
		t.Errorf("%v, notes %q", err, r.Notes)
	}
	out = "NVIDIA-SMI has failed"
	if _, err := p.Read(t.Context()); err == nil || err.Error() != "exit status 15" {
		t.Errorf("got %v", err)
	}
}

// TestSMIAmounts: amounts come through as they are, in whole MiB.
func TestSMIAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Int64Range(0, 300_000)
		used, free, reserved := part.Draw(t, "used"), part.Draw(t, "free"), part.Draw(t, "reserved")
		text := fmt.Sprintf(`<nvidia_smi_log><gpu id="0"><uuid>GPU-1</uuid><fb_memory_usage><total>%d MiB</total><reserved>%d MiB</reserved><used>%d MiB</used><free>%d MiB</free></fb_memory_usage>`+
			`<processes><process_info><pid>5</pid><used_memory>%d MiB</used_memory></process_info></processes></gpu></nvidia_smi_log>`, used+free+reserved, reserved, used, free, used)
		r, err := parseSMI([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		m := r.Devices[0].Memory
		if m.UsedBytes != used*units.MiB || m.FreeBytes != free*units.MiB || *m.ReservedBytes != reserved*units.MiB || *r.Processes[0].UsedBytes != m.UsedBytes {
			t.Errorf("got %+v", m)
		}
	})
}

func FuzzSMI(f *testing.F) {
	for _, name := range []string{"h200.xml", "mig.xml", "gb10.xml", "vgpu.xml", "old.xml"} {
		f.Add(testFile(f, name), testFile(f, "mig.list"))
	}
	f.Fuzz(func(t *testing.T, log, list string) {
		r, err := parseSMI([]byte(log))
		if err != nil {
			return
		}
		if err := r.check(); err != nil {
			t.Errorf("read, but %v", err)
		}
		_ = nameInstances(&r, list)
	})
}
