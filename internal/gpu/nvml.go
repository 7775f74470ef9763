//go:build linux && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// deviceDeadline is how long NVML may take for one device. All calls for one take 20 ms on a
// healthy machine; one that has to wake a device takes up to a second.
const deviceDeadline = 2 * time.Second

// library is NVML, loaded by openNVML from libnvidia-ml.so.1. Its types stay in this file.
type library struct {
	api      nvml.Interface
	m        Machine
	procs    *procs
	links    knownLinks
	linkLane lane[struct{}]

	mu    sync.Mutex
	lanes map[int]*lane[deviceReading] // by the device's index
	known map[int]Device               // who answered last at that index
}

// deviceReading is what one device tells.
type deviceReading struct {
	device    Device
	processes []Process
	silent    bool // it did not answer, and is what it was
}

func openNVML(m Machine) (Probe, error) { return openLibrary(nvml.New(), m) }

func openLibrary(api nvml.Interface, m Machine) (Probe, error) {
	if ret := api.Init(); ret != nvml.SUCCESS {
		return nil, nvmlError("nvmlInit", ret)
	}
	l := &library{api: api, m: m, procs: newProcs(m), lanes: map[int]*lane[deviceReading]{}, known: map[int]Device{}}
	l.linkLane = lane[struct{}]{what: "NVML", limit: linksDeadline, clock: m.Clock}
	count, ret := api.DeviceGetCount()
	if ret != nvml.SUCCESS || count == 0 {
		_ = l.Close()
		if ret == nvml.SUCCESS {
			return nil, errors.New("NVML sees no device")
		}
		return nil, nvmlError("nvmlDeviceGetCount", ret)
	}
	return l, nil
}

func nvmlError(call string, ret nvml.Return) error {
	if ret == nvml.ERROR_LIBRARY_NOT_FOUND { // then there is no library to ask for the text either
		return errNoLibrary
	}
	return fmt.Errorf("%s: %s (%d)", call, ret.String(), int(ret))
}

func (l *library) Close() error {
	if ret := l.api.Shutdown(); ret != nvml.SUCCESS {
		return nvmlError("nvmlShutdown", ret)
	}
	return nil
}

// Read asks all devices at once, so that one that hangs takes no time from the others.
func (l *library) Read(ctx context.Context) (Reading, error) {
	count, ret := l.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return Reading{}, nvmlError("nvmlDeviceGetCount", ret)
	}
	r := Reading{Time: l.m.Clock.Now(), Source: "nvml"}
	r.Driver, r.CUDA = l.versions()
	answers := make([]deviceReading, count)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { answers[i] = l.ask(ctx, i) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return Reading{}, ctx.Err()
	}
	silent := false
	for _, a := range answers {
		silent = silent || a.silent
		r.Devices = append(r.Devices, a.device)
		r.Processes = append(r.Processes, a.processes...)
	}
	l.learnLinks(ctx, &r, silent)
	l.procs.describe(&r)
	r.tidy()
	return r, nil
}

func (l *library) versions() (driver, cuda string) {
	if v, ret := l.api.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		driver = v
	}
	if v, ret := l.api.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	return driver, cuda
}

// ask reads one device in its lane. One that does not answer stays in the reading as who it
// was when it last did.
func (l *library) ask(ctx context.Context, index int) deviceReading {
	a, err := l.lane(index).do(ctx, func(context.Context) (deviceReading, error) { return l.device(index) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.known[index] = a.device
		return a
	}
	d := Device{Index: index, UUID: unknownUUID(index), Kind: KindGPU}
	if k, ok := l.known[index]; ok {
		d.UUID, d.Name, d.PCIAddress, d.Kind = k.UUID, k.Name, k.PCIAddress, k.Kind
	}
	d.trouble(err)
	return deviceReading{device: d, silent: true}
}

func (l *library) lane(index int) *lane[deviceReading] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lanes[index] == nil {
		l.lanes[index] = &lane[deviceReading]{what: "NVML", limit: deviceDeadline, clock: l.m.Clock}
	}
	return l.lanes[index]
}

