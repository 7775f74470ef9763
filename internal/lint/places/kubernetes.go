package places

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// kubernetes judges what a manifest, or a chart's values, ask of a GPU.
func (f *file) kubernetes(document *tree) {
	sure := rules.High
	if document.get("kind") == nil && document.get("containers") == nil && document.get("spec") == nil {
		sure = rules.Medium // a chart's values, of which another file may replace some
	}
	onEveryNode := document.scalar("kind") == "DaemonSet" // as monitors are, which have to see all GPUs
	document.all(func(t *tree) {
		if limits, requests := t.get("limits"), t.get("requests"); isResources(t) {
			f.resourceNames(limits)
			f.resourceNames(requests)
			before := len(f.found)
			f.resourceAmounts(t, limits, requests)
			for i := before; i < len(f.found); i++ {
				f.found[i].Confidence = min(f.found[i].Confidence, sure)
			}
		}
		if len(t.list("containers")) > 0 && !f.template {
			f.pod(t, onEveryNode)
		}
	})
}

// isResources tells whether a piece is what Kubernetes calls resources.
func isResources(t *tree) bool {
	for _, name := range []string{"limits", "requests"} {
		if side := t.get(name); side != nil && side.kind == mapTree {
			for _, p := range side.keys {
				if strings.Contains(p.key.text, "/") || p.key.text == "cpu" || p.key.text == "memory" {
					return true
				}
			}
		}
	}
	return false
}

// granted are resources that something grants, by who does. Other names with a slash are
// left alone: a cluster may have a plugin of its own.
var granted = map[string]string{
	"nvidia.com/gpu":               "NVIDIA's device plugin",
	"nvidia.com/gpu.shared":        "NVIDIA's device plugin with time-slicing, by another name",
	"nvidia.com/gpumem":            "HAMi",
	"nvidia.com/gpumem-percentage": "HAMi",
	"nvidia.com/gpucores":          "HAMi",
	"nvidia.com/priority":          "HAMi",
	"volcano.sh/vgpu-memory":       "Volcano's vGPU plugin",
	"volcano.sh/vgpu-number":       "Volcano's vGPU plugin",
	"volcano.sh/vgpu-cores":        "Volcano's vGPU plugin",
	"volcano.sh/gpu-memory":        "Volcano's older GPU sharing",
	"aliyun.com/gpu-mem":           "Aliyun's gpushare, without any limit on what a process takes",
	"tencent.com/vcuda-memory":     "Tencent's gpu-manager",
	"tencent.com/vcuda-core":       "Tencent's gpu-manager",
}

// memoryNames are names for GPU memory that no plugin grants unless it was told to, with
// what stands behind the name.
var memoryNames = map[string]string{
	"nvidia.com/memory":         "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"nvidia.com/gpu-memory":     "it is no name of NVIDIA's device plugin; HAMi has it only where it was configured so, and KAI-Scheduler's gpu-memory is an annotation",
	"nvidia.com/gpu-mem":        "it is no name of NVIDIA's device plugin or HAMi; aliyun.com/gpu-mem is one of Aliyun's gpushare",
	"nvidia.com/gpu_memory":     "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"nvidia.com/gpumemory":      "it is no name of NVIDIA's device plugin; HAMi's is nvidia.com/gpumem",
	"nvidia.com/gpu.memory":     "it is a label of nodes that gpu-feature-discovery writes, for a nodeSelector, and no resource",
	"nvidia.com/mem":            "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"nvidia.com/vram":           "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"nvidia.com/gpu-vram":       "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"nvidia.com/vgpu-memory":    "it is no name of NVIDIA's device plugin; Volcano's is volcano.sh/vgpu-memory",
	"gpu.nvidia.com/memory":     "it is what NVIDIA's driver for DRA calls the capacity of a device, for a selector in a claim, and no resource of a container",
	"nvidia.com/gpu.shared.mem": "it is no name of NVIDIA's device plugin, HAMi or Volcano",
	"gpu-memory":                "KAI-Scheduler reads it as an annotation of the pod; as a resource it has no domain, and Kubernetes refuses it",
	"gpu-mem":                   "as a resource it has no domain, and Kubernetes refuses it; Aliyun's gpushare has aliyun.com/gpu-mem",
}

func (f *file) resourceNames(side *tree) {
	if side == nil {
		return
	}
	for _, p := range side.keys {
		if why, known := memoryNames[p.key.text]; known {
			f.report(p.key.at, (&Fault{
				Rule: "conf/unknown-resource", Severity: rules.Warning, Confidence: rules.Medium,
				Message: fmt.Sprintf("%s is granted by no common scheduler or device plugin: the pod waits for it without end", p.key.text),
			}).
				because("%s", why).
				do("ask for nvidia.com/gpu, for a MIG slice as nvidia.com/mig-1g.10gb, or with HAMi for nvidia.com/gpumem beside nvidia.com/gpu"))
		}
	}
}

// isWhole tells whether a resource counts devices, which cannot be shared out in parts.
func isWhole(name string) bool {
	return name == "nvidia.com/gpu" || name == "nvidia.com/gpu.shared" || name == "amd.com/gpu" || strings.HasPrefix(name, "nvidia.com/mig-")
}

// resourceAmounts finds what Kubernetes' API refuses.
func (f *file) resourceAmounts(t, limits, requests *tree) {
	for _, side := range []*tree{limits, requests} {
		if side == nil {
			continue
		}
		for _, p := range side.keys {
			if isWhole(p.key.text) && p.value.kind == scalarTree && isPart(p.value.text) {
				m := f.refusedLimit(p.value.at, "a part of a GPU cannot be asked for; the clusters of some vendors, as Huawei's CCE, take one all the same", "%s: %s is not a whole number, and Kubernetes refuses the pod", p.key.text, p.value.text)
				m.Confidence = rules.Medium
			}
		}
	}
	if requests == nil || f.template || t.open || requests.open || limits != nil && limits.open {
		return
	}
	for _, p := range requests.keys {
		f.requestAndLimit(&p, limits)
	}
}

