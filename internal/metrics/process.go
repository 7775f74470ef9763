package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/internal/gpu"
)

type processFamilies struct{ info, used *family }

func newProcessFamilies(f *families) processFamilies {
	return processFamilies{
		info: f.gauge("ullage_process_info", "A process that holds memory of a GPU, and where it runs; always 1. Only with per_process_metrics.",
			"pid", "user", "name", "runtime", "container_id", "pod_uid", "slurm_job", "slurm_step", "unit"),
		used: f.gauge("ullage_process_memory_used_bytes", "What a process holds of a GPU; absent where the driver does not tell. Only with per_process_metrics.",
			"pid", "uuid", "gpu_instance"),
	}
}

// processOn is a process on a device.
type processOn struct {
	pid int
	place
}

// processSeries tells of each process. A PID makes a series of every run of a program, so
// they are there only for those who ask for them.
func (s *scrape) processSeries() {
	all := slices.Clone(s.state.Reading.Processes)
	slices.SortStableFunc(all, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(heldBytes(&b), heldBytes(&a)), cmp.Compare(a.PID, b.PID))
	})
	all = all[:s.capped(kindProcess, len(all), s.options.MaxProcesses)]
	named, used := map[int]bool{}, map[processOn]*int64{}
	for i := range all {
		p := &all[i]
		pid := strconv.Itoa(p.PID)
		if !named[p.PID] {
			named[p.PID] = true
			in := &p.Place
			s.put(s.process.info, 1, pid, s.text(p.User), s.text(p.Name), s.text(in.Runtime), s.text(in.ContainerID),
				s.text(in.PodUID), s.text(in.SlurmJob), s.text(in.SlurmStep), s.text(in.Unit))
		}
		on := processOn{p.PID, s.processPlace(p)}
		if before, twice := used[on]; twice { // in two MIG devices of one GPU instance
			used[on] = plus(before, p.UsedBytes)
		} else {
			used[on] = p.UsedBytes
		}
	}
	for on, bytes := range used {
		putKnown(s, s.process.used, bytes, strconv.Itoa(on.pid), on.uuid, on.instance)
	}
}

func heldBytes(p *gpu.Process) int64 {
	if p.UsedBytes == nil {
		return 0
	}
	return *p.UsedBytes
}

func (s *scrape) processPlace(p *gpu.Process) place {
	at := s.place(p.DeviceUUID)
	if p.GPUInstance != nil {
		at.instance = strconv.Itoa(*p.GPUInstance)
	}
	return at
}