func (l *library) device(index int) (deviceReading, error) {
	h, ret := l.api.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return deviceReading{}, nvmlError("nvmlDeviceGetHandleByIndex", ret)
	}
	d := Device{Index: index, Kind: KindGPU}
	nvmlIdentity(h, &d)
	nvmlModes(h, &d)
	l.memory(h, &d)
	processes := nvmlProcesses(h, &d)
	if d.MIG {
		processes = append(processes, nvmlInstances(h, &d)...)
	}
	return deviceReading{device: d, processes: mergeProcesses(processes, d.UUID)}, nil
}

// memory reads a device's memory. One that has none of its own has the machine's; one in MIG
// mode tells its own only to the privileged.
func (l *library) memory(h nvml.Device, d *Device) {
	memory, ret := nvmlMemory(h)
	switch {
	case ret == nvml.SUCCESS:
		var err error
		d.Memory, err = checked(memory)
		d.trouble(err)
	case d.MIG:
	case ret == nvml.ERROR_NOT_SUPPORTED && d.Kind == KindGPU:
		d.Kind = KindUnified
		shareMemory(d, l.m)
	default:
		d.trouble(nvmlError("nvmlDeviceGetMemoryInfo", ret))
	}
}

func nvmlIdentity(h nvml.Device, d *Device) {
	var ret nvml.Return
	if d.UUID, ret = h.GetUUID(); ret != nvml.SUCCESS {
		d.UUID = unknownUUID(d.Index)
		d.trouble(nvmlError("nvmlDeviceGetUUID", ret))
	}
	d.Name, _ = h.GetName()
	if pci, ret := h.GetPciInfo(); ret == nvml.SUCCESS {
		d.PCIAddress = nvmlAddress(pci)
	}
	if mode, ret := h.GetVirtualizationMode(); ret == nvml.SUCCESS && mode == nvml.GPU_VIRTUALIZATION_MODE_VGPU {
		d.Kind = KindVGPU
	}
}

func nvmlAddress(pci nvml.PciInfo) string {
	return fmt.Sprintf("%08x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device)
}

func nvmlModes(h nvml.Device, d *Device) {
	if current, _, ret := h.GetMigMode(); ret == nvml.SUCCESS {
		d.MIG = current == nvml.DEVICE_MIG_ENABLE
	}
	if on, ret := h.GetPersistenceMode(); ret == nvml.SUCCESS {
		d.Persistence = nvmlSwitch(on)
	}
	if mode, ret := h.GetComputeMode(); ret == nvml.SUCCESS {
		d.ComputeMode = map[nvml.ComputeMode]string{
			nvml.COMPUTEMODE_DEFAULT: "default", nvml.COMPUTEMODE_PROHIBITED: "prohibited",
			nvml.COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive_process", nvml.COMPUTEMODE_EXCLUSIVE_THREAD: "exclusive_thread",
		}[mode]
	}
	if current, _, ret := h.GetEccMode(); ret == nvml.SUCCESS {
		d.ECC.Mode = nvmlSwitch(current)
	}
	d.ECC.Corrected = nvmlErrors(h, nvml.MEMORY_ERROR_TYPE_CORRECTED)
	d.ECC.Uncorrected = nvmlErrors(h, nvml.MEMORY_ERROR_TYPE_UNCORRECTED)
	if u, ret := h.GetUtilizationRates(); ret == nvml.SUCCESS && u.Gpu <= 100 {
		percent := int(u.Gpu)
		d.Utilization = &percent
	}
}

func nvmlSwitch(s nvml.EnableState) string {
	if s == nvml.FEATURE_ENABLED {
		return "on"
	}
	return "off"
}

func nvmlErrors(h nvml.Device, kind nvml.MemoryErrorType) *int64 {
	n, ret := h.GetTotalEccErrors(kind, nvml.VOLATILE_ECC)
	if ret != nvml.SUCCESS {
		return nil
	}
	count := int64(n)
	return &count
}

// nvmlMemory prefers the second version of the call, which tells what the driver keeps for
// itself from what programs use. Drivers before 510 have only the first.
func nvmlMemory(h nvml.Device) (*Memory, nvml.Return) {
	if m, ret := h.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
		reserved := int64(m.Reserved)
		return &Memory{TotalBytes: int64(m.Total), UsedBytes: int64(m.Used), FreeBytes: int64(m.Free), ReservedBytes: &reserved}, ret
	}
	m, ret := h.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return &Memory{TotalBytes: int64(m.Total), UsedBytes: int64(m.Used), FreeBytes: int64(m.Free)}, ret
}

