package places

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/conf"
	"github.com/ullage-dev/ullage/internal/rules"
)

// allocatorNames are the variables that PyTorch reads its allocator's settings from. From
// 2.11 on the first of them that is set counts.
var allocatorNames = []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}

// IsAllocator tells whether PyTorch reads its allocator's settings from the variable.
func IsAllocator(name string) bool { return slices.Contains(allocatorNames, name) }

// Variable judges one variable of the environment by its name and value alone.
func Variable(name, value string) []Fault {
	var found faults
	switch name {
	case "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF":
		return Conf(value)
	case "PYTORCH_NO_CUDA_MEMORY_CACHING":
		noCaching(&found, value)
	case "CUDA_VISIBLE_DEVICES":
		visibleDevices(&found, value)
	case "NVIDIA_DRIVER_CAPABILITIES":
		capabilities(&found, value)
	default:
		misspelt(&found, name, value)
	}
	return found
}

// noCaching: up to 2.6 PyTorch asks only whether the variable is there, since 2.7 whether it is 1.
func noCaching(found *faults, value string) {
	switch strings.ToLower(value) {
	case "", "0", "false", "off", "no":
		found.add("conf/no-caching", rules.Warning, rules.Medium, "PYTORCH_NO_CUDA_MEMORY_CACHING=%s switches caching off up to PyTorch 2.6, as any value does", value).
			because("these releases ask only whether the variable is set; since 2.7 only 1 switches caching off").do("unset PYTORCH_NO_CUDA_MEMORY_CACHING")
	default:
		found.add("conf/no-caching", rules.Warning, rules.Medium, "PYTORCH_NO_CUDA_MEMORY_CACHING makes every tensor a cudaMalloc and a cudaFree").
			because("it is meant for a debugger of memory, not for a run").do("remove PYTORCH_NO_CUDA_MEMORY_CACHING")
	}
}

// hidesAll are values that show no GPU and are meant to: the last is Slurm's.
var hidesAll = []string{"", "none", "null", "void", "false", "nodevfiles"}

// visibleDevices finds lists that show less than they name. CUDA stops at the first entry
// that it cannot read, and shows nothing where one comes twice.
func visibleDevices(found *faults, value string) {
	if isTemplate(value) || slices.Contains(hidesAll, strings.ToLower(value)) {
		return
	}
	seen := map[string]bool{}
	for i, raw := range strings.Split(value, ",") {
		entry := strings.TrimSpace(raw)
		switch {
		case seen[entry]:
			found.add("conf/visible-devices", rules.Warning, rules.High, "CUDA_VISIBLE_DEVICES=%s names %s twice, so that no GPU is visible", value, entry).
				do("name each GPU once")
			return
		case isDevice(entry) && !beginsWithDigit(entry) && strings.HasPrefix(raw, " "):
			found.add("conf/visible-devices", rules.Warning, rules.High, "CUDA_VISIBLE_DEVICES=%s shows %d of its %d GPUs: CUDA reads no identifier behind a space", value, i, strings.Count(value, ",")+1).
				do("write it without spaces")
			return
		case isDevice(entry):
		case i == 0 && strings.HasPrefix(entry, "-"):
			return // the usual way to hide all
		case i == 0:
			found.add("conf/visible-devices", rules.Warning, rules.High, "CUDA_VISIBLE_DEVICES=%s shows no GPU: %q is neither a number nor an identifier", value, entry).
				because("CUDA takes numbers, or identifiers that begin with GPU- or MIG-").do("write numbers with commas between them, as 0,1")
			return
		default:
			found.add("conf/visible-devices", rules.Warning, rules.High, "CUDA_VISIBLE_DEVICES=%s shows %d of its %d GPUs: CUDA stops at %q", value, i, strings.Count(value, ",")+1, entry).
				do("write numbers with commas between them, as 0,1")
			return
		}
		seen[entry] = true
	}
}

// beginsWithDigit tells whether an entry begins with a digit: CUDA reads the number that it begins with,
// also behind spaces.
func beginsWithDigit(entry string) bool { return entry != "" && entry[0] >= '0' && entry[0] <= '9' }

// isDevice tells whether CUDA reads the entry as a device.
func isDevice(entry string) bool {
	return beginsWithDigit(entry) || strings.HasPrefix(entry, "GPU-") || strings.HasPrefix(entry, "MIG-")
}

// deviceCount returns how many GPUs a value of CUDA_VISIBLE_DEVICES shows, where it is a
// plain list.
func deviceCount(value string) (n int, ok bool) {
	for entry := range strings.SplitSeq(value, ",") {
		if _, err := strconv.ParseUint(strings.TrimSpace(entry), 10, 16); err != nil {
			return 0, false
		}
		n++
	}
	return n, true
}

// capabilities: without compute a container has no CUDA.
func capabilities(found *faults, value string) {
	if isTemplate(value) || value == "" {
		return
	}
	names := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	if !slices.Contains(names, "compute") && !slices.Contains(names, "all") {
		found.add("conf/visible-devices", rules.Warning, rules.High, "NVIDIA_DRIVER_CAPABILITIES=%s leaves out compute, so that CUDA does not work in the container", value).
			do("write NVIDIA_DRIVER_CAPABILITIES=compute,utility")
	}
}

// Names that look like one that counts, and that nothing reads. PYTORCH_NPU_ALLOC_CONF and
// other names of vendors belong to their builds and do not match.
var (
	likeAllocator = regexp.MustCompile(`(?i)^(py)?torch_?((cuda|hip|rocm|gpu)_)?(mem(ory)?_)?alloc(ator|ation|ate)?(_?(conf|confs|config|configuration|cfg|settings?))?$`)
	likeVisible   = regexp.MustCompile(`(?i)^cuda_(vis[ia]+b[il]+e?|visible)_?(devices?|gpus?)$|^cuda_devices?_visible$|^cudavisible_?devices$`)
)

// likeFraction are variables that are set in the belief that they limit PyTorch.
var likeFraction = regexp.MustCompile(`^PYTORCH_((CUDA|GPU|HIP)_)?(MAX_)?MEM(ORY)?_(FRACTION|LIMIT)$`)

func misspelt(found *faults, name, value string) {
	switch {
	case likeAllocator.MatchString(name):
		confidence := rules.Medium
		if looksLikeConf(value) {
			confidence = rules.High
		} else if !strings.Contains(strings.ToUpper(name), "CONF") {
			return // it may be anything of the program's own
		}
		found.add("conf/ignored-variable", rules.Warning, confidence, "%s is read by no PyTorch; PYTORCH_CUDA_ALLOC_CONF is", name).
			do("write PYTORCH_CUDA_ALLOC_CONF")
	case likeFraction.MatchString(name):
		found.add("conf/ignored-variable", rules.Warning, rules.Medium, "%s is read by no PyTorch, and limits nothing", name).
			because("the option per_process_memory_fraction of PYTORCH_CUDA_ALLOC_CONF does, from PyTorch 2.10 on").
			do("call torch.cuda.set_per_process_memory_fraction in the program, or use the option")
	case likeVisible.MatchString(name):
		found.add("conf/ignored-variable", rules.Warning, rules.High, "%s is not read by CUDA; CUDA_VISIBLE_DEVICES is", name).
			do("write CUDA_VISIBLE_DEVICES")
	}
}

// looksLikeConf tells whether a value names an option of the allocator.
func looksLikeConf(value string) bool {
	return slices.ContainsFunc(conf.Split(value), func(o conf.Option) bool { return conf.NearestOption(o.Key) == o.Key && o.Value != "" })
}
