package gpu

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// nvmapText is written as the kernel of a Jetson writes it.
const nvmapText = `          CLIENT          PROCESS      PID        SIZE
            user          python3     4711    2097152K
            user      Web Content     4800      12288K
            user          python3     4711       1024K
          kernel           nvhost        7        512K
           total                             2110976K
`

// TestNvmap: processes are added up over their lines, and a list that is none, or is cut off, tells
// nothing rather than a part.
func TestNvmap(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want map[int]int64
		told bool
	}{
		"a list":              {nvmapText, map[int]int64{4711: 2098176 << 10, 4800: 12288 << 10}, true},
		"nobody is there":     {"CLIENT PROCESS PID SIZE\ntotal 0K\n", map[int]int64{}, true},
		"it is cut off":       {nvmapText[:160], map[int]int64{}, false},
		"something else":      {"what is this\n", map[int]int64{}, false},
		"numbers that are no": {"user a -3 1K\nuser b 5 -1K\nuser c 6 99999999999999999K\nuser d 7 xK\ntotal 1K\n", map[int]int64{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			all, told := parseNvmap([]byte(tt.text), "unified-0")
			got := map[int]int64{}
			for _, p := range all {
				got[p.PID] = *p.UsedBytes
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || told != tt.told {
				t.Errorf("told %v (-want +got):\n%s", told, diff)
			}
		})
	}
}

// TestMeminfoProcesses: where root may ask, a Jetson's processes are listed, and named as others are.
func TestMeminfoProcesses(t *testing.T) {
	m := withBoard(bare())
	root := m.Root.(fstest.MapFS)
	root[nvmapClients] = file(nvmapText)
	p, err := Open(t.Context(), "meminfo", m)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Processes) != 2 || r.Processes[0].DeviceUUID != "unified-0" || *r.Processes[0].UsedBytes != 2098176<<10 || r.Notes[0] != nvmapNote {
		t.Errorf("%+v, %q", r.Processes, r.Notes)
	}
}
