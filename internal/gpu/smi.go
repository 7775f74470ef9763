package gpu

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// smi asks nvidia-smi, which comes with every driver. Its XML ("-q -x") has all that is
// wanted but the names of MIG devices, which only its list ("-L") has.
type smi struct {
	m     Machine
	procs *procs
	links knownLinks
}

func openSMI(ctx context.Context, m Machine) (Probe, error) {
	p := &smi{m: m, procs: newProcs(m)}
	if _, err := p.Read(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *smi) Close() error { return nil }

func (p *smi) Read(ctx context.Context) (Reading, error) {
	out, failed := p.m.Run(ctx, "nvidia-smi", "-q", "-x")
	r, err := parseSMI(out)
	switch {
	case err != nil && failed != nil:
		return Reading{}, failed
	case err != nil:
		return Reading{}, fmt.Errorf("nvidia-smi -q -x: %w", err)
	case failed != nil: // it ends with 15 where one GPU of several is lost, and tells of the others
		r.Notes = append(r.Notes, failed.Error())
	}
	r.Time, r.Source = p.m.Clock.Now(), "nvidia-smi"
	if slices.ContainsFunc(r.Devices, func(d Device) bool { return len(d.Instances) > 0 }) {
		if err := p.nameInstances(ctx, &r); err != nil {
			r.Notes = append(r.Notes, "MIG devices stay without UUID and profile: "+err.Error())
		}
	}
	for i := range r.Devices {
		shareMemory(&r.Devices[i], p.m)
	}
	p.learnLinks(ctx, &r)
	p.procs.describe(&r)
	r.tidy()
	return r, nil
}

func (p *smi) nameInstances(ctx context.Context, r *Reading) error {
	out, err := p.m.Run(ctx, "nvidia-smi", "-L")
	if err != nil {
		return err
	}
	return nameInstances(r, string(out))
}

// shareMemory takes the memory of a device that has none of its own from the machine: GB10
// and the like have an NVML that does not tell it.
func shareMemory(d *Device, m Machine) {
	if d.Kind != KindUnified || d.Memory != nil {
		return
	}
	memory, err := unifiedMemory(m.Root)
	if err != nil {
		d.trouble(err)
		return
	}
	d.Memory = memory
}

// The part of the XML that is read. Drivers since 450 write it so; what an older or newer
// one lacks stays empty.
type smiLog struct {
	XMLName xml.Name `xml:"nvidia_smi_log"`
	Driver  string   `xml:"driver_version"`
	CUDA    string   `xml:"cuda_version"`
	GPUs    []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	Address     string       `xml:"id,attr"`
	Name        string       `xml:"product_name"`
	UUID        string       `xml:"uuid"`
	Persistence string       `xml:"persistence_mode"`
	Addressing  string       `xml:"addressing_mode"`
	MIG         string       `xml:"mig_mode>current_mig"`
	Instances   []smiMIG     `xml:"mig_devices>mig_device"`
	Virtual     string       `xml:"gpu_virtualization_mode>virtualization_mode"`
	Memory      smiMemory    `xml:"fb_memory_usage"`
	ComputeMode string       `xml:"compute_mode"`
	Utilization string       `xml:"utilization>gpu_util"`
	ECC         string       `xml:"ecc_mode>current_ecc"`
	Errors      smiErrors    `xml:"ecc_errors>volatile"`
	Processes   []smiProcess `xml:"processes>process_info"`
}

type smiMIG struct {
	UUID            string    `xml:"uuid"`
	GPUInstance     string    `xml:"gpu_instance_id"`
	ComputeInstance string    `xml:"compute_instance_id"`
	Memory          smiMemory `xml:"fb_memory_usage"`
}

type smiMemory struct {
	Total    string `xml:"total"`
	Reserved string `xml:"reserved"` // since driver 510
	Used     string `xml:"used"`
	Free     string `xml:"free"`
}

// smiErrors are counters whose names differ with the architecture: dram_correctable,
// sram_uncorrectable_parity, …; before driver 410 single_bit and double_bit with a total.
type smiErrors struct {
	Counters []struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
		Total   string `xml:"total"`
	} `xml:",any"`
}

