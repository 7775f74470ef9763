package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// TestFrames: pictures of each kind of machine, with an agent and without.
func TestFrames(t *testing.T) {
	color, ascii := plainLook, plainLook
	color.Color, ascii.Unicode = true, false
	for _, tt := range []struct {
		name, fake    string
		dress         string // of the agent; empty: there is none
		look          term.Look
		width, height int
		keys          []string
	}{
		{"h200x2_80x24", "h200x2", "", plainLook, 80, 24, nil},
		{"h200x2_120x40", "h200x2", "", plainLook, 120, 40, nil},
		{"h200x2_200x50", "h200x2", "", plainLook, 200, 50, nil},
		{"h200x2_80x24_color", "h200x2", "", color, 80, 24, nil},
		{"h200x2_80x24_ascii", "h200x2", "", ascii, 80, 24, nil},
		{"h200x2_40x10", "h200x2", "", plainLook, 40, 10, nil},
		{"h200x2_process_80x24", "h200x2", "", plainLook, 80, 24, []string{"down", "enter"}},
		{"h200x2_device_80x24", "h200x2", "", plainLook, 80, 24, []string{"tab", "down", "enter"}},
		{"h200x2_device_200x50_color", "h200x2", "", color, 200, 50, []string{"tab", "enter"}},
		{"h200x2_help_80x24", "h200x2", "", plainLook, 80, 24, []string{"?"}},
		{"h200x2_confirm_80x24", "h200x2", "", plainLook, 80, 24, []string{"/", "alice", "enter", "x"}},
		{"h100x8_80x24", "h100x8", "", plainLook, 80, 24, nil},
		{"h100-mig_80x24", "h100-mig", "", plainLook, 80, 24, nil},
		{"h100x8_120x40", "h100x8", "", plainLook, 120, 40, nil},
		{"h100-mig_120x40", "h100-mig", "", plainLook, 120, 40, nil},
		{"h100-mig_device_80x24", "h100-mig", "", plainLook, 80, 24, []string{"tab", "enter"}},
		{"t4-vgpu_80x24", "t4-vgpu", "", plainLook, 80, 24, nil},
		{"t4-vgpu_120x40", "t4-vgpu", "", plainLook, 120, 40, nil},
		{"orin_80x24", "orin", "", plainLook, 80, 24, nil},
		{"orin_120x40", "orin", "", plainLook, 120, 40, nil},

		{"agent_80x24", "h200x2", "h200x2", plainLook, 80, 24, nil},
		{"agent_80x24_ascii", "h200x2", "h200x2", ascii, 80, 24, nil},
		{"agent_80x24_color", "h200x2", "h200x2", color, 80, 24, nil},
		{"agent_120x40", "h200x2", "h200x2", plainLook, 120, 40, nil},
		{"agent_200x50", "h200x2", "h200x2", plainLook, 200, 50, nil},
		{"agent_40x10", "h200x2", "h200x2", plainLook, 40, 10, nil},
		{"agent_process_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"down", "enter"}},
		{"agent_process_120x40", "h200x2", "h200x2", plainLook, 120, 40, []string{"down", "enter"}},
		{"agent_process_120x40_color", "h200x2", "h200x2", color, 120, 40, []string{"down", "enter"}},
		{"agent_leases_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"tab"}},
		{"agent_leases_120x40", "h200x2", "h200x2", plainLook, 120, 40, []string{"tab"}},
		{"agent_lease_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"tab", "enter"}},
		{"agent_queued_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"tab", "end", "up", "enter"}},
		{"agent_release_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"tab", "x"}},
		{"agent_device_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"tab", "tab", "enter"}},
		{"agent_help_80x24", "h200x2", "h200x2", plainLook, 80, 24, []string{"?"}},
		{"agent_mig_80x24", "h100-mig", "h100-mig", plainLook, 80, 24, nil},
		{"agent_mig_120x40", "h100-mig", "h100-mig", plainLook, 120, 40, nil},
		{"agent_mig_leases_80x24", "h100-mig", "h100-mig", plainLook, 80, 24, []string{"tab"}},
		{"agent_many_80x24", "h100x8", "h100x8", plainLook, 80, 24, nil},
		{"agent_many_120x40", "h100x8", "h100x8", plainLook, 120, 40, []string{"tab"}},
		{"agent_names_80x24", "h200x2", "names", plainLook, 80, 24, nil},
		{"agent_names_120x40", "h200x2", "names", plainLook, 120, 40, nil},
		{"agent_idle_80x24", "h200x2-idle", "idle", plainLook, 80, 24, nil},
		{"agent_vgpu_80x24", "t4-vgpu", "bare", plainLook, 80, 24, nil},
		{"agent_vgpu_120x40", "t4-vgpu", "bare", plainLook, 120, 40, nil},
		{"agent_unified_80x24", "orin", "bare", plainLook, 80, 24, nil},
		{"agent_unified_120x40", "orin", "bare", plainLook, 120, 40, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := driveAgent(t, tt.fake, tt.dress, tt.look, tt.width, tt.height)
			d.pass(15)
			d.keys(tt.keys...)
			d.golden(tt.name)
		})
	}
}

// TestFramesOfTrouble: what is shown where something does not answer.
func TestFramesOfTrouble(t *testing.T) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}} {
		gone := driveAgent(t, "h200x2", "h200x2", plainLook, size[0], size[1])
		gone.pass(5)
		gone.agent.err = errGone
		gone.pass(5)
		gone.golden("agent_gone_" + name)
		gone.err = gpu.ErrNoGPU
		gone.pass(1)
		gone.golden("agent_and_driver_gone_" + name)
		none := drive(t, "h200x2", plainLook, size[0], size[1])
		none.err = gpu.ErrNoGPU
		none.pass(1)
		none.golden("no_gpu_" + name)
		bare := driveAgent(t, "h200x2", "empty", plainLook, size[0], size[1])
		bare.pass(2)
		bare.golden("agent_no_gpu_" + name)
	}
}

// TestPage: what docs/top.md shows is what the monitor shows.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "top.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dress string
		keys  []string
	}{{"", nil}, {"h200x2", nil}, {"h200x2", []string{"tab", "end", "up", "enter"}}} {
		d := driveAgent(t, "h200x2", tt.dress, plainLook, 80, 24)
		d.pass(15)
		d.keys(tt.keys...)
		for line := range strings.Lines(d.m.frame()) {
			if line = strings.TrimSpace(line); !strings.Contains(string(page), line) {
				t.Errorf("docs/top.md does not show the line %q", line)
			}
		}
	}
}
