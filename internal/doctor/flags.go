package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// flags judges variables that are taken for levers of memory, and are not, or are without it
// being known.
func flags(f *Facts) []Check {
	var checks []Check
	for _, flag := range []func(*Facts) (Check, bool){tf32, cublasWorkspace, launchBlocking, moduleLoading, stubs} {
		if c, ok := flag(f); ok {
			checks = append(checks, c)
		}
	}
	return checks
}

// tf32 is a way of multiplying, not of storing.
func tf32(f *Facts) (Check, bool) {
	const id = "flags/tf32"
	for _, name := range []string{"NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"} {
		value, set := f.Env[name]
		if !set {
			continue
		}
		means := "It changes how products of float32 are computed, in speed and accuracy. No tensor gets smaller: they stay float32 in memory."
		if name == "NVIDIA_TF32_OVERRIDE" && value == "0" {
			means = "It turns TF32 off in all libraries, whatever PyTorch is told. No tensor gets larger or smaller by it: they are float32 in memory either way."
		}
		return found(id, Note, fmt.Sprintf("%s=%s saves no memory", name, value), means), true
	}
	return Check{}, false
}

// cublasWorkspace is set for deterministic results, and takes memory for each handle and stream.
func cublasWorkspace(f *Facts) (Check, bool) {
	const id, name = "flags/cublas-workspace", "CUBLAS_WORKSPACE_CONFIG"
	value, set := f.Env[name]
	if !set {
		return Check{}, false
	}
	bytes, valid := workspaceBytes(value)
	if !valid {
		return found(id, Warning, fmt.Sprintf("%s=%s is not of the form :SIZE:COUNT, with SIZE in KiB", name, value), "PyTorch takes its default instead, and results need not be the same each time.",
			"export "+name+"=:4096:8, or :16:8"), true
	}
	return found(id, Note, fmt.Sprintf("%s=%s gives cuBLAS %s for each pair of a thread's handle and a stream", name, value, units.FormatBytes(bytes)),
		"It is for results that are the same each time. PyTorch takes it from its allocator at the first product on a stream and keeps it: it shows as memory that nothing frees.",
		"torch._C._cuda_clearCublasWorkspaces() gives it back"), true
}

// workspaceBytes reads pairs as ":4096:2:16:8": sizes in KiB, and how many of each.
func workspaceBytes(value string) (bytes int64, valid bool) {
	numbers, ok := strings.CutPrefix(value, ":")
	fields := strings.Split(numbers, ":")
	if !ok || len(fields)%2 != 0 {
		return 0, false
	}
	for i := 0; i < len(fields); i += 2 {
		size, errS := strconv.ParseInt(fields[i], 10, 32)
		n, errN := strconv.ParseInt(fields[i+1], 10, 16)
		if errS != nil || errN != nil || size < 0 || n < 0 {
			return 0, false
		}
		bytes += size * n * units.KiB
	}
	return bytes, true
}

func launchBlocking(f *Facts) (Check, bool) {
	const name = "CUDA_LAUNCH_BLOCKING"
	if f.env(name) != "1" {
		return Check{}, false
	}
	return found("flags/launch-blocking", Warning, name+"=1 has every kernel waited for",
		"It puts the error of a kernel at the right line. It saves no memory, and makes programs slower.", "unset "+name+" when the error is found"), true
}

// moduleLoading is the one variable here that is a lever: loading all kernels at the start
// makes contexts larger. On an H200 a first tensor of PyTorch 2.11 took 1260 MiB of the device
// and 3.5 s with EAGER, 620 MiB and 0.3 s without.
func moduleLoading(f *Facts) (Check, bool) {
	const name = "CUDA_MODULE_LOADING"
	if f.env(name) != "EAGER" {
		return Check{}, false
	}
	return found("flags/module-loading", Warning, name+"=EAGER loads all kernels of all libraries into each context",
		"That is memory of the GPU outside of PyTorch's allocator, for each process, and a slower start: with PyTorch 2.11 on an H200 contexts took 1260 MiB instead of 620.",
		"unset "+name+", or set it to LAZY"), true
}

// stubs are libraries to link against, which stand in for the driver and have none behind them.
func stubs(f *Facts) (Check, bool) {
	for dir := range strings.SplitSeq(f.env("LD_LIBRARY_PATH"), ":") {
		if strings.HasSuffix(strings.TrimRight(dir, "/"), "/stubs") {
			c := found("flags/library-path", Note, "LD_LIBRARY_PATH has a folder of stubs: "+dir,
				"Its libcuda stands in for the driver's when programs are linked. Where a program finds it in place of that, it ends with 'CUDA driver is a stub library'.", "take the folder out of LD_LIBRARY_PATH")
			if f.Python.CUDA != nil && strings.Contains(f.Python.CUDA.Error, "stub") {
				c.State = Problem
			}
			return c, true
		}
	}
	return Check{}, false
}
