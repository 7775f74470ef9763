package places

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// sharedMemory finds a training container with the 64 MiB of /dev/shm that containers
// have by themselves. Whether the program has workers, a manifest does not say.
func (f *file) sharedMemory(spec, container *tree) {
	command := commandOf(container)
	if spec.open || container.open || !strings.Contains(command, "python") && !strings.Contains(command, "torchrun") && !strings.Contains(command, "accelerate") {
		return
	}
	if slices.ContainsFunc(container.list("volumeMounts"), func(m *tree) bool { return m.scalar("mountPath") == "/dev/shm" || m.open }) {
		return
	}
	at := container.get("name")
	if at == nil {
		return
	}
	f.report(at.at, (&Fault{
		Rule: "conf/small-shm", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("container %s has 64 MiB of /dev/shm, which workers of a DataLoader fill soon", at.text),
	}).
		because("nothing is mounted at /dev/shm").do("mount an emptyDir with medium: Memory and a sizeLimit at /dev/shm"))
}

// sharedMemoryOfRun finds the same of a container that a script starts.
func (c *shellCheck) sharedMemoryOfRun(p *program) {
	if !isContainerRun(p) || !runsTraining(p.args) || slices.ContainsFunc(p.args, mayMountMemory) {
		return
	}
	c.report(p.first.at, (&Fault{
		Rule: "conf/small-shm", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s run gives the container 64 MiB of /dev/shm, which workers of a DataLoader fill soon", p.name),
	}).
		because("it has neither --shm-size nor --ipc").do("write --shm-size=8g, or --ipc=host"))
}

// runsTraining tells whether a container is told to run Python or a launcher.
func runsTraining(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return w.known && (isPython(w.text) || slices.Contains([]string{"torchrun", "accelerate", "deepspeed", "composer"}, w.text))
	})
}

// holdsImage matches variables that hold an image or a command, no options.
var holdsImage = regexp.MustCompile(`(?i)^\$\w*(image|img|tag|name|container|cmd|command|script)\w*$`)

// mayMountMemory tells whether a word of docker run says how large /dev/shm is, or is a variable
// that may say it.
func mayMountMemory(w word) bool {
	for _, option := range []string{"--shm-size", "--ipc", "/dev/shm"} {
		if strings.Contains(w.text, option) {
			return true
		}
	}
	return !w.known && strings.HasPrefix(w.text, "$") && !strings.Contains(w.text, ":") && !holdsImage.MatchString(w.text)
}

// commandOf is what a container runs, as far as it is written.
func commandOf(c *tree) string {
	var words []string
	for _, key := range []string{"command", "args", "entrypoint"} {
		if v := c.get(key); v != nil {
			words = append(words, v.text)
			for _, item := range v.items {
				words = append(words, item.text)
			}
		}
	}
	return strings.Join(words, " ")
}

// compose judges the services of a compose file.
func (f *file) compose(document *tree) {
	for _, p := range orEmpty(document.get("services")).keys {
		s := p.value
		if s.kind != mapTree {
			continue
		}
		gpu := f.composeDevices(s)
		f.vllmInContainer(s, settingsIn(orEmpty(s.get("environment"))))
		if s.scalar("privileged") != "true" && !s.open {
			f.numbersInContainer(devicesOf(s), settingsIn(orEmpty(s.get("environment"))))
		}
		if s.scalar("privileged") != "true" && !s.open {
			f.ranksInContainer(s, devicesOf(s), "deploy.resources.reservations.devices")
		}
		command := commandOf(s)
		if !gpu || s.open || s.get("shm_size") != nil || s.scalar("ipc") != "" || !strings.Contains(command, "python") && !strings.Contains(command, "torchrun") {
			continue
		}
		if slices.ContainsFunc(append(s.list("volumes"), s.list("tmpfs")...), func(v *tree) bool { return strings.Contains(v.text, "/dev/shm") || v.scalar("target") == "/dev/shm" }) {
			continue
		}
		f.report(p.key.at, (&Fault{
			Rule: "conf/small-shm", Severity: rules.Info, Confidence: rules.Medium,
			Message: fmt.Sprintf("service %s has 64 MiB of /dev/shm, which workers of a DataLoader fill soon", p.key.text),
		}).
			because("it has neither shm_size nor ipc").do("write shm_size: 8gb, or ipc: host"))
	}
}

// composeDevices tells whether a service has GPUs, and judges how it asks for them.
func (f *file) composeDevices(s *tree) bool {
	gpu := s.get("gpus") != nil || s.scalar("runtime") == "nvidia"
	for _, d := range s.list("deploy", "resources", "reservations", "devices") {
		if d.kind != mapTree || d.open {
			continue
		}
		capabilities := d.list("capabilities")
		gpu = gpu || slices.ContainsFunc(capabilities, func(c *tree) bool { return c.text == "gpu" || c.text == "nvidia" })
		switch ids, count := d.get("device_ids"), d.get("count"); {
		case ids != nil && count != nil:
			f.refusedDevice(count.at, "compose takes count or device_ids, not both", "keep one of count and device_ids")
		case d.get("capabilities") == nil:
			f.refusedDevice(d.at, "a reservation of devices has no capabilities, and compose refuses it", "write capabilities: [gpu]")
		}
	}
	return gpu
}

// devicesOf is how many GPUs a service has; 0 where that is not written.
func devicesOf(s *tree) int {
	n := 0
	for _, d := range s.list("deploy", "resources", "reservations", "devices") {
		count, err := strconv.Atoi(d.scalar("count"))
		switch ids := d.list("device_ids"); {
		case len(ids) > 0:
			n += len(ids)
		case err == nil:
			n += count
		default:
			return 0
		}
	}
	return n
}

func (f *file) refusedDevice(at span, message, remedy string) {
	f.report(at, &Fault{Rule: "conf/refused-limit", Severity: rules.Error, Confidence: rules.High, Message: message, Remedy: remedy})
}
