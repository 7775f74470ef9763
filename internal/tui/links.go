package tui

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// linkWords say by what way data goes from one GPU to another.
var linkWords = map[gpu.LinkKind]string{
	gpu.LinkNVLink: "by NVLink",
	gpu.LinkBoard:  "on the same board",
	gpu.LinkPIX:    "through one PCIe bridge",
	gpu.LinkPXB:    "through several PCIe bridges",
	gpu.LinkPHB:    "through a PCIe host bridge",
	gpu.LinkNode:   "within the NUMA node",
	gpu.LinkSys:    "across NUMA nodes",
}

// linksText says how close a GPU is to the others, the closest first; empty where nothing is told.
func linksText(r *gpu.Reading, d *gpu.Device) string {
	var all []string
	for _, kind := range gpu.LinkKinds() {
		var ways []string // in the order of the first GPU of each
		to := map[string][]string{}
		for i := range r.Devices {
			link := r.Link(d.UUID, r.Devices[i].UUID)
			if link == nil || link.Kind != kind {
				continue
			}
			way := linkWords[kind]
			if link.Lanes > 0 {
				way += " (" + units.FormatPlural(link.Lanes, "link", "links") + ")"
			}
			if to[way] == nil {
				ways = append(ways, way)
			}
			to[way] = append(to[way], fmt.Sprint(r.Devices[i].Index))
		}
		for _, way := range ways {
			all = append(all, fmt.Sprintf("GPU %s %s", strings.Join(to[way], ", "), way))
		}
	}
	return strings.Join(all, "; ")
}
