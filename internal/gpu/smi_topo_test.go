package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The heading is underlined, with tabs that do not line up with those below.
const (
	underline = "\x1b[4m"
	plain     = "\x1b[0m"
)

// twoBridged has NICs, in the spaces that copies of a terminal have.
const twoBridged = `        GPU0    GPU1    GPU2    GPU3    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV4     SYS     SYS     NODE    SYS     0-31,64-95      0               N/A
GPU1    NV4      X      SYS     SYS     PIX     SYS     0-31,64-95      0               N/A
GPU2    SYS     SYS      X      NV4     SYS     NODE    32-63,96-127    1               N/A
GPU3    SYS     SYS     NV4      X      SYS     PHB     32-63,96-127    1               N/A
NIC0    NODE    PIX     SYS     SYS      X      SYS
NIC1    SYS     SYS     NODE    PHB     SYS      X

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
`

func devicesOf(n int) (all []Device) {
	for i := range n {
		all = append(all, Device{Index: i, UUID: fmt.Sprint("G", i)})
	}
	return all
}

// matrix is a machine of n devices whose pairs are all the same.
func matrix(n int, pair string) string {
	var text strings.Builder
	text.WriteString(underline)
	for i := range n {
		fmt.Fprintf(&text, "\tGPU%d", i)
	}
	text.WriteString("\tmlx5_0\tmlx5_bond_0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID" + plain + "\n")
	for i := range n {
		fmt.Fprintf(&text, "GPU%d\t", i)
		for k := range n {
			text.WriteString(map[bool]string{true: " X ", false: pair}[i == k] + "\t")
		}
		text.WriteString("PXB\tSYS\t0-55,112-167\t0\t\tN/A\n")
	}
	return text.String()
}

func linkOf(a, b int, kind LinkKind, lanes int) Link {
	return Link{A: fmt.Sprint("G", a), B: fmt.Sprint("G", b), Kind: kind, Lanes: lanes}
}

func TestTopo(t *testing.T) {
	split := devicesOf(2)
	split[0].MIG = true
	for _, tt := range []struct {
		name, text string
		devices    []Device
		want       []Link
	}{
		{"bridges and cards", twoBridged, devicesOf(4), []Link{
			linkOf(0, 1, LinkNVLink, 4), linkOf(0, 2, LinkSys, 0), linkOf(0, 3, LinkSys, 0),
			linkOf(1, 2, LinkSys, 0), linkOf(1, 3, LinkSys, 0), linkOf(2, 3, LinkNVLink, 4),
		}},
		{"two on a host bridge", "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-63\t0\t\tN/A\nGPU1\tPHB\t X \t0-63\t0\t\tN/A\n", devicesOf(2), []Link{linkOf(0, 1, LinkPHB, 0)}},
		{"an old driver", "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\r\nGPU0\t X \tSOC\tPIX\t0-9\r\nGPU1\tSOC\t X \tSOC\t10-19\r\n", devicesOf(2), []Link{linkOf(0, 1, LinkSys, 0)}},
		{"switches", matrix(2, "NV18"), devicesOf(2), []Link{linkOf(0, 1, LinkNVLink, 18)}},
		{"one is split", matrix(2, "NODE"), split, []Link{linkOf(0, 1, LinkNode, 0)}},
	} {
		got, err := parseTopo(tt.text, tt.devices)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, links (-want +got):\n%s", tt.name, err, diff)
		}
	}
	for cell, want := range map[string]LinkKind{"PIX": LinkPIX, "PXB": LinkPXB, "NV12": LinkNVLink} {
		got, err := parseTopo(matrix(16, cell), devicesOf(16))
		if err != nil || len(got) != 120 || got[119].Kind != want {
			t.Errorf("%s: %d links, %v", cell, len(got), err)
		}
	}
}

// TestTopoBad: a matrix that is not what it is taken for tells of nothing.
func TestTopoBad(t *testing.T) {
	split := devicesOf(4)
	split[0].MIG, split[2].MIG = true, true
	good := twoBridged
	for name, tt := range map[string]struct {
		text    string
		devices []Device
		want    string
	}{
		"nothing":          {"", devicesOf(2), "has 0 columns and 0 lines of GPUs, expected 2"},
		"not supported":    {"Failed to run topology matrix\n", devicesOf(2), "Failed to run topology matrix"},
		"another machine":  {good, devicesOf(3), "has 4 columns and 4 lines of GPUs, expected 3"},
		"breaks off":       {good[:strings.Index(good, "GPU3    SYS")], devicesOf(4), "4 columns and 3 lines"},
		"a line cut short": {strings.Replace(good, "SYS     NV4      X      SYS     PHB     32-63,96-127    1               N/A", "SYS", 1), devicesOf(4), "GPU3 is cut short"},
		"a line twice":     {good + "GPU1 X X X X X\n", devicesOf(4), "there twice"},
		"columns shifted":  {strings.Replace(good, "GPU0    GPU1    GPU2", "GPU1    GPU0    GPU2", 1), devicesOf(4), `is "NV4" to itself, expected X`},
		"not the same":     {strings.Replace(good, "NV4      X ", "PIX      X ", 1), devicesOf(4), `GPU0 and GPU1 are "NV4" one way, and "PIX" the other`},
		"words unknown":    {matrix(2, "N/A"), devicesOf(2), "tells of no pair"},
		"no NVLinks":       {matrix(2, "NV0"), devicesOf(2), "tells of no pair"},
		"all split":        {matrix(4, "NV18"), []Device{split[0], {Index: 1, MIG: true}, split[2], {Index: 3, MIG: true}}, "tells of no pair"},
	} {
		if got, err := parseTopo(tt.text, tt.devices); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, got, err, tt.want)
		}
	}
}

// TestTopoFails: where nvidia-smi tells of no links, devices are read all the same, what it has
// told before stays, and it is not asked again with every reading.
func TestTopoFails(t *testing.T) {
	m := withSMI(bare(), smiH200(t), "")
	run, asked, fails := m.Run, 0, true
	m.Run = func(ctx context.Context, program string, args ...string) ([]byte, error) {
		if args[0] == "topo" {
			if asked++; fails {
				return nil, errors.New("exit status 3")
			}
		}
		return run(ctx, program, args...)
	}
	p, err := Open(t.Context(), "nvidia-smi", m)
	if err != nil {
		t.Fatal(err)
	}
	read := func(links int, note string) {
		t.Helper()
		r, err := p.Read(t.Context())
		if err != nil || len(r.Links) != links || strings.Join(r.Notes, "; ") != note {
			t.Errorf("%v, links %+v, notes %q", err, r.Links, r.Notes)
		}
	}
	const why = "how close the devices are to each other could not be read: exit status 3"
	read(0, why)
	read(0, why)
	fails = false
	m.Clock.(*handClock).advance(linksAge)
	read(1, "")
	fails = true
	m.Clock.(*handClock).advance(linksAge)
	read(1, why)
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func FuzzTopo(f *testing.F) {
	f.Add(twoBridged, 4)
	f.Add(matrix(8, "NV18"), 8)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 16 {
			return
		}
		r := Reading{Devices: devicesOf(n)}
		for i := range r.Devices {
			r.Devices[i].Kind = KindGPU
		}
		var err error
		if r.Links, err = parseTopo(text, r.Devices); err != nil {
			return
		}
		if err := r.check(); err != nil {
			t.Errorf("read, but %v", err)
		}
	})
}
