//go:build linux && cgo

package gpu

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"
)

// mockLibrary is an NVML with some devices.
func mockLibrary(devices ...nvml.Device) *mock.Interface {
	return &mock.Interface{
		InitFunc:                       func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:                   func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc:             func() (int, nvml.Return) { return len(devices), nvml.SUCCESS },
		SystemGetDriverVersionFunc:     func() (string, nvml.Return) { return "570.172.08", nvml.SUCCESS },
		SystemGetCudaDriverVersionFunc: func() (int, nvml.Return) { return 12080, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return devices[i], nvml.SUCCESS
		},
	}
}

// mockDevice is an H100 without MIG and without processes.
func mockDevice(uuid string) *mock.Device {
	none := func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
	return &mock.Device{
		GetUUIDFunc: func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
		GetNameFunc: func() (string, nvml.Return) { return "NVIDIA H100", nvml.SUCCESS },
		GetPciInfoFunc: func() (nvml.PciInfo, nvml.Return) {
			return nvml.PciInfo{Domain: 1, Bus: 0x1b}, nvml.SUCCESS
		},
		GetVirtualizationModeFunc: func() (nvml.GpuVirtualizationMode, nvml.Return) {
			return nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS
		},
		GetMigModeFunc:         func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED },
		GetPersistenceModeFunc: func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS },
		GetComputeModeFunc:     func() (nvml.ComputeMode, nvml.Return) { return nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, nvml.SUCCESS },
		GetEccModeFunc: func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
			return nvml.FEATURE_ENABLED, nvml.FEATURE_ENABLED, nvml.SUCCESS
		},
		GetTotalEccErrorsFunc: func(k nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
			return 7 + uint64(k), nvml.SUCCESS
		},
		GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 42}, nvml.SUCCESS },
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 100, Reserved: 10, Used: 60, Free: 30}, nvml.SUCCESS
		},
		GetNvLinkStateFunc: func(int) (nvml.EnableState, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED },
		GetTopologyCommonAncestorFunc: func(nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
			return nvml.TOPOLOGY_SYSTEM, nvml.SUCCESS
		},
		GetComputeRunningProcessesFunc:  none,
		GetGraphicsRunningProcessesFunc: none,
	}
}

func readMock(t *testing.T, m Machine, devices ...nvml.Device) Reading {
	t.Helper()
	p, err := openLibrary(mockLibrary(devices...), m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func lists(infos ...nvml.ProcessInfo) func() ([]nvml.ProcessInfo, nvml.Return) {
	return func() ([]nvml.ProcessInfo, nvml.Return) { return infos, nvml.SUCCESS }
}

func ptr[T any](v T) *T { return &v }

func TestNVML(t *testing.T) {
	d := mockDevice("GPU-1")
	d.GetComputeRunningProcessesFunc = lists(
		nvml.ProcessInfo{Pid: 5, UsedGpuMemory: 50, GpuInstanceId: notAvailable32, ComputeInstanceId: notAvailable32},
		nvml.ProcessInfo{Pid: 6, UsedGpuMemory: notAvailable, GpuInstanceId: notAvailable32, ComputeInstanceId: notAvailable32})
	d.GetGraphicsRunningProcessesFunc = lists(nvml.ProcessInfo{Pid: 5, UsedGpuMemory: 50, GpuInstanceId: notAvailable32, ComputeInstanceId: notAvailable32})
	got := readMock(t, bare(), d)
	want := Reading{
		Time: newHandClock().Now(), Source: "nvml", Driver: "570.172.08", CUDA: "12.8",
		Devices: []Device{{
			UUID: "GPU-1", Name: "NVIDIA H100", PCIAddress: "00000001:1b:00.0", Kind: KindGPU,
			Memory:      &Memory{TotalBytes: 100, UsedBytes: 60, ReservedBytes: ptr(int64(10)), FreeBytes: 30},
			Utilization: ptr(42), Instances: []Instance{}, Persistence: "on", ComputeMode: "exclusive_process",
			ECC: ECC{Mode: "on", Corrected: ptr(int64(7)), Uncorrected: ptr(int64(8))},
		}},
		Processes: []Process{
			{PID: 5, DeviceUUID: "GPU-1", UsedBytes: ptr(int64(50)), Use: useBoth},
			{PID: 6, DeviceUUID: "GPU-1", Use: useCompute},
		},
		Notes: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading (-want +got):\n%s", diff)
	}
}

// TestNVMLInstances: a process that the device and its instance list is there once; one that
// only the instance lists is there too; gaps between indices are no fault.
func TestNVMLInstances(t *testing.T) {
	mig := mockDevice("MIG-1")
	mig.GetNameFunc = func() (string, nvml.Return) { return "NVIDIA H100 80GB HBM3 MIG 1g.10gb", nvml.SUCCESS }
	mig.GetGpuInstanceIdFunc = func() (int, nvml.Return) { return 9, nvml.SUCCESS }
	mig.GetComputeInstanceIdFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	shared := nvml.ProcessInfo{Pid: 5, UsedGpuMemory: 50, GpuInstanceId: 9, ComputeInstanceId: 0}
	mig.GetComputeRunningProcessesFunc = lists(shared, nvml.ProcessInfo{Pid: 8, UsedGpuMemory: 1, GpuInstanceId: 9})
	d := mockDevice("GPU-1")
	d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 1, nvml.SUCCESS }
	d.GetComputeRunningProcessesFunc = lists(shared)
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NO_PERMISSION }
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NO_PERMISSION }
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 2 {
			return mig, nvml.SUCCESS
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
	r := readMock(t, bare(), d)
	want := []Instance{{UUID: "MIG-1", Profile: "1g.10gb", GPUInstance: 9, Memory: &Memory{TotalBytes: 100, UsedBytes: 60, ReservedBytes: ptr(int64(10)), FreeBytes: 30}}}
	if diff := cmp.Diff(want, r.Devices[0].Instances); diff != "" || r.Devices[0].Memory != nil || r.Devices[0].Problem != "" {
		t.Errorf("device %+v; instances (-want +got):\n%s", r.Devices[0], diff)
	}
	if len(r.Processes) != 2 || r.Processes[0].PID != 5 || r.Processes[1].PID != 8 || *r.Processes[1].GPUInstance != 9 {
		t.Errorf("processes %+v", r.Processes)
	}
}

