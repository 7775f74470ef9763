package gpu

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Probe asks a machine for its GPUs. It may be used by several goroutines at once.
type Probe interface {
	// Read asks once. An error means that nothing could be read; what is wrong with one
	// device only is in its Problem.
	Read(ctx context.Context) (Reading, error)
	// Close gives back what the probe holds. No Read may follow.
	Close() error
}

// Reading is a machine's GPUs at one moment.
type Reading struct {
	Time      time.Time `json:"time"`
	Source    string    `json:"source"` // which probe answered: nvml, nvidia-smi, meminfo, fake
	Driver    string    `json:"driver"` // its version; empty where unknown
	CUDA      string    `json:"cuda"`   // the newest CUDA release that the driver knows; empty where unknown
	Devices   []Device  `json:"devices"`
	Processes []Process `json:"processes"`       // by device, then by PID
	Links     []Link    `json:"links,omitempty"` // how close the GPUs are to each other; a pair that is not told is missing
	Notes     []string  `json:"notes"`           // what this reading cannot tell, and why
}

// Kind is what sort of thing a device is, as far as its memory goes.
type Kind string

// The kinds.
const (
	KindGPU     Kind = "gpu"     // has memory of its own
	KindVGPU    Kind = "vgpu"    // a share of a GPU that a hypervisor hands out: what other guests hold does not show
	KindUnified Kind = "unified" // shares the processor's memory: what any program holds is not free for it
)

// Device is a GPU.
type Device struct {
	Index       int        `json:"index"` // the driver's order, by PCI address; CUDA's may differ
	UUID        string     `json:"uuid"`
	Name        string     `json:"name"`
	PCIAddress  string     `json:"pci_address"` // empty where it has none
	Kind        Kind       `json:"kind"`
	Memory      *Memory    `json:"memory"`              // nil: not told
	Utilization *int       `json:"utilization_percent"` // share of time that any kernel ran; nil: not told
	MIG         bool       `json:"mig"`                 // is split, so that programs see its instances only
	Instances   []Instance `json:"instances"`
	ECC         ECC        `json:"ecc"`
	Persistence string     `json:"persistence"`  // on, off; empty where not told
	ComputeMode string     `json:"compute_mode"` // default, exclusive_process, exclusive_thread, prohibited; empty where not told
	Problem     string     `json:"problem"`      // why something is missing here; empty where nothing is
}

// Memory is a device's memory, in bytes. Total is Used, Reserved and Free together.
type Memory struct {
	TotalBytes    int64  `json:"total_bytes"`
	UsedBytes     int64  `json:"used_bytes"`     // by programs, with their contexts
	ReservedBytes *int64 `json:"reserved_bytes"` // by driver and firmware; nil: counted as used
	FreeBytes     int64  `json:"free_bytes"`
}

// Instance is a MIG device: a part of a GPU with memory of its own.
type Instance struct {
	UUID            string  `json:"uuid"`
	Profile         string  `json:"profile"` // as in 1g.10gb
	GPUInstance     int     `json:"gpu_instance"`
	ComputeInstance int     `json:"compute_instance"`
	Memory          *Memory `json:"memory"` // of its GPU instance, which several may share; nil: not told
}

// ECC tells of the error correction of a device's memory.
type ECC struct {
	Mode        string `json:"mode"`        // on, off; empty where there is none
	Corrected   *int64 `json:"corrected"`   // since the driver was loaded; nil: not told
	Uncorrected *int64 `json:"uncorrected"` // likewise
}

// Process is a program that holds memory on a device. One that uses two devices is there twice.
type Process struct {
	PID             int    `json:"pid"` // as the driver tells it
	DeviceUUID      string `json:"device_uuid"`
	GPUInstance     *int   `json:"gpu_instance"`     // nil: the whole device
	ComputeInstance *int   `json:"compute_instance"` // likewise
	UsedBytes       *int64 `json:"used_bytes"`       // nil: not told
	Use             string `json:"use"`              // compute, graphics, both

	Name         string `json:"name"`          // of the program; empty where it cannot be seen
	Command      string `json:"command"`       // with its arguments; empty likewise
	UID          *int   `json:"uid"`           // nil: it cannot be seen
	User         string `json:"user"`          // empty: it cannot be seen
	NamespacePID int    `json:"namespace_pid"` // what it is called within its container; 0: it cannot be seen
	StartTicks   int64  `json:"start_ticks"`   // when it began, in ticks since boot: tells it from a later one of the same PID
	Place        Place  `json:"place"`
}

// Device returns the device with a UUID, or nil.
func (r *Reading) Device(uuid string) *Device {
	i := slices.IndexFunc(r.Devices, func(d Device) bool { return d.UUID == uuid })
	if i < 0 {
		return nil
	}
	return &r.Devices[i]
}

// Held returns what the processes of a device hold together, and whether every one of them
// tells.
func (r *Reading) Held(uuid string) (bytes int64, all bool) {
	all = true
	for _, p := range r.Processes {
		switch {
		case p.DeviceUUID != uuid:
		case p.UsedBytes == nil:
			all = false
		default:
			bytes += *p.UsedBytes
		}
	}
	return bytes, all
}

// trouble notes what is wrong with a device; nothing, if err is nil.
func (d *Device) trouble(err error) {
	switch {
	case err == nil:
	case d.Problem == "":
		d.Problem = err.Error()
	default:
		d.Problem += "; " + err.Error()
	}
}

// unknownUUID stands for that of a device which does not tell its own.
func unknownUUID(index int) string { return "unknown-" + strconv.Itoa(index) }

// tidy puts a reading in its order, with lists that are there even when empty.
func (r *Reading) tidy() {
	r.Devices, r.Processes, r.Notes = notNil(r.Devices), notNil(r.Processes), notNil(r.Notes)
	order := make(map[string]int, len(r.Devices))
	for i := range r.Devices {
		d := &r.Devices[i]
		d.Instances = notNil(d.Instances)
		order[d.UUID] = i
	}
	slices.SortStableFunc(r.Processes, func(a, b Process) int {
		if a.DeviceUUID != b.DeviceUUID {
			return order[a.DeviceUUID] - order[b.DeviceUUID]
		}
		return a.PID - b.PID
	})
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
