package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// clueRule is what a kind of clue means.
type clueRule struct {
	rule     string
	sure     rules.Confidence
	title    string
	evidence string
	causes   []string
}

const outside = "what failed is an allocation outside PyTorch's allocator; its cache is not given back for these"

// clueRules say what each kind means and how sure that is.
var clueRules = map[message.Kind]clueRule{
	message.CUDAError:     {"oom/hidden", rules.Medium, "the CUDA runtime found no memory", outside + ": a context, a module of kernels, an event, a graph or pinned host memory. Other processes may fill the GPU (nvidia-smi shows them). The error may come later than the call that caused it", nil},
	message.DriverError:   {"oom/hidden", rules.High, "the CUDA driver found no memory", outside + ", or one of its expandable segments", nil},
	message.HIPError:      {"oom/hidden", rules.Medium, "the HIP runtime found no memory", outside + ". Other processes may fill the GPU (rocm-smi --showpids shows them)", nil},
	message.NVMLAssert:    {"oom/nvml-assert", rules.High, "an out-of-memory error, hidden by an assert on NVML", "the assert runs only after an allocation has failed, while the message is written", nil},
	message.CuBLASAlloc:   {"oom/hidden", rules.High, "cuBLAS found no memory", outside, []string{"third/cublas-workspace", "third/thread-workspaces"}},
	message.CuBLASInit:    {"oom/hidden", rules.Medium, "cuBLAS could not be initialized: most often no memory was left for its handle", "other causes: an index out of range in an earlier kernel, a broken installation. CUDA_LAUNCH_BLOCKING=1 tells them apart", []string{"third/cublas-workspace", "third/thread-workspaces"}},
	message.CuDNNAlloc:    {"oom/hidden", rules.High, "cuDNN found no memory", outside, []string{"third/thread-workspaces"}},
	message.CuDNNOther:    {"oom/hidden", rules.Low, "cuDNN failed with a status that a lack of memory can cause", "other causes: an unsupported layout or data type, a mismatch of versions, an error of an earlier kernel", nil},
	message.CuFFTAlloc:    {"oom/hidden", rules.High, "cuFFT found no memory for a plan", outside, []string{"third/cufft-plans"}},
	message.CuSolverAlloc: {"oom/hidden", rules.Medium, "cuSOLVER found no memory", outside, []string{"third/thread-workspaces"}},
	message.CuSparseAlloc: {"oom/hidden", rules.Medium, "cuSPARSE found no memory", outside, nil},
	message.NCCLAlloc:     {"oom/hidden", rules.High, "NCCL found no memory for its buffers", outside, []string{"third/nccl-buffers"}},
	message.XLAExhausted:  {"oom/hidden", rules.Medium, "JAX, XLA or TensorFlow ran out of memory", "their allocators are apart from PyTorch's and take most of the GPU in advance", []string{"third/jax-preallocation"}},
	message.OtherGPU:      {"oom/hidden", rules.Medium, "a library with an allocator of its own found no memory", outside, nil},
	message.VLLMBudget:    {"oom/fraction-cap", rules.High, "the engine's share of the GPU leaves too little for its KV cache", "the share (gpu_memory_utilization or mem_fraction_static) has to hold weights, activations and the cache", nil},
	message.VLLMFree:      {"oom/other-process", rules.High, "less was free on the GPU than the engine's share", "something held memory before the engine started", nil},
	message.HostAlloc:     {"oom/host-killed", rules.Medium, "the host had no memory for an allocation; no GPU was involved", "the process asked for main memory and was refused, by the machine or by its limit", nil},
	message.HostPinned:    {"oom/host-pinned", rules.High, "no pinned host memory was to be had", "the message names GPU memory, but pinned memory is the host's", []string{"host/pinned-rounding"}},
	message.OOMKiller:     {"oom/host-killed", rules.High, "the kernel killed a process: the machine's main memory ran out", "from the kernel's log", nil},
	message.CgroupKill:    {"oom/host-killed", rules.High, "a process was killed at its container's or job's limit of main memory", "the limit is the cgroup's: the machine itself may have had room", nil},
	message.Sigkill:       {"oom/host-killed", rules.Low, "a process was killed by signal 9", "the kernel does this when main memory runs out; so do launchers that end the other ranks, schedulers and people. The kernel's log (dmesg) tells", nil},
	message.WorkerKill:    {"oom/host-killed", rules.Medium, "a DataLoader worker was killed", "usually by the kernel, for main memory", nil},
	message.SharedMem:     {"oom/host-killed", rules.High, "shared memory (/dev/shm) ran out", "a tmpfs of fixed size, 64 MiB in containers by default: raise it (docker --shm-size, an emptyDir of medium Memory), or use fewer workers", nil},
	message.RayMonitor:    {"oom/host-killed", rules.High, "Ray killed a worker: the node's main memory ran low", "Ray acts before the kernel would, at a threshold of usually 95 %", nil},
}

// xlaRemedies are for programs of JAX and TensorFlow: settings of PyTorch change nothing.
var xlaRemedies = []rules.Remedy{
	{Do: "where it is JAX: set `XLA_PYTHON_CLIENT_MEM_FRACTION` (0.75 by default) higher where the process has the GPU alone, lower or `XLA_PYTHON_CLIENT_PREALLOCATE=false` where it shares it", Effect: "JAX takes what is left, or leaves what others need"},
	{Do: "where it is TensorFlow: `tf.config.experimental.set_memory_growth(gpu, True)`", Effect: "it takes memory as it needs it"},
	{Do: "make the batch or the model smaller where the process has the GPU alone", Effect: "less is asked for"},
}

// clueGroup is clues of one kind.
type clueGroup struct {
	list  []*message.Clue
	count int
}

