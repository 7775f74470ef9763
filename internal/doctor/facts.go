package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Facts is all that was looked at.
type Facts struct {
	System  string            // as Go names it: linux, darwin, windows
	UID     int               // of the user
	Env     map[string]string // the environment: a variable that is set to nothing is there
	Names   []string          // of all variables of the environment
	Files   map[string]File   // what Wanted and WantedOf name, by path
	Nodes   []Node            // the driver's device nodes
	RDMA    []string          // adapters for InfiniBand, RoCE and the like
	Bus     []string          // PCI addresses of NVIDIA's graphics devices; nil where none, or not known
	Probe   Probe
	Health  []gpu.Health // by UUID
	Ill     string       // why there is no health
	AllSeen bool         // processes have the PIDs here that the driver tells, and all can be seen
	Tasks   map[int]Task // the processes of the reading, by PID
	Python  Python
	Agent   Agent
	Daemons []string // names of running programs that concern GPUs, as nvidia-cuda-mps-control
}

// File is what a file says, or why that is not known.
type File struct {
	Text    string
	Missing bool
	Err     string // any other reason
}

// Node is a device node of the driver.
type Node struct {
	Path   string
	Mode   string // its permissions, as rw-rw-rw-
	All    bool   // everybody may read and write it
	Denied string // why it cannot be opened; empty where it can, or was not tried
}

// Probe is what the devices were read with.
type Probe struct {
	Spec    string       // as the user gave it
	Here    bool         // it reads this machine, not a file or a fake
	Reading *gpu.Reading // nil: none
	Tried   []string     // why there is none: what each way of asking said
	Stuck   bool         // the driver does not answer
}

// Task is what the system tells of a process that holds memory of a GPU.
type Task struct {
	Gone       bool // there is no such process
	Zombie     bool // it has ended, and its parent has not looked
	Parent     int
	ParentName string
}

// Python is what an interpreter said, step by step; see Asked.
type Python struct {
	Program string // as it was called
	Err     string // why it did not finish; what it said before that counts
	Stopped bool   // it took too long
	Reached string // the last step that it told of
	Answers
	NoFolder string // why the companion had no folder to be found in
}

// Agent is whether the machine's agent answered.
type Agent struct {
	Socket  string
	There   bool   // the socket exists
	Version string // empty: it did not answer
	Problem string // why it is not ready, by its own word
	Err     string // why it did not answer
	Hint    string // what to try then
}

// Variables are those of the environment that are looked at.
func Variables() []string {
	names := []string{
		oldConf, hipConf, newConf, cachingVariable,
		visibleVariable, orderVariable, grantedVariable, abilityVariable,
		"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
		"NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
		"LD_LIBRARY_PATH", "LD_PRELOAD", hookVariable,
		"KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "container",
	}
	for i := range maxHooked {
		names = append(names, fmt.Sprintf("%s_%d", hookVariable, i))
	}
	return names
}

// env returns a variable that is set, to something.
func (f *Facts) env(name string) string { return f.Env[name] }

func (f *Facts) isSet(name string) bool {
	_, ok := f.Env[name]
	return ok
}

// text returns what a file says; empty where that is not known.
func (f *Facts) text(path string) string { return strings.TrimSpace(f.Files[path].Text) }

// has tells whether a file is known to be there.
func (f *Facts) has(path string) bool {
	file, looked := f.Files[path]
	return looked && !file.Missing && file.Err == ""
}

func (f *Facts) linux() bool { return f.System == "linux" }

// devices are the devices of the reading.
func (f *Facts) devices() []gpu.Device {
	if f.Probe.Reading == nil {
		return nil
	}
	return f.Probe.Reading.Devices
}

// health returns that of a device, empty where it is not known.
func (f *Facts) health(uuid string) gpu.Health {
	for _, h := range f.Health {
		if h.UUID == uuid {
			return h
		}
	}
	return gpu.Health{}
}

// summary names what the machine has, in a few words.
func (f *Facts) summary() string {
	var parts []string
	if names := deviceNames(f.devices()); names != "" {
		parts = append(parts, names)
	}
	if r := f.Probe.Reading; r != nil && r.Driver != "" {
		parts = append(parts, driverText(r))
	}
	if v := f.Python.version(); v != "" {
		parts = append(parts, "PyTorch "+v)
	}
	return strings.Join(parts, ", ")
}

func driverText(r *gpu.Reading) string {
	if r.CUDA == "" {
		return "driver " + r.Driver
	}
	return fmt.Sprintf("driver %s with CUDA %s", r.Driver, r.CUDA)
}

// deviceNames counts devices by their names: "2 × NVIDIA H200".
func deviceNames(devices []gpu.Device) string {
	var names []string
	numbers := map[string]int{}
	for _, d := range devices {
		name := d.Name
		if name == "" {
			name = "a device without a name"
		}
		if numbers[name]++; numbers[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := numbers[name]; n > 1 {
			names[i] = fmt.Sprintf("%d × %s", n, name)
		}
	}
	return strings.Join(names, ", ")
}

// merged judges each device, and makes one check of those that say the same of several. In
// their texts {gpu} stands for the devices, and {index} for their numbers as nvidia-smi takes
// them.
func (f *Facts) merged(judge func(*gpu.Device) []Check) []Check {
	type group struct {
		check   Check
		devices []gpu.Device
	}
	var groups []*group
	for _, d := range f.devices() {
		for _, c := range judge(&d) {
			same := func(g *group) bool { return c.same(&g.check) }
			if i := slices.IndexFunc(groups, same); i >= 0 {
				groups[i].devices = append(groups[i].devices, d)
			} else {
				groups = append(groups, &group{c, []gpu.Device{d}})
			}
		}
	}
	var checks []Check
	for _, g := range groups {
		var numbers []string
		for _, d := range g.devices {
			numbers = append(numbers, strconv.Itoa(d.Index))
		}
		r := strings.NewReplacer("{gpu}", f.gpus(g.devices), "{index}", strings.Join(numbers, ","))
		c := g.check
		c.Seen, c.Means, c.Do = r.Replace(c.Seen), r.Replace(c.Means), slices.Clone(c.Do)
		for i := range c.Do {
			c.Do[i] = r.Replace(c.Do[i])
		}
		checks = append(checks, c)
	}
	return checks
}

func (c *Check) same(o *Check) bool {
	return c.ID == o.ID && c.State == o.State && c.Seen == o.Seen && c.Means == o.Means && slices.Equal(c.Do, o.Do)
}

// which names a device among several.
func (f *Facts) which(d *gpu.Device) string {
	if len(f.devices()) == 1 {
		return "the GPU"
	}
	return fmt.Sprintf("GPU %d", d.Index)
}

// gpus names several devices: "GPU 0, 2", or "the GPU" where there is one.
func (f *Facts) gpus(which []gpu.Device) string {
	if len(f.devices()) == 1 {
		return "the GPU"
	}
	if len(which) == len(f.devices()) {
		return "all GPUs"
	}
	var names []string
	for _, d := range which {
		names = append(names, fmt.Sprint(d.Index))
	}
	return "GPU " + strings.Join(names, ", ")
}

// those returns the devices that are so.
func (f *Facts) those(is func(*gpu.Device) bool) (some []gpu.Device) {
	for _, d := range f.devices() {
		if is(&d) {
			some = append(some, d)
		}
	}
	return some
}
