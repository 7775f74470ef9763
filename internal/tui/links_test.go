package tui

import (
	"testing"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// TestLinksText: the closest come first, those of the same way together, and what is not told is
// left out.
func TestLinksText(t *testing.T) {
	r := &gpu.Reading{Links: []gpu.Link{
		{A: "a", B: "b", Kind: gpu.LinkSys},
		{A: "c", B: "a", Kind: gpu.LinkNVLink, Lanes: 4},
		{A: "a", B: "d", Kind: gpu.LinkSys},
		{A: "a", B: "e", Kind: gpu.LinkNVLink, Lanes: 1},
		{A: "b", B: "d", Kind: gpu.LinkPIX},
		{A: "a", B: "g", Kind: gpu.LinkNVLink, Lanes: 4},
	}}
	for i, uuid := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r.Devices = append(r.Devices, gpu.Device{Index: i, UUID: uuid})
	}
	for uuid, want := range map[int]string{
		0: "GPU 2, 6 by NVLink (4 links); GPU 4 by NVLink (1 link); GPU 1, 3 across NUMA nodes",
		3: "GPU 1 through one PCIe bridge; GPU 0 across NUMA nodes",
		5: "",
	} {
		if got := linksText(r, &r.Devices[uuid]); got != want {
			t.Errorf("GPU %d: %q, want %q", uuid, got, want)
		}
	}
	for _, kind := range gpu.LinkKinds() {
		if linkWords[kind] == "" {
			t.Errorf("there is no word for %s", kind)
		}
	}
}