// TestNVMLUnified: a device whose memory NVML does not support has the machine's.
func TestNVMLUnified(t *testing.T) {
	d := mockDevice("GPU-1")
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
	m := bare()
	m.Root = fstest.MapFS{"proc/meminfo": file("MemTotal: 10 kB\nMemAvailable: 4 kB\n")}
	got := readMock(t, m, d).Devices[0]
	if got.Kind != KindUnified || got.Memory == nil || got.Memory.FreeBytes != 4096 || got.Problem != "" {
		t.Errorf("got %+v", got)
	}
}

// TestNVMLStuck: one device that hangs leaves the other readable, and stays on the list as
// who it is.
func TestNVMLStuck(t *testing.T) {
	release, hangs := make(chan bool), false
	defer close(release)
	hung := mockDevice("GPU-2")
	hung.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		if hangs {
			<-release
		}
		return nvml.Memory_v2{Total: 1, Free: 1}, nvml.SUCCESS
	}
	m := bare()
	clock := m.Clock.(*handClock)
	p, err := openLibrary(mockLibrary(mockDevice("GPU-1"), hung), m)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := p.Read(t.Context()); err != nil || r.Devices[1].Problem != "" {
		t.Fatalf("%v, %+v", err, r.Devices)
	}
	for range 3 { // the timers of each device, and of the links, were set and stopped
		<-clock.set
		<-clock.unset
	}
	hangs = true
	got := readLater(t.Context(), p)
	<-clock.set
	<-clock.set
	<-clock.unset // the healthy one is done
	clock.advance(deviceDeadline)
	a := <-got
	if a.err != nil || len(a.reading.Devices) != 2 || a.reading.Devices[0].Problem != "" {
		t.Fatalf("%v, %+v", a.err, a.reading.Devices)
	}
	if d := a.reading.Devices[1]; d.UUID != "GPU-2" || d.Name != "NVIDIA H100" || d.Memory != nil || d.Problem != "NVML has not answered for 2.00 s" {
		t.Errorf("got %+v", d)
	}
}

// TestNVMLFails: what NVML says becomes an error.
func TestNVMLFails(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND: "NVML (libnvidia-ml.so.1) is not installed",
		nvml.ERROR_DRIVER_NOT_LOADED: "nvmlInit: ",
	} {
		api := mockLibrary()
		api.InitFunc = func() nvml.Return { return ret }
		if _, err := openLibrary(api, bare()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: got %v", ret, err)
		}
	}
	if _, err := openLibrary(mockLibrary(), bare()); err == nil || err.Error() != "NVML sees no device" {
		t.Errorf("got %v", err)
	}
	api := mockLibrary(mockDevice("GPU-1"))
	p, err := openLibrary(api, bare())
	if err != nil {
		t.Fatal(err)
	}
	api.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	if _, err := p.Read(t.Context()); err == nil || errors.Is(err, ErrNoGPU) {
		t.Errorf("got %v", err)
	}
}