// nvmlInstances reads the MIG devices, and the processes that only they tell: without
// privilege the whole device's list leaves them out.
func nvmlInstances(h nvml.Device, d *Device) (processes []Process) {
	most, ret := h.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		d.trouble(nvmlError("nvmlDeviceGetMaxMigDeviceCount", ret))
	}
	for i := range most {
		mig, ret := h.GetMigDeviceHandleByIndex(i)
		switch ret {
		case nvml.SUCCESS:
			processes = append(processes, nvmlInstance(mig, d)...)
		case nvml.ERROR_NOT_FOUND: // indices have gaps
		default:
			d.trouble(nvmlError("nvmlDeviceGetMigDeviceHandleByIndex", ret))
		}
	}
	return processes
}

func nvmlInstance(mig nvml.Device, d *Device) []Process {
	var in Instance
	in.UUID, _ = mig.GetUUID()
	in.GPUInstance, _ = mig.GetGpuInstanceId()
	in.ComputeInstance, _ = mig.GetComputeInstanceId()
	if memory, ret := nvmlMemory(mig); ret == nvml.SUCCESS {
		var err error
		in.Memory, err = checked(memory)
		d.trouble(err)
	}
	if name, ret := mig.GetName(); ret == nvml.SUCCESS {
		in.Profile = profileOf(name)
	}
	d.Instances = append(d.Instances, in)
	processes := nvmlProcesses(mig, d)
	for i := range processes {
		processes[i].GPUInstance, processes[i].ComputeInstance = &in.GPUInstance, &in.ComputeInstance
	}
	return processes
}

// notAvailable is what stands for no value, in 64 and in 32 bits.
const (
	notAvailable   = ^uint64(0)
	notAvailable32 = ^uint32(0)
)

// nvmlProcesses reads both lists. A device that has no graphics does not support the second.
func nvmlProcesses(h nvml.Device, d *Device) (all []Process) {
	for _, list := range []struct {
		use  string
		call func() ([]nvml.ProcessInfo, nvml.Return)
	}{{useCompute, h.GetComputeRunningProcesses}, {useGraphics, h.GetGraphicsRunningProcesses}} {
		infos, ret := list.call()
		if ret != nvml.SUCCESS && ret != nvml.ERROR_NOT_SUPPORTED {
			d.trouble(nvmlError("list of "+list.use+" processes", ret))
		}
		for _, info := range infos {
			all = append(all, nvmlProcess(info, list.use))
		}
	}
	return all
}

func nvmlProcess(info nvml.ProcessInfo, use string) Process {
	p := Process{PID: int(info.Pid), Use: use}
	if info.UsedGpuMemory != notAvailable {
		used := int64(info.UsedGpuMemory)
		p.UsedBytes = &used
	}
	if info.GpuInstanceId != notAvailable32 {
		gi, ci := int(info.GpuInstanceId), int(info.ComputeInstanceId)
		p.GPUInstance, p.ComputeInstance = &gi, &ci
	}
	return p
}