type smiProcess struct {
	GPUInstance     string `xml:"gpu_instance_id"`
	ComputeInstance string `xml:"compute_instance_id"`
	PID             string `xml:"pid"`
	Use             string `xml:"type"`
	Name            string `xml:"process_name"`
	Memory          string `xml:"used_memory"`
}

// Limits of what a machine can have, far beyond any that exists.
const (
	maxDevices   = 1024
	maxProcesses = 100_000
)

// parseSMI reads what "nvidia-smi -q -x" prints.
func parseSMI(raw []byte) (Reading, error) {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	// The XML says it is of version 1.0 and has no encoding; names come from programs, and may be no UTF-8.
	dec.Strict = false
	var log smiLog
	if err := dec.Decode(&log); err != nil {
		return Reading{}, fmt.Errorf("expected the XML of nvidia-smi: %w", err)
	}
	if len(log.GPUs) > maxDevices {
		return Reading{}, fmt.Errorf("%d GPUs are more than a machine can have", len(log.GPUs))
	}
	r := Reading{Driver: told(log.Driver), CUDA: told(log.CUDA)}
	for i, g := range log.GPUs {
		if len(r.Processes)+len(g.Processes) > maxProcesses {
			return Reading{}, fmt.Errorf("more than %d processes are more than a machine can have", maxProcesses)
		}
		d, processes := g.device(i)
		r.Devices = append(r.Devices, d)
		r.Processes = append(r.Processes, processes...)
	}
	if len(r.Devices) == 0 {
		return Reading{}, errors.New("no devices were found")
	}
	return r, r.check()
}

// device reads what there is. A device that is lost or ill has words where its numbers
// should be: they become its problem, and the other devices stay readable.
func (g *smiGPU) device(index int) (Device, []Process) {
	d := Device{
		Index:       index,
		UUID:        told(g.UUID),
		Name:        told(g.Name),
		PCIAddress:  strings.ToLower(g.Address),
		Kind:        KindGPU,
		Utilization: smiPercent(g.Utilization),
		MIG:         g.MIG == "Enabled",
		ECC:         ECC{Mode: smiMode(g.ECC)},
		Persistence: smiMode(g.Persistence),
		ComputeMode: smiComputeMode(g.ComputeMode),
	}
	d.ECC.Corrected, d.ECC.Uncorrected = g.Errors.sums()
	if d.UUID == "" {
		d.UUID = unknownUUID(index)
		d.trouble(errors.New("nvidia-smi tells no UUID"))
	}
	var err error
	d.Memory, err = g.Memory.memory()
	d.trouble(err)
	switch {
	case g.Virtual == "VGPU":
		d.Kind = KindVGPU
	case d.Memory == nil && err == nil && !d.MIG && g.sharesMemory():
		d.Kind = KindUnified
	}
	for _, in := range g.Instances {
		instance, err := in.instance()
		d.trouble(err)
		if err == nil {
			d.Instances = append(d.Instances, instance)
		}
	}
	return d, g.processes(&d)
}

// sharesMemory recognises devices that use the processor's memory: GB10 and the like by
// how they address it, Jetsons by their driver, which is in the name.
func (g *smiGPU) sharesMemory() bool {
	return g.Addressing == "ATS" || strings.Contains(g.Name, "(nvgpu)")
}

func (in *smiMIG) instance() (Instance, error) {
	gi, ci := smiInt(in.GPUInstance), smiInt(in.ComputeInstance)
	if gi == nil || ci == nil {
		return Instance{}, fmt.Errorf("%.20q and %.20q are no numbers of MIG instances", in.GPUInstance, in.ComputeInstance)
	}
	memory, err := in.Memory.memory()
	return Instance{UUID: told(in.UUID), GPUInstance: *gi, ComputeInstance: *ci, Memory: memory}, err
}

