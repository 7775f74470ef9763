package gpu

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/units"
)

// linked makes the links of a machine whose pairs are as close as between says.
func linked(devices []Device, between func(a, b int) Link) (links []Link) {
	for a := range devices {
		for b := a + 1; b < len(devices); b++ {
			link := between(a, b)
			link.A, link.B = devices[a].UUID, devices[b].UUID
			links = append(links, link)
		}
	}
	return links
}

// switched is a machine in which NVLinks of every device end at switches.
func switched(devices []Device, lanes int) []Link {
	return linked(devices, func(int, int) Link { return Link{Kind: LinkNVLink, Lanes: lanes} })
}

// bridged is one of PCIe cards, with half of them at each of two NUMA nodes, and a bridge of
// four NVLinks on each pair of neighbours.
func bridged(devices []Device) []Link {
	return linked(devices, func(a, b int) Link {
		half := len(devices) / 2
		switch {
		case a/2 == b/2:
			return Link{Kind: LinkNVLink, Lanes: 4}
		case a/half == b/half:
			return Link{Kind: LinkNode}
		}
		return Link{Kind: LinkSys}
	})
}

// sceneA40 is a machine of bridged cards. held is what is in use on each, in GiB: uneven, so
// that the best fit of several devices by memory alone is not the one by their links.
func sceneA40(held ...int64) scene {
	s := scene{driver: "570.172.08", cuda: "12.8"}
	for i, h := range held {
		s.devices = append(s.devices, card(i, "NVIDIA A40", 46068, 434))
		if h > 0 {
			s.actors = append(s.actors, actor{
				device:  i,
				process: program(3100+i, fmt.Sprintf("user%02d", i), 2000+i, fmt.Sprintf("python serve.py --port %d", 8000+i), Place{Unit: fmt.Sprintf("serve-%d.service", i)}),
				load:    steady(h * units.GiB),
			})
		}
	}
	s.links = bridged(s.devices)
	return s
}

func sceneA40x4() scene { return sceneA40(10, 0, 20, 0) }

func sceneA40x8() scene { return sceneA40(0, 20, 0, 20, 6, 20, 6, 20) }
