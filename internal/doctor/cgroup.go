package doctor

import (
	"path"
	"strconv"
	"strings"
)

// Roots of the control groups' file system: of version 2, and of a controller of version 1.
const cgroupRoot = "/sys/fs/cgroup"

// Wanted are the files to look into. Those of the control groups depend on what one of them
// says: see WantedOf.
func Wanted() []string {
	return []string{
		dockerMark, podmanMark, kernelFile, releaseFile, boardFile, ownCgroup, "/dev/dxg",
		kernelDriver, modulesFile, mountsFile, meminfoFile, limitsFile, preloadFile,
		path.Join(cgroupRoot, "cgroup.controllers"), path.Join(cgroupRoot, "dmem.capacity"),
	}
}

// Names of the files that tell of limits: version 2's, and version 1's by controller.
var (
	limitFiles  = []string{"memory.max", "memory.high", "memory.current", "memory.events", "pids.max", "cpu.max"}
	limitFiles1 = map[string][]string{
		"memory": {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"},
		"pids":   {"pids.max"},
		"cpu":    {"cpu.cfs_quota_us", "cpu.cfs_period_us"},
	}
)

// WantedOf are the files of the control groups that /proc/self/cgroup names, and of those
// above them, whose limits hold too. In a container the path may be one of the host's, while
// what is mounted begins at the container's own: so the root is always among them.
func WantedOf(ownCgroup string) (names []string) {
	for _, dir := range cgroupFolders(ownCgroup) {
		files := limitFiles
		if dir.controller != "" {
			files = limitFiles1[dir.controller]
		}
		for _, name := range files {
			names = append(names, path.Join(dir.path, name))
		}
	}
	return names
}

// cgroupFolder is a folder of a control group. Of version 2 it has no controller.
type cgroupFolder struct{ controller, path string }

// maxDepth bounds how deep control groups are followed. Those of Kubernetes are five deep.
const maxDepth = 16

func cgroupFolders(ownCgroup string) (all []cgroupFolder) {
	for line := range strings.Lines(ownCgroup) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			root := cgroupRoot
			if controller != "" {
				if _, used := limitFiles1[controller]; !used {
					continue
				}
				root = path.Join(cgroupRoot, controller)
			}
			dir := path.Clean("/" + fields[2])
			for range maxDepth {
				all = append(all, cgroupFolder{controller, path.Join(root, dir)})
				if dir == "/" {
					break
				}
				dir = path.Dir(dir)
			}
		}
	}
	return all
}

// memoryLimit is the tightest limit on main memory.
type memoryLimit struct {
	bytes int64 // 0: none
	used  int64 // by the group that has it
	kills int64 // processes that the kernel has killed for it
}

type cgroupLimits struct {
	memory memoryLimit
	pids   int64
	cpus   float64
}

// cgroup finds the tightest of the limits that hold for this process.
func (f *Facts) cgroup() cgroupLimits {
	var l cgroupLimits
	for _, dir := range cgroupFolders(f.Files[ownCgroup].Text) {
		at := func(name string) string { return f.text(path.Join(dir.path, name)) }
		switch dir.controller {
		case "":
			l.memory.tighten(limitNumber(at("memory.max")), limitNumber(at("memory.current")), eventCount(at("memory.events"), "oom_kill"))
			l.pids = tighter(l.pids, limitNumber(at("pids.max")))
			l.cpus = tighter(l.cpus, share(strings.Fields(at("cpu.max"))))
		case "memory":
			l.memory.tighten(limitNumber(at("memory.limit_in_bytes")), limitNumber(at("memory.usage_in_bytes")), eventCount(at("memory.oom_control"), "oom_kill"))
		case "pids":
			l.pids = tighter(l.pids, limitNumber(at("pids.max")))
		case "cpu":
			l.cpus = tighter(l.cpus, share([]string{at("cpu.cfs_quota_us"), at("cpu.cfs_period_us")}))
		}
	}
	return l
}

func (m *memoryLimit) tighten(bytes, used, kills int64) {
	m.kills = max(m.kills, kills)
	if bytes > 0 && (m.bytes == 0 || bytes < m.bytes) {
		m.bytes, m.used = bytes, used
	}
}

// noLimit is what version 1 writes for none: the largest number, less a part of a page.
const noLimit = 1 << 62

// limitNumber reads a number; 0 for "max", for none and for nothing.
func limitNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= noLimit {
		return 0
	}
	return n
}

func tighter[T int64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// share reads a quota of processor time and its period, as processors; 0 where there is none.
func share(fields []string) float64 {
	if len(fields) != 2 {
		return 0
	}
	quota, period := limitNumber(fields[0]), limitNumber(fields[1])
	if quota == 0 || period == 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// eventCount reads a line as "oom_kill 3".
func eventCount(text, name string) int64 {
	for line := range strings.Lines(text) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			return limitNumber(value)
		}
	}
	return 0
}
