package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examined is a machine whose nvidia-smi prints a log, and a list of capabilities.
func examined(log, list string) Machine {
	m := bare()
	m.Run = func(_ context.Context, program string, args ...string) ([]byte, error) {
		if strings.HasPrefix(args[0], "--query-gpu") {
			return []byte(list), nil
		}
		return []byte(log), nil
	}
	return m
}

func TestExamine(t *testing.T) {
	one, zero := 1, 0
	ill := strings.NewReplacer(
		"<pending_ecc>Enabled", "<pending_ecc>Disabled",
		"<remapped_row_unc>0", "<remapped_row_unc>1",
		"<remapped_row_pending>No", "<remapped_row_pending>Yes",
		"<remapped_row_failure>No", "<remapped_row_failure>Yes",
		"<gpu_recovery_action>None", "<gpu_recovery_action>Reset",
	).Replace(testFile(t, "h200-580.xml"))
	for _, tt := range []struct {
		name, log, list string
		want            Health // of the first device
	}{
		{
			"H200", testFile(t, "h200-580.xml"), "GPU-00000000-0000-4000-8000-000000000000, 9.0\n",
			Health{Architecture: "Hopper", MIGPending: "off", ECCPending: "on", Remapped: &zero},
		},
		{
			"ill", ill, "",
			Health{Architecture: "Hopper", MIGPending: "off", ECCPending: "off", Remapped: &one, RemapPending: true, RemapFailed: true, Recovery: "Reset"},
		},
		{"MIG", testFile(t, "mig.xml"), "", Health{MIGPending: "on"}},
		{"shared memory", testFile(t, "gb10.xml"), "", Health{Addressing: "ATS"}},
	} {
		all, err := Examine(t.Context(), "auto", examined(tt.log, tt.list))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		tt.want.UUID = all[0].UUID // that it is the reading's is checked below
		if tt.list != "" {
			tt.want.Capability = "9.0"
			uuid, _, _ := strings.Cut(tt.list, ",")
			tt.want.UUID = uuid
		}
		if diff := cmp.Diff(tt.want, all[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestExamineSameDevices: health and reading name the same devices.
func TestExamineSameDevices(t *testing.T) {
	for _, name := range []string{"h200-580", "h200", "mig", "gb10", "vgpu", "old"} {
		log := testFile(t, name+".xml")
		r, err := parseSMI([]byte(log))
		if err != nil {
			t.Fatal(err)
		}
		all, err := parseHealth([]byte(log))
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range r.Devices {
			if all[i].UUID != d.UUID {
				t.Errorf("%s: device %d is %s in one and %s in the other", name, i, d.UUID, all[i].UUID)
			}
		}
	}
}

func TestExamineFakes(t *testing.T) {
	for _, name := range fakeNames() {
		all, err := Examine(t.Context(), "fake:"+name, bare())
		if err != nil || len(all) == 0 || all[0].Capability == "" {
			t.Errorf("fake:%s: %+v, %v", name, all, err)
		}
	}
	var spec *SpecError
	if _, err := Examine(t.Context(), "fake:nothing", bare()); !errors.As(err, &spec) {
		t.Errorf("fake:nothing: %v", err)
	}
	if _, err := Examine(t.Context(), "file:x", bare()); err == nil {
		t.Error("a file told its health")
	}
}

func TestExamineErrors(t *testing.T) {
	if _, err := Examine(t.Context(), "auto", bare()); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without nvidia-smi: %v", err)
	}
	if _, err := Examine(t.Context(), "auto", examined("Failed to initialize NVML", "")); err == nil {
		t.Error("no XML was read as some")
	}
}
