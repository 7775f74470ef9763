//go:build linux && cgo

package gpu

import (
	"fmt"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"
)

// farEnd is what NVML tells of the other end of an NVLink.
type farEnd struct {
	bus  uint32 // of the device, or of what is not in the list
	kind nvml.IntNvLinkDeviceType
	mute bool // nothing is told
}

func toDevice(i int) farEnd { return farEnd{bus: uint32(0x10 + i), kind: nvml.NVLINK_DEVICE_TYPE_GPU} }

var (
	toSwitch  = farEnd{bus: 0xf0, kind: nvml.NVLINK_DEVICE_TYPE_SWITCH}
	toCPU     = farEnd{bus: 0xf1, kind: nvml.NVLINK_DEVICE_TYPE_IBMNPU}
	toNowhere = farEnd{mute: true}
)

func times(n int, end farEnd) (ends []farEnd) {
	for range n {
		ends = append(ends, end)
	}
	return ends
}

// withNVLinks makes devices of mock: links are the far ends of each, peers what the driver says
// of access over NVLink, and path what lies between them on PCIe.
func withNVLinks(links [][]farEnd, peers nvml.GpuP2PStatus, told nvml.Return, path nvml.GpuTopologyLevel) (all []nvml.Device) {
	for i, ends := range links {
		d := mockDevice(fmt.Sprint("GPU-", i))
		d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{Bus: uint32(0x10 + i)}, nvml.SUCCESS }
		d.GetNvLinkStateFunc = func(n int) (nvml.EnableState, nvml.Return) {
			if n > len(ends) {
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			if n == len(ends) { // one more than is connected
				return nvml.FEATURE_DISABLED, nvml.SUCCESS
			}
			return nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		d.GetNvLinkRemoteDeviceTypeFunc = func(n int) (nvml.IntNvLinkDeviceType, nvml.Return) {
			if ends[n].mute {
				return nvml.NVLINK_DEVICE_TYPE_UNKNOWN, nvml.ERROR_NOT_SUPPORTED
			}
			return ends[n].kind, nvml.SUCCESS
		}
		d.GetNvLinkRemotePciInfoFunc = func(n int) (nvml.PciInfo, nvml.Return) {
			if ends[n].mute {
				return nvml.PciInfo{}, nvml.ERROR_NOT_SUPPORTED
			}
			return nvml.PciInfo{Bus: ends[n].bus}, nvml.SUCCESS
		}
		d.GetP2PStatusFunc = func(nvml.Device, nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) { return peers, told }
		d.GetTopologyCommonAncestorFunc = func(nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) { return path, nvml.SUCCESS }
		all = append(all, d)
	}
	return all
}

// TestNVMLLinks: what makes two devices neighbours, and what does not.
func TestNVMLLinks(t *testing.T) {
	const ok, no, unknown = nvml.P2P_STATUS_OK, nvml.P2P_STATUS_NOT_SUPPORTED, nvml.P2P_STATUS_UNKNOWN
	bridge := [][]farEnd{times(4, toDevice(1)), times(4, toDevice(0))}
	for _, tt := range []struct {
		name  string
		ends  [][]farEnd
		peers nvml.GpuP2PStatus
		told  nvml.Return
		path  nvml.GpuTopologyLevel
		want  Link
	}{
		{"a bridge", bridge, ok, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkNVLink, Lanes: 4}},
		{"a bridge, and a driver that knows of no peers", bridge, 0, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkNVLink, Lanes: 4}},
		{"a bridge that is switched off", bridge, no, nvml.SUCCESS, nvml.TOPOLOGY_NODE, Link{Kind: LinkNode}},
		{"switches", [][]farEnd{times(18, toSwitch), times(18, toSwitch)}, ok, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkNVLink, Lanes: 18}},
		{"switches, with a link down", [][]farEnd{times(18, toSwitch), times(17, toSwitch)}, ok, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkNVLink, Lanes: 17}},
		{"switches without their fabric", [][]farEnd{times(18, toSwitch), times(18, toSwitch)}, no, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkSys}},
		{"a guest that is told of peers", [][]farEnd{times(18, toNowhere), times(18, toNowhere)}, ok, nvml.SUCCESS, nvml.TOPOLOGY_HOSTBRIDGE, Link{Kind: LinkNVLink, Lanes: 18}},
		{"a guest that is told nothing", [][]farEnd{times(18, toNowhere), times(18, toNowhere)}, unknown, nvml.SUCCESS, nvml.TOPOLOGY_HOSTBRIDGE, Link{Kind: LinkPHB}},
		{"to the processor", [][]farEnd{times(3, toCPU), times(3, toCPU)}, ok, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM, Link{Kind: LinkSys}},
		{"to devices that are not shown", [][]farEnd{times(4, toDevice(7)), times(4, toDevice(8))}, ok, nvml.SUCCESS, nvml.TOPOLOGY_MULTIPLE, Link{Kind: LinkPXB}},
		{"none", [][]farEnd{nil, nil}, no, nvml.SUCCESS, nvml.TOPOLOGY_SINGLE, Link{Kind: LinkPIX}},
		{"two on a board", [][]farEnd{nil, nil}, no, nvml.SUCCESS, nvml.TOPOLOGY_INTERNAL, Link{Kind: LinkBoard}},
	} {
		tt.want.A, tt.want.B = "GPU-0", "GPU-1"
		r := readMock(t, bare(), withNVLinks(tt.ends, tt.peers, tt.told, tt.path)...)
		if diff := cmp.Diff([]Link{tt.want}, r.Links); diff != "" || len(r.Notes) > 0 {
			t.Errorf("%s: notes %q, links (-want +got):\n%s", tt.name, r.Notes, diff)
		}
	}
}