func (g *smiGPU) processes(d *Device) (all []Process) {
	for _, p := range g.Processes {
		pid, err := strconv.Atoi(strings.TrimSpace(p.PID))
		if err != nil || pid <= 0 {
			d.trouble(fmt.Errorf("%.20q is not the number of a process", p.PID))
			continue
		}
		used, err := smiBytes(p.Memory)
		d.trouble(err)
		all = append(all, Process{
			PID:             pid,
			DeviceUUID:      d.UUID,
			GPUInstance:     smiInt(p.GPUInstance),
			ComputeInstance: smiInt(p.ComputeInstance),
			UsedBytes:       used,
			Use:             smiUse(p.Use),
			Name:            programName(p.Name),
		})
	}
	return all
}

// memory reads the amounts; nil where the driver does not tell them.
func (s *smiMemory) memory() (*Memory, error) {
	var amounts [4]*int64
	for i, text := range []string{s.Total, s.Used, s.Free, s.Reserved} {
		n, err := smiBytes(text)
		if err != nil {
			return nil, err
		}
		amounts[i] = n
	}
	total, used, free := amounts[0], amounts[1], amounts[2]
	if total == nil || used == nil || free == nil {
		return nil, nil
	}
	return checked(&Memory{TotalBytes: *total, UsedBytes: *used, FreeBytes: *free, ReservedBytes: amounts[3]})
}

// sums adds the counters up. One that is not told makes no sum.
func (s *smiErrors) sums() (corrected, uncorrected *int64) {
	for _, c := range s.Counters {
		text := c.Text
		if c.Total != "" {
			text = c.Total
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		to := &corrected
		if strings.Contains(c.XMLName.Local, "uncorrectable") || c.XMLName.Local == "double_bit" {
			to = &uncorrected
		}
		if *to == nil {
			*to = new(int64)
		}
		**to += n
	}
	return corrected, uncorrected
}

// told returns a text of nvidia-smi, empty where it stands for nothing: N/A, [N/A],
// [Not Supported], [Unknown Error], Insufficient Permissions.
func told(text string) string {
	text = strings.TrimSpace(text)
	bare := strings.Trim(text, "[]")
	switch {
	case bare == "N/A", bare == "Insufficient Permissions", bare == "Not Supported", bare == "Not Found", bare == "Unknown", bare == "None":
		return ""
	case bare != text:
		return ""
	}
	return text
}

// smiBytes reads an amount as "1234 MiB"; nil where none is told.
func smiBytes(text string) (*int64, error) {
	text = told(text)
	if text == "" {
		return nil, nil
	}
	n, err := units.ParseBytes(text)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

func smiInt(text string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

func smiPercent(text string) *int {
	n := smiInt(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	if n == nil || *n > 100 {
		return nil
	}
	return n
}

func smiMode(text string) string {
	switch strings.TrimSpace(text) {
	case "Enabled":
		return "on"
	case "Disabled":
		return "off"
	}
	return ""
}

// smiComputeMode reads Default, Exclusive_Process, Exclusive_Thread and Prohibited.
func smiComputeMode(text string) string {
	return strings.ReplaceAll(strings.ToLower(told(text)), " ", "_")
}

func smiUse(text string) string {
	switch strings.TrimSpace(text) {
	case "G":
		return useGraphics
	case "C+G", "M+C+G":
		return useBoth
	}
	return useCompute // C, and M+C of clients of MPS
}

// What a process does on a device.
const (
	useCompute  = "compute"
	useGraphics = "graphics"
	useBoth     = "both"
)

// programName is the last part of a path. nvidia-smi has the path alone, or with arguments
// where the driver saw them.
func programName(path string) string {
	path = told(path)
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && !strings.Contains(path[:i], " ") {
		path = path[i+1:]
	}
	return path
}
