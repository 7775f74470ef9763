package metrics

import (
	"strconv"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// place is a device as labels name it: a GPU, or a GPU instance of one that is split.
type place struct{ uuid, instance string }

// index finds the place of every UUID, and what the processes on each come to.
func (s *scrape) index() {
	s.places, s.members, s.holdings = map[string]place{}, map[place][]string{}, map[place]*holding{}
	for _, d := range s.state.Reading.Devices {
		uuid := s.text(d.UUID)
		s.member(place{uuid: uuid}, d.UUID)
		for _, in := range d.Instances {
			s.member(place{uuid, strconv.Itoa(in.GPUInstance)}, in.UUID)
		}
	}
	for i := range s.state.Jobs {
		for k := range s.state.Jobs[i].Devices {
			s.hold(&s.state.Jobs[i], &s.state.Jobs[i].Devices[k])
		}
	}
}

func (s *scrape) member(p place, uuid string) {
	s.places[bare(uuid)] = p
	s.members[p] = append(s.members[p], uuid)
}

// place returns the labels of a device. One that the reading does not have keeps its UUID.
func (s *scrape) place(uuid string) place {
	if p, ok := s.places[bare(uuid)]; ok {
		return p
	}
	return place{uuid: s.text(uuid)}
}

// memoryFamilies are a device's memory. Whole GPUs and GPU instances have one each, so that
// a sum over either counts no byte twice.
type memoryFamilies struct{ total, used, reserved, free *family }

func newMemoryFamilies(f *families, of, prefix string, labels ...string) memoryFamilies {
	return memoryFamilies{
		total:    f.gauge(prefix+"_memory_total_bytes", "What "+of+" has: used, reserved and free together.", labels...),
		used:     f.gauge(prefix+"_memory_used_bytes", "What programs use of "+of+", with their contexts.", labels...),
		reserved: f.gauge(prefix+"_memory_reserved_bytes", "What driver and firmware keep of "+of+" for themselves; absent where that is counted as used.", labels...),
		free:     f.gauge(prefix+"_memory_free_bytes", "What is free of "+of+".", labels...),
	}
}

func (s *scrape) memory(f memoryFamilies, m *gpu.Memory, labels ...string) {
	if m == nil {
		return
	}
	s.put(f.total, float64(m.TotalBytes), labels...)
	s.put(f.used, float64(m.UsedBytes), labels...)
	putKnown(s, f.reserved, m.ReservedBytes, labels...)
	s.put(f.free, float64(m.FreeBytes), labels...)
}

type deviceFamilies struct {
	memory, migMemory                                        memoryFamilies
	info, migInfo, problem, utilization, ecc                 *family
	processes, unaccounted, orphanProcesses, orphans, strays *family
	foreignProcesses, ooms, retries                          *family
	capacity, granted, foreign, available, reserve           *family
	cordoned, absent, unseen, overfull                       *family
}

func newDeviceFamilies(f *families) deviceFamilies {
	at := []string{"uuid", "gpu_instance"}
	return deviceFamilies{
		info:        f.gauge("ullage_device_info", "A GPU and what seldom changes of it; always 1. kind is gpu, vgpu (a share that a hypervisor hands out) or unified (shares the processor's memory).", "uuid", "index", "name", "kind", "pci_address", "mig", "ecc", "persistence", "compute_mode"),
		memory:      newMemoryFamilies(f, "a GPU's memory", "ullage_device", "uuid"),
		utilization: f.gauge("ullage_device_utilization_ratio", "The share of time that any kernel ran, from 0 to 1; it says nothing about memory.", "uuid"),
		ecc:         f.counter("ullage_device_ecc_errors_total", "Errors of the GPU's memory since the driver was loaded, by type: corrected or uncorrected.", "uuid", "type"),
		problem:     f.gauge("ullage_device_problem", "1 where a GPU could not be read in full.", "uuid"),
		migInfo:     f.gauge("ullage_mig_info", "A MIG device; always 1.", "uuid", "gpu_instance", "compute_instance", "mig_uuid", "profile"),
		migMemory:   newMemoryFamilies(f, "a MIG GPU instance's memory", "ullage_mig", at...),

		processes:        f.gauge("ullage_device_processes", "Processes that hold memory.", at...),
		foreignProcesses: f.gauge("ullage_device_foreign_processes", "Of them, those without a lease.", at...),
		unaccounted:      f.gauge("ullage_device_memory_unaccounted_bytes", "Memory in use that no visible process holds; absent where a process does not tell what it holds.", "uuid"),
		orphanProcesses:  f.gauge("ullage_device_orphan_processes", "Processes whose lease is over, or whose job is gone.", at...),
		orphans:          f.gauge("ullage_device_orphaned_bytes", "What orphaned processes hold; absent where one does not tell.", at...),
		strays:           f.gauge("ullage_device_stray_contexts", "Contexts of ranks whose device is another: some hundred MiB each, of no use.", at...),
		ooms:             f.counter("ullage_device_ooms_total", "Out-of-memory errors of PyTorch's allocator since the agent began, of processes that report, ended ones too.", at...),
		retries:          f.counter("ullage_device_alloc_retries_total", "Times that PyTorch's allocator emptied its cache to get memory, likewise.", at...),

		capacity:  f.gauge("ullage_device_capacity_bytes", "What may be handed out as leases; absent for a GPU that is split.", at...),
		granted:   f.gauge("ullage_device_granted_bytes", "What leases hold.", at...),
		foreign:   f.gauge("ullage_device_foreign_bytes", "What is used without a lease or above one, as the scheduler counts it: the peak of the last seconds, rounded up.", at...),
		available: f.gauge("ullage_device_available_bytes", "What may still be handed out.", at...),
		reserve:   f.gauge("ullage_device_reserve_bytes", "What is kept for the leases of one queue.", "uuid", "gpu_instance", "queue"),
		cordoned:  f.gauge("ullage_device_cordoned", "1 where an administrator keeps new leases off.", at...),
		absent:    f.gauge("ullage_device_absent", "1 where leases are on a device that is not there.", at...),
		unseen:    f.gauge("ullage_device_unseen", "1 where the agent has not looked since it began, and grants nothing.", at...),
		overfull:  f.gauge("ullage_device_overfull", "1 where the capacity shrank, or a reserve grew, below what was granted.", at...),
	}
}

func (s *scrape) deviceSeries() {
	seen := map[place]bool{}
	first := func(p place) bool { was := seen[p]; seen[p] = true; return !was }
	for i := range s.state.Reading.Devices {
		d := &s.state.Reading.Devices[i]
		if uuid := s.text(d.UUID); first(place{uuid: uuid}) {
			s.gpuSeries(d, uuid)
			s.migSeries(d, uuid, first)
		}
	}
	clear(seen)
	for i := range s.state.Devices {
		d := &s.state.Devices[i]
		if p := s.place(d.UUID); first(p) && !d.Split {
			s.leaseDeviceSeries(d, p)
		}
	}
}

func (s *scrape) gpuSeries(d *gpu.Device, uuid string) {
	f := &s.device
	s.put(f.info, 1, uuid, strconv.Itoa(d.Index), s.text(d.Name), s.text(string(d.Kind)), s.text(d.PCIAddress),
		strconv.FormatBool(d.MIG), s.text(d.ECC.Mode), s.text(d.Persistence), s.text(d.ComputeMode))
	s.memory(f.memory, d.Memory, uuid)
	s.putTrue(f.problem, d.Problem != "", uuid)
	if d.Utilization != nil {
		s.put(f.utilization, float64(*d.Utilization)/100, uuid)
	}
	putKnown(s, f.ecc, d.ECC.Corrected, uuid, "corrected")
	putKnown(s, f.ecc, d.ECC.Uncorrected, uuid, "uncorrected")
	s.unaccountedSeries(d, uuid)
	whole := place{uuid: uuid}
	if !d.MIG || s.holdings[whole] != nil { // the processes of a split GPU are on its instances
		s.holderSeries(whole)
	}
}

// unaccountedSeries tells of memory in use that is nobody's. Where the processor's memory is
// the GPU's too, most of it is that of programs which never touch the GPU.
func (s *scrape) unaccountedSeries(d *gpu.Device, uuid string) {
	held, all := s.state.Reading.Held(d.UUID)
	if d.Memory != nil && all && d.Kind != gpu.KindUnified {
		s.put(s.device.unaccounted, float64(max(d.Memory.UsedBytes-held, 0)), uuid)
	}
}

func (s *scrape) migSeries(d *gpu.Device, uuid string, first func(place) bool) {
	for _, in := range d.Instances {
		p := place{uuid, strconv.Itoa(in.GPUInstance)}
		s.put(s.device.migInfo, 1, p.uuid, p.instance, strconv.Itoa(in.ComputeInstance), s.text(in.UUID), s.text(in.Profile))
		if first(p) {
			s.memory(s.device.migMemory, in.Memory, p.uuid, p.instance)
			s.holderSeries(p)
		}
	}
}

// holding is what the processes on a place come to.
type holding struct {
	processes, foreign, orphans, strays int
	orphanBytes                         int64
	untold                              bool // what an orphan holds
}

// hold counts a process with its place.
func (s *scrape) hold(j *client.Job, d *client.JobDevice) {
	p := s.place(d.Device)
	h := s.holdings[p]
	if h == nil {
		h = &holding{}
		s.holdings[p] = h
	}
	h.processes++
	if j.Lease == 0 {
		h.foreign++
	}
	if d.Stray {
		h.strays++
	}
	if !j.Orphan {
		return
	}
	h.orphans++
	if d.UsedBytes == nil {
		h.untold = true
		return
	}
	h.orphanBytes += *d.UsedBytes
}

// holderSeries tells who holds a place's memory, in numbers.
func (s *scrape) holderSeries(p place) {
	h := s.holdings[p]
	if h == nil {
		h = &holding{}
	}
	f := &s.device
	s.put(f.processes, float64(h.processes), p.uuid, p.instance)
	s.put(f.foreignProcesses, float64(h.foreign), p.uuid, p.instance)
	s.put(f.orphanProcesses, float64(h.orphans), p.uuid, p.instance)
	if !h.untold {
		s.put(f.orphans, float64(h.orphanBytes), p.uuid, p.instance)
	}
	s.put(f.strays, float64(h.strays), p.uuid, p.instance)
	counts := s.counters.deviceTotals(s.members[p])
	s.put(f.ooms, float64(counts.ooms), p.uuid, p.instance)
	s.put(f.retries, float64(counts.retries), p.uuid, p.instance)
}

func (s *scrape) leaseDeviceSeries(d *client.Device, p place) {
	f := &s.device
	s.put(f.capacity, float64(d.CapacityBytes), p.uuid, p.instance)
	s.put(f.granted, float64(d.GrantedBytes), p.uuid, p.instance)
	s.put(f.foreign, float64(d.ForeignBytes), p.uuid, p.instance)
	s.put(f.available, float64(d.AvailableBytes), p.uuid, p.instance)
	s.putTrue(f.cordoned, d.Cordoned, p.uuid, p.instance)
	s.putTrue(f.absent, d.Absent, p.uuid, p.instance)
	s.putTrue(f.unseen, d.Unseen, p.uuid, p.instance)
	s.putTrue(f.overfull, d.Overfull, p.uuid, p.instance)
	kept := map[string]int64{}
	for _, r := range d.Reserves {
		kept[s.text(queueLabel(r.Queue))] += r.Bytes
	}
	for queue, bytes := range kept {
		s.put(f.reserve, float64(bytes), p.uuid, p.instance, queue)
	}
}