// TestNVMLLinksSplit: a GPU in MIG mode has no peers over NVLink.
func TestNVMLLinksSplit(t *testing.T) {
	all := withNVLinks([][]farEnd{times(18, toSwitch), times(18, toSwitch)}, nvml.P2P_STATUS_OK, nvml.SUCCESS, nvml.TOPOLOGY_NODE)
	split := all[1].(*mock.Device)
	split.GetMigModeFunc = func() (int, int, nvml.Return) { return 1, 1, nvml.SUCCESS }
	split.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	want := []Link{{A: "GPU-0", B: "GPU-1", Kind: LinkNode}}
	if diff := cmp.Diff(want, readMock(t, bare(), all...).Links); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNVMLLinksKept: links are asked for once, and again when the list of devices changes or
// the answer is old.
func TestNVMLLinksKept(t *testing.T) {
	devices := withNVLinks([][]farEnd{times(2, toDevice(1)), times(2, toDevice(0)), nil}, nvml.P2P_STATUS_OK, nvml.SUCCESS, nvml.TOPOLOGY_SYSTEM)
	first := devices[0].(*mock.Device)
	m := bare()
	api, clock := mockLibrary(devices...), m.Clock.(*handClock)
	p, err := openLibrary(api, m)
	if err != nil {
		t.Fatal(err)
	}
	shown := 2
	api.DeviceGetCountFunc = func() (int, nvml.Return) { return shown, nvml.SUCCESS }
	asked := func(links int) int {
		t.Helper()
		before := len(first.GetP2PStatusCalls())
		r, err := p.Read(t.Context())
		if err != nil || len(r.Links) != links {
			t.Fatalf("%v, links %+v", err, r.Links)
		}
		return len(first.GetP2PStatusCalls()) - before
	}
	if n := asked(1); n != 1 {
		t.Errorf("asked %d times at first", n)
	}
	if n := asked(1); n != 0 {
		t.Errorf("asked %d times again", n)
	}
	if shown = 3; asked(3) != 1 {
		t.Error("a device came, and nobody asked")
	}
	if shown = 1; asked(0) != 0 {
		t.Error("one device alone has no links")
	}
	shown = 3
	clock.advance(linksAge)
	if asked(3) != 1 {
		t.Error("the answer was old, and nobody asked")
	}
}