// isPart tells whether a quantity is a number and not whole.
func isPart(quantity string) bool {
	if milli, ok := strings.CutSuffix(quantity, "m"); ok {
		n, err := strconv.Atoi(milli)
		return err == nil && n%1000 != 0
	}
	x, err := strconv.ParseFloat(quantity, 64)
	return err == nil && x != float64(int64(x))
}

func (f *file) requestAndLimit(p *pair, limits *tree) {
	_, known := granted[p.key.text]
	if !known && !isWhole(p.key.text) || p.value.kind != scalarTree || isTemplate(p.value.text) {
		return
	}
	limit := limits.get(p.key.text)
	switch {
	case limit == nil:
		f.refusedLimit(p.key.at, "what devices cannot overcommit needs a limit, and a request alone is refused", "%s is requested without a limit, and Kubernetes refuses the pod", p.key.text)
	case limit.kind == scalarTree && limit.text != p.value.text && isNumber(limit.text) && isNumber(p.value.text):
		f.refusedLimit(p.value.at, "request and limit of a device must be equal", "%s is requested as %s and limited to %s, and Kubernetes refuses the pod", p.key.text, p.value.text, limit.text)
	}
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func (f *file) refusedLimit(at span, why, format string, args ...any) *rules.Mistake {
	return f.report(at, (&Fault{Rule: "conf/refused-limit", Severity: rules.Error, Confidence: rules.High, Message: fmt.Sprintf(format, args...)}).
		because("%s", why).do("write a whole number of GPUs under limits; requests may be left out"))
}

// pod judges the containers of a pod.
func (f *file) pod(spec *tree, onEveryNode bool) {
	for _, c := range spec.list("containers") {
		if c.kind != mapTree || c.open || c.get("env") == nil && c.get("resources") == nil {
			continue
		}
		gpus := gpusOf(c)
		env := settingsIn(orEmpty(c.get("env")))
		if !onEveryNode {
			f.pastScheduler(c, gpus, env)
		}
		if c.scalar("securityContext", "privileged") != "true" { // else it has all devices of the node
			f.numbersInContainer(gpus, env)
		}
		f.vllmInContainer(c, env)
		if gpus > 0 {
			f.ranksInContainer(c, gpus, "resources.limits")
			f.sharedMemory(spec, c)
		}
	}
}

func orEmpty(t *tree) *tree {
	if t == nil {
		return &tree{}
	}
	return t
}

// gpusOf is how many GPUs a container asks for: -1 where that cannot be told.
func gpusOf(c *tree) int {
	resources := c.get("resources")
	limits := resources.get("limits")
	if resources != nil && (resources.open || resources.get("claims") != nil) || limits != nil && limits.open {
		return -1
	}
	n := 0
	for _, p := range orEmpty(limits).keys {
		name := p.key.text
		if name != "cpu" && name != "memory" && name != "ephemeral-storage" {
			amount, err := strconv.Atoi(p.value.text)
			if !isWhole(name) || err != nil {
				return -1
			}
			n += amount
		}
	}
	return n
}

// pastScheduler finds a container that takes the GPUs that no one gave it.
func (f *file) pastScheduler(c *tree, gpus int, env []setting) {
	i := slices.IndexFunc(env, func(s setting) bool { return s.name == "NVIDIA_VISIBLE_DEVICES" })
	if i < 0 || c.get("resources") == nil && c.get("image") == nil {
		return
	}
	s := &env[i]
	switch {
	case gpus == 0 && s.value == "all":
		f.report(s.at, (&Fault{
			Rule: "conf/past-scheduler", Severity: rules.Warning, Confidence: rules.Medium,
			Message: "NVIDIA_VISIBLE_DEVICES=all without a limit of nvidia.com/gpu shows the container every GPU of the node, also those of others",
		}).
			because("the scheduler counts no GPU for this container, and gives the same ones to other pods").
			do("ask for nvidia.com/gpu under limits, and leave NVIDIA_VISIBLE_DEVICES to the device plugin"))
	case gpus > 0 && (s.value == "void" || s.value == "none"):
		f.report(s.at, (&Fault{
			Rule: "conf/visible-devices", Severity: rules.Warning, Confidence: rules.Medium,
			Message: fmt.Sprintf("NVIDIA_VISIBLE_DEVICES=%s hides the GPU that the container asks for", s.value),
		}).
			because("the container has a limit of %s", gpuCount(gpus)).do("remove NVIDIA_VISIBLE_DEVICES: the device plugin sets it"))
	}
}

// numbersInContainer finds numbers of the node's GPUs where there are only the container's.
func (f *file) numbersInContainer(gpus int, env []setting) {
	for i := range env {
		s := &env[i]
		if s.name != "CUDA_VISIBLE_DEVICES" || s.unknown || gpus <= 0 {
			continue
		}
		for entry := range strings.SplitSeq(s.value, ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(entry)); err == nil && n >= gpus {
				f.report(s.at, (&Fault{
					Rule: "conf/visible-devices", Severity: rules.Warning, Confidence: rules.High,
					Message: fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s names GPU %d in a container that has %s", s.value, n, gpuCount(gpus)),
				}).
					because("in a container the GPUs that it was given are numbered from 0").do("remove CUDA_VISIBLE_DEVICES"))
				break
			}
		}
	}
}
