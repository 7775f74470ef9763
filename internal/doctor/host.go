package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// Files of the host's memory.
const (
	mountsFile  = "/proc/self/mounts"
	meminfoFile = "/proc/meminfo"
)

// host judges the host's memory, and what of it programs get.
func host(f *Facts) []Check {
	if !f.linux() {
		return nil
	}
	checks := []Check{f.shm()}
	checks = append(checks, f.hostMemory()...)
	checks = append(checks, f.swap()...)
	checks = append(checks, f.pids()...)
	return append(checks, f.cpus()...)
}

// smallSHM is too little for loaders: a batch of 256 images of 224 × 224 in float32 takes
// 147 MiB, and two batches a worker are under way.
const smallSHM = 512 * units.MiB

func (f *Facts) shm() Check {
	const id = "host/shared-memory"
	mounts, known := f.Files[mountsFile]
	if !known || mounts.Text == "" {
		return unknown(id, "the mounted file systems cannot be read, so the size of /dev/shm is not known")
	}
	options, there := mountOptions(mounts.Text, "/dev/shm")
	if !there {
		return found(id, Warning, "nothing is mounted at /dev/shm", "DataLoader's workers hand tensors over through it: they end with 'unable to open shared memory object', or write to the disk.",
			"mount a tmpfs there; in Kubernetes an emptyDir of medium Memory")
	}
	size, given := mountSize(options)
	switch {
	case !given && f.memTotal() > 0:
		return ok(id, "/dev/shm has no size of its own: half of the memory, %s", units.FormatBytes(f.memTotal()/2))
	case !given:
		return ok(id, "/dev/shm has no size of its own: half of the memory")
	case size < smallSHM:
		do := []string{"use num_workers=0, or smaller batches, where it cannot be changed"}
		if f.container() != "" {
			do = append([]string{"start the container with --shm-size=8g or --ipc=host; in Kubernetes mount an emptyDir of medium Memory at /dev/shm"}, do...)
		} else {
			do = append([]string{"as root: mount -o remount,size=8G /dev/shm"}, do...)
		}
		return found(id, Warning, fmt.Sprintf("/dev/shm has %s", units.FormatBytes(size)),
			"DataLoader's workers hand batches over through it: they are killed by SIGBUS when it is full ('DataLoader worker is killed by signal: Bus error'). 64 MiB is what Docker gives unless told otherwise.", do...)
	}
	return ok(id, "/dev/shm has %s", units.FormatBytes(size))
}

// mountOptions finds the options of the last mount at a place, which is the one that shows.
func mountOptions(mounts, at string) (options string, there bool) {
	for line := range strings.Lines(mounts) {
		if fields := strings.Fields(line); len(fields) >= 4 && fields[1] == at {
			options, there = fields[3], true
		}
	}
	return options, there
}

// mountSize reads the size of a tmpfs: "size=65536k".
func mountSize(options string) (bytes int64, given bool) {
	for option := range strings.SplitSeq(options, ",") {
		value, is := strings.CutPrefix(option, "size=")
		if !is {
			continue
		}
		scale := int64(1)
		switch {
		case strings.HasSuffix(value, "k"):
			scale = units.KiB
		case strings.HasSuffix(value, "m"):
			scale = units.MiB
		case strings.HasSuffix(value, "g"):
			scale = units.GiB
		}
		n, err := strconv.ParseInt(strings.TrimRight(value, "kmg"), 10, 42)
		if err == nil && n >= 0 {
			return n * scale, true
		}
	}
	return 0, false
}

// meminfo returns an amount of /proc/meminfo; 0 where it is not told.
func (f *Facts) meminfo(key string) int64 {
	for line := range strings.Lines(f.Files[meminfoFile].Text) {
		name, value, _ := strings.Cut(line, ":")
		if name != key {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 52)
		if err == nil && n > 0 {
			return n << 10
		}
	}
	return 0
}

func (f *Facts) memTotal() int64 { return f.meminfo("MemTotal") }