// clueFindings makes one finding for each kind of clue.
func (t *textAnalysis) clueFindings() {
	groups := map[message.Kind]*clueGroup{}
	var order []message.Kind
	for i := range t.rep.Clues {
		c := &t.rep.Clues[i]
		kind := pinnedByTraceback(c)
		g := groups[kind]
		if g == nil {
			g = &clueGroup{}
			groups[kind] = g
			order = append(order, kind)
		}
		g.list = append(g.list, c)
		g.count += c.Count
	}
	for _, kind := range order {
		t.clueFinding(kind, groups[kind], groups)
	}
}

// pinnedByTraceback tells pinned host memory from GPU memory where the message is
// the same and only the caller differs.
func pinnedByTraceback(c *message.Clue) message.Kind {
	if c.Kind != message.CUDAError && c.Kind != message.HIPError {
		return c.Kind
	}
	for i, f := range c.Frames {
		if i < 4 && (f.Func == "pin_memory" || f.Func == "_pin_memory_loop" || f.Func == "do_one_step") {
			return message.HostPinned
		}
	}
	return c.Kind
}

func (t *textAnalysis) clueFinding(kind message.Kind, g *clueGroup, all map[message.Kind]*clueGroup) {
	first := g.list[0]
	if kind == message.KernelShared {
		t.note("line %d: a kernel needs more shared memory or registers on the chip than there are; that is no lack of GPU memory, and freeing some does not help", first.Line)
		return
	}
	r, ok := clueRules[kind]
	if !ok {
		return
	}
	f := rules.Finding{Rule: r.rule, Severity: rules.Error, Confidence: r.sure, Title: r.title, Causes: r.causes, Stack: textFrames(first.Frames)}
	f.Title += g.names()
	f.Evidence = append(g.evidence(), r.evidence)
	if first.Size.Known() {
		f.Bytes = first.Size.Bytes
		f.Evidence = append(f.Evidence, fmt.Sprintf("it asked for %s", units.FormatBytes(first.Size.Bytes)))
	}
	if kind == message.XLAExhausted {
		f.Remedies = xlaRemedies
	}
	t.weigh(kind, g, all, &f)
	t.add(first.Line, f)
	t.found[len(t.found)-1].hedge = f.Confidence == rules.Low
}

// weigh changes how sure a clue is by what else is in the text.
func (t *textAnalysis) weigh(kind message.Kind, g *clueGroup, all map[message.Kind]*clueGroup, f *rules.Finding) {
	killed := all[message.OOMKiller] != nil || all[message.CgroupKill] != nil || all[message.RayMonitor] != nil
	switch {
	case (kind == message.Sigkill || kind == message.WorkerKill) && killed:
		f.Confidence = rules.High
		f.Evidence = append(f.Evidence, "the text has the kernel's or the scheduler's own report of it as well")
	case kind == message.Sigkill && t.failedBefore(g.list[0].Line):
		f.Severity, f.Confidence = rules.Info, rules.Low
		f.Evidence = append(f.Evidence, "a process ran out of GPU memory before that: the launcher then ends the others, which is no failure of its own")
	case kind == message.Sigkill && len(t.rep.OOMs) == 0 && !t.gpuClue():
		f.Confidence = rules.Medium
	case kind == message.SharedMem && all[message.WorkerKill] != nil:
		f.Evidence = append(f.Evidence, "the workers' deaths in this text follow from it")
	case kind == message.NCCLAlloc && !g.says("out of memory"):
		f.Confidence = rules.Medium
		f.Evidence = append(f.Evidence, "the line above it in NCCL's log (NCCL_DEBUG=WARN) names the CUDA error: other failures end in this line as well")
	case kind == message.VLLMFree && g.list[0].Used.Known():
		f.Bytes = g.list[0].Used.Bytes
		f.Evidence = append(f.Evidence, fmt.Sprintf("about %s of %s were in use", units.FormatBytes(g.list[0].Used.Bytes), g.list[0].Limit.Text))
	}
}

// failedBefore reports whether a GPU ran out of memory above a line.
func (t *textAnalysis) failedBefore(line int) bool {
	for i := range t.rep.OOMs {
		if t.rep.OOMs[i].Line < line {
			return true
		}
	}
	return false
}

// says reports whether one of the lines has the words.
func (g *clueGroup) says(words string) bool {
	return slices.ContainsFunc(g.list, func(c *message.Clue) bool { return strings.Contains(c.Text, words) })
}

// names tells which processes, and what was killed.
func (g *clueGroup) names() string {
	var from []message.Source
	process := ""
	for _, c := range g.list {
		from = append(from, c.Source)
		if process == "" {
			process = c.Process
		}
	}
	s := ""
	if process != "" {
		s = " (" + process + ")"
	}
	if names := textSources(from); names != "" {
		s += ", " + names
	}
	return s
}

// maxClueLines is how many lines of a kind are quoted.
const maxClueLines = 3

func (g *clueGroup) evidence() []string {
	var e []string
	for i, c := range g.list {
		if i == maxClueLines {
			e = append(e, fmt.Sprintf("and %d more", len(g.list)-i))
			break
		}
		times := ""
		if c.Count > 1 {
			times = fmt.Sprintf(" (%d times)", c.Count)
		}
		said := ""
		if c.Text != "" { // of a redacted line nothing may be left
			said = ": " + c.Text
		}
		e = append(e, fmt.Sprintf("line %d%s%s", c.Line, times, said))
		if c.Used.Known() && c.Kind.Host() {
			e = append(e, fmt.Sprintf("process %d held %s of main memory", c.Source.PID, units.FormatBytes(c.Used.Bytes)))
		}
	}
	return e
}
