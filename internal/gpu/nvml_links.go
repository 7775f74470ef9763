//go:build linux && cgo

package gpu

import (
	"context"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// linksDeadline is how long NVML may take for the links of all devices.
const linksDeadline = 2 * time.Second

// learnLinks asks for links, where it is time to and every device has answered: one that hangs
// would do so here too. An answer that comes late is taken all the same, by the next reading.
func (l *library) learnLinks(ctx context.Context, r *Reading, silent bool) {
	if len(r.Devices) > 1 && !silent && l.links.due(r) {
		about := Reading{Time: r.Time, Devices: r.Devices} // the call may outlast this reading
		_, err := l.linkLane.do(ctx, func(context.Context) (struct{}, error) {
			links, err := l.askLinks(about.Devices)
			l.links.learn(&about, links, err)
			return struct{}{}, nil
		})
		if err != nil {
			r.Notes = append(r.Notes, "how close the devices are to each other: "+err.Error())
		}
	}
	l.links.tell(r)
}

// askLinks asks for every pair. Devices that are split are asked for their way over PCIe
// only: their instances have no access to peers over NVLink.
func (l *library) askLinks(devices []Device) (links []Link, err error) {
	ends := make([]nvlinks, len(devices))
	for i := range devices {
		h, ret := l.api.DeviceGetHandleByIndex(devices[i].Index)
		if ret != nvml.SUCCESS {
			return nil, nvmlError("nvmlDeviceGetHandleByIndex", ret)
		}
		ends[i] = nvlinks{handle: h}
		if !devices[i].MIG {
			ends[i].follow(devices)
		}
	}
	for i := range devices {
		for k := i + 1; k < len(devices); k++ {
			link := Link{A: devices[i].UUID, B: devices[k].UUID}
			if lanes := lanesBetween(&ends[i], &ends[k], link); lanes > 0 {
				link.Kind, link.Lanes = LinkNVLink, lanes
			} else if level, ret := ends[i].handle.GetTopologyCommonAncestor(ends[k].handle); ret == nvml.SUCCESS {
				link.Kind = nvmlPaths[level]
			}
			if link.Kind != "" {
				links = append(links, link)
			}
		}
	}
	return links, nil
}

var nvmlPaths = map[nvml.GpuTopologyLevel]LinkKind{
	nvml.TOPOLOGY_INTERNAL: LinkBoard, nvml.TOPOLOGY_SINGLE: LinkPIX, nvml.TOPOLOGY_MULTIPLE: LinkPXB,
	nvml.TOPOLOGY_HOSTBRIDGE: LinkPHB, nvml.TOPOLOGY_NODE: LinkNode, nvml.TOPOLOGY_SYSTEM: LinkSys,
}

// nvlinks are the NVLinks of one device that are up, by what is at their other end.
type nvlinks struct {
	handle   nvml.Device
	direct   map[string]int // another device, by UUID
	switched int            // a switch
	unnamed  int            // what the driver does not name, as to the guest of a hypervisor
}

// follow counts them. A device has fewer than the library has numbers for: a number that it
// does not know is not supported, or an invalid argument.
func (n *nvlinks) follow(devices []Device) {
	n.direct = map[string]int{}
	for link := range nvml.NVLINK_MAX_LINKS {
		if state, ret := n.handle.GetNvLinkState(link); ret != nvml.SUCCESS || state != nvml.FEATURE_ENABLED {
			continue
		}
		if kind, ret := n.handle.GetNvLinkRemoteDeviceType(link); ret == nvml.SUCCESS && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
			n.switched++
		} else if peer := n.peer(link, devices); peer != "" {
			n.direct[peer]++
		} else if ret != nvml.SUCCESS || kind == nvml.NVLINK_DEVICE_TYPE_UNKNOWN {
			n.unnamed++
		}
	}
}

// peer is the device at the other end of a link; empty where it is none of them.
func (n *nvlinks) peer(link int, devices []Device) string {
	pci, ret := n.handle.GetNvLinkRemotePciInfo(link)
	if ret != nvml.SUCCESS {
		return ""
	}
	for i := range devices {
		if devices[i].PCIAddress == nvmlAddress(pci) {
			return devices[i].UUID
		}
	}
	return ""
}

// lanesBetween counts the NVLinks that two devices can use between them. Those to switches
// reach all that is on switches; links to what is not named do so only where the driver says
// that the two are peers. Links that are up are of no use where it says that they are not.
func lanesBetween(a, b *nvlinks, link Link) int {
	lanes, named := a.direct[link.B], true
	if lanes == 0 {
		lanes = min(a.switched, b.switched)
	}
	if lanes == 0 {
		lanes, named = min(a.switched+a.unnamed, b.switched+b.unnamed), false
	}
	if lanes == 0 {
		return 0
	}
	status, ret := a.handle.GetP2PStatus(b.handle, nvml.P2P_CAPS_INDEX_NVLINK)
	told := ret == nvml.SUCCESS && status != nvml.P2P_STATUS_UNKNOWN
	if told && status != nvml.P2P_STATUS_OK || !told && !named {
		return 0
	}
	return lanes
}