// hostMemory judges how much main memory a program gets, and what there is left of it.
func (f *Facts) hostMemory() []Check {
	const id = "host/memory"
	total := f.memTotal()
	if total == 0 {
		return []Check{unknown(id, "/proc/meminfo tells no amount of memory")}
	}
	most, what := total, fmt.Sprintf("the host has %s of memory", units.FormatBytes(total))
	limit := f.cgroup().memory
	if limit.bytes > 0 && limit.bytes < total {
		most = limit.bytes
		what = fmt.Sprintf("programs here may use %s of the host's %s of memory (control group)", units.FormatBytes(limit.bytes), units.FormatBytes(total))
	}
	var checks []Check
	if limit.kills > 0 {
		checks = append(checks, found("host/oom-kills", Warning, fmt.Sprintf("the kernel has killed %s of this control group for want of main memory", count(int(limit.kills), "process")),
			"That is main memory, not the GPU's: a program that ends with 'Killed' and no message of CUDA.", "raise the limit, or load less on the host: fewer workers, less pinned memory"))
	}
	if limit.used > 0 && most == limit.bytes && limit.used > most/20*19 {
		checks = append(checks, found(id, Warning, what+fmt.Sprintf(", of which %s are in use", units.FormatBytes(limit.used)), "What goes above is killed by the kernel, with no message of CUDA. The page cache counts too, but gives way.", "raise the limit"))
		return checks
	}
	if free := f.meminfo("MemAvailable"); free > 0 && free < total/20 {
		checks = append(checks, found(id, Warning, fmt.Sprintf("%s, of which %s are free", what, units.FormatBytes(free)), "Programs may be killed for want of main memory, with no message of CUDA.", "end what fills it"))
		return checks
	}
	if d := f.largest(); d != nil && most < d.Memory.TotalBytes {
		checks = append(checks, found(id, Note, fmt.Sprintf("%s, less than %s has: %s", what, f.which(d), memoryText(d.Memory)),
			"A checkpoint that fills the GPU does not fit into main memory first, and neither does what is moved off the GPU to save memory there.",
			"load checkpoints with torch.load(…, mmap=True), or onto the GPU at once: map_location, safetensors"))
		return checks
	}
	return append(checks, ok(id, "%s", what))
}

// largest is the device with the most memory of its own; nil where there is none.
func (f *Facts) largest() *gpu.Device {
	var most *gpu.Device
	devices := f.devices()
	for i := range devices {
		d := &devices[i]
		if d.Memory != nil && d.Kind != gpu.KindUnified && f.Probe.Here && (most == nil || d.Memory.TotalBytes > most.Memory.TotalBytes) {
			most = d
		}
	}
	return most
}

func (f *Facts) swap() []Check {
	const id = "host/swap"
	total, free := f.meminfo("SwapTotal"), f.meminfo("SwapFree")
	if total == 0 || total-free < total/4 {
		return nil
	}
	return []Check{found(id, Note, fmt.Sprintf("%s of %s of swap are in use", units.FormatBytes(total-free), units.FormatBytes(total)),
		"Main memory ran short at some time. Pinned memory cannot be swapped out, so that other programs are.")}
}

func (f *Facts) pids() []Check {
	const id, few = "host/processes", 1024
	limit := f.cgroup().pids
	switch {
	case limit == 0:
		return nil
	case limit < few:
		return []Check{found(id, Warning, fmt.Sprintf("at most %d threads and processes may run here (pids.max)", limit),
			"Each rank has some dozens of threads, and each worker of a DataLoader some more; the next one ends with 'can't start new thread' or 'Resource temporarily unavailable'.", "raise it: --pids-limit of docker run, podPidsLimit of the kubelet")}
	}
	return []Check{ok(id, "%d threads and processes may run here", limit)}
}

// cpus tells where programs get fewer processors than they see.
func (f *Facts) cpus() []Check {
	const id = "host/processors"
	quota := f.cgroup().cpus
	sees := 0
	if f.Python.About != nil {
		sees = f.Python.About.CPUs
	}
	if quota == 0 || sees == 0 || quota >= float64(sees)-0.5 {
		return nil
	}
	return []Check{found(id, Note, fmt.Sprintf("programs get the time of %.3g processors here, and see %d", quota, sees),
		"Libraries start a thread for each that they see, and are held up.", fmt.Sprintf("export OMP_NUM_THREADS=%d, and take no more workers than that", max(int(quota), 1)))}
}
