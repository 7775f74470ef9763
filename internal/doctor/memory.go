package doctor

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// memory looks for memory that nobody needs any more, or nobody accounts for.
func memory(f *Facts) []Check {
	if len(f.devices()) == 0 {
		return nil
	}
	checks := f.leftovers()
	return append(checks, f.unaccounted()...)
}

const leftoverID = "memory/leftover"

func (f *Facts) leftovers() []Check {
	if !f.Probe.Here || !f.linux() || f.isWSL() {
		return nil // the numbers of processes are not those that show here
	}
	var checks []Check
	for _, p := range f.Probe.Reading.Processes {
		if c, is := f.leftover(&p); is {
			checks = append(checks, c)
		}
	}
	switch n := len(f.Probe.Reading.Processes); {
	case len(checks) > 0:
		return checks
	case n == 0:
		return []Check{ok(leftoverID, "no process holds memory of the GPU")}
	case !f.AllSeen:
		return []Check{unknown(leftoverID, "%s; whether somebody is behind it cannot be told from within a container", holders(n))}
	}
	return []Check{ok(leftoverID, "%s, each with somebody behind it", holders(len(f.Probe.Reading.Processes)))}
}

func holders(n int) string {
	if n == 1 {
		return "1 process holds memory of the GPU"
	}
	return fmt.Sprintf("%d processes hold memory of the GPU", n)
}

// leftover judges one process: whether there is still somebody behind it.
func (f *Facts) leftover(p *gpu.Process) (Check, bool) {
	task, looked := f.Tasks[p.PID]
	held := "memory"
	if p.UsedBytes != nil {
		held = units.FormatBytes(*p.UsedBytes)
	}
	on := f.deviceOf(p)
	switch {
	case !looked:
		return Check{}, false
	case task.Gone && f.AllSeen && !f.hides():
		return found(leftoverID, Warning, fmt.Sprintf("process %d, which is not there any more, holds %s of %s", p.PID, held, on),
			"A process that uses CUDA keeps it alive within the driver: one that shares its memory, or that hangs in the kernel.",
			"look for who has the device open: fuser -v /dev/nvidia*", "if there is nobody: reset the GPU (nvidia-smi --gpu-reset), or reboot"), true
	case task.Zombie:
		return found(leftoverID, Warning, fmt.Sprintf("process %d has ended and holds %s of %s", p.PID, held, on),
			"Its parent has not taken note of its end, or a thread of it hangs in the driver.", fmt.Sprintf("end its parent, process %d", task.Parent)), true
	case f.orphan(p, task):
		return f.orphaned(p, held, on), true
	}
	return Check{}, false
}

// hides tells whether the system hides the processes of other users, which are then not there
// for whoever looks.
func (f *Facts) hides() bool {
	options, _ := mountOptions(f.Files[mountsFile].Text, "/proc")
	return f.UID != 0 && strings.Contains(options, "hidepid=") && !strings.Contains(options, "hidepid=0") && !strings.Contains(options, "hidepid=off")
}

// orphan tells whether the program that started one of this user's is gone. In a container
// the first process is the parent of many that are not orphans; a service is meant to be one.
func (f *Facts) orphan(p *gpu.Process, task Task) bool {
	mine := p.UID != nil && *p.UID == f.UID && f.UID >= 0
	byInit := task.Parent == 1 || task.ParentName == "systemd"
	return mine && byInit && f.AllSeen && p.Place.ContainerID == "" && !isService(p.Place.Unit) && !isMPS(p.Name)
}

func isService(unit string) bool { return strings.HasSuffix(unit, ".service") }

func (f *Facts) orphaned(p *gpu.Process, held, on string) Check {
	c := found(leftoverID, Note, fmt.Sprintf("process %d of yours, whose parent is gone, holds %s of %s: %.80s", p.PID, held, on, firstOf(p.Command, p.Name)),
		"It may be meant to run on (nohup, setsid), or be a worker that was left when its launcher was killed.", fmt.Sprintf("if you do not need it: kill %d", p.PID))
	if d := f.Probe.Reading.Device(p.DeviceUUID); d != nil && d.Utilization != nil && *d.Utilization == 0 {
		c.State = Warning
		c.Means += " No kernel runs on the device."
	}
	return c
}

func (f *Facts) deviceOf(p *gpu.Process) string {
	if d := f.Probe.Reading.Device(p.DeviceUUID); d != nil {
		return f.which(d)
	}
	return "a GPU"
}

// Memory that no process accounts for: what is worth a word, and what a warning. The context
// of one process is some 500 MiB; what drivers keep on behalf of none is below 100 MiB.
const (
	odd = 256 * units.MiB
	bad = 2 * units.GiB
)

func (f *Facts) unaccounted() (checks []Check) {
	const id = "memory/unaccounted"
	r := f.Probe.Reading
	hidden := f.Probe.Here && !f.AllSeen && f.linux()
	for _, d := range r.Devices {
		if d.Memory == nil || d.Kind != gpu.KindGPU {
			continue
		}
		held, all := r.Held(d.UUID)
		rest := d.Memory.UsedBytes - held
		seen := fmt.Sprintf("%s are used on %s by no process that shows", units.FormatBytes(rest), f.which(&d))
		switch {
		case !all:
			checks = append(checks, unknown(id, "processes on %s do not tell what they hold, so what nobody accounts for is not known", f.which(&d)))
		case rest < odd:
		case hidden:
			checks = append(checks, found(id, Note, seen, "From within a container, processes outside of it do not show.", "ask on the host: ullage top"))
		case rest < bad:
			checks = append(checks, found(id, Note, seen, "It may be the context of a process that cannot be seen, or what the driver keeps (counted as used where it tells no 'reserved')."))
		default:
			checks = append(checks, found(id, Warning, seen, "A process that was killed can leave it when another one shares its memory or hangs; processes of other containers may not show.",
				"look for who has the device open, as root: fuser -v /dev/nvidia*", "if there is nobody: reset the GPU (nvidia-smi --gpu-reset), or reboot"))
		}
	}
	if len(checks) == 0 && len(f.those(func(d *gpu.Device) bool { return d.Memory != nil && d.Kind == gpu.KindGPU })) > 0 {
		checks = append(checks, ok(id, "what is used is accounted for by processes, up to %s", units.FormatBytes(odd)))
	}
	return checks
}
