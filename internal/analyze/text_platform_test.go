package analyze

import (
	"strings"
	"testing"
)

// textOf joins all that a text's result says.
func textOf(r *TextResult) string {
	parts := append([]string{r.Verdict}, r.Next...)
	parts = append(parts, r.Notes...)
	for _, f := range r.Findings {
		parts = append(append(parts, f.Title), f.Evidence...)
		for _, m := range f.Remedies {
			parts = append(parts, m.Do)
		}
	}
	return strings.Join(parts, "\n")
}

// TestTextWords wants what fits the platform and the release that a text is of, and
// nothing of another.
func TestTextWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want, not  []string
	}{
		{
			"XPU", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a total capacity of 5.65 GiB of which 1.65 GiB is free. Of the allocated memory 3.50 GiB is allocated by PyTorch, and 1.81 MiB is reserved by PyTorch but unallocated.",
			[]string{"torch.xpu.memory._record_memory_history", "2.11 or newer"},
			[]string{"torch.cuda"},
		},
		{
			"MPS in GB", "MPS backend out of memory (MPS allocated: 6.00 GB, other allocations: 3.00 GB, max allowed: 9.07 GB). Tried to allocate 256.00 MB on private pool.",
			[]string{"9.00 GiB of 9.07 GiB allowed", "torch.mps.driver_allocated_memory"},
			[]string{"torch.cuda", "9.07 GB", "_record_memory_history"},
		},
		{
			"JAX", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
			[]string{"XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "set_memory_growth", "save_device_memory_profile"},
			[]string{"set_per_process_memory_fraction", "empty_cache", "torch.cuda"},
		},
		{"the bare error", "RuntimeError: CUDA error: out of memory", []string{"Other processes may fill the GPU", "torch.cuda.memory"}, nil},
		{"segments of 20 MiB, release unknown", "CUDA out of memory. Tried to allocate 20.00 MiB.", []string{"large_segment_size_mb, since 2.11"}, nil},
		{"segments of 20 MiB, an old release", shortTextOOM, []string{"segments of 20 MiB, or for one"}, []string{"large_segment_size_mb"}},
		{"a worker of a DataLoader", "RuntimeError: DataLoader worker (pid 4) is killed by signal: Killed.", []string{"A DataLoader worker was killed"}, []string{"\na DataLoader worker was killed."}},
		{
			"a table", "|  PyTorch CUDA memory summary, device ID 0  |\n| CUDA OOMs: 0 | cudaMalloc retries: 0 |\n| Metric | Cur Usage | Peak Usage | Tot Alloc | Tot Freed |\n| Allocated memory | 940 MiB | 940 MiB | 1 GiB | 0 B |\n| GPU reserved memory | 1000 MiB | 1001 MiB | 1 GiB | 0 B |\n",
			[]string{"allocated 940.00 MiB, reserved 1000.00 MiB (peak 1001.00 MiB)"},
			[]string{".50 MiB"},
		},
	} {
		got := textOf(readText(t, c.text))
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in\n%s", c.name, w, got)
			}
		}
		for _, w := range c.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q in\n%s", c.name, w, got)
			}
		}
	}
}

// TestNotAccountedFor names no memory that may be nothing but the rounding of the
// message's numbers.
func TestNotAccountedFor(t *testing.T) {
	const head = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
	for capacity, want := range map[string]bool{"10.00": false, "10.01": false, "12.00": true} {
		r := readText(t, head+capacity+" GiB of which 1.00 GiB is free. Process 7 has 2.00 GiB memory in use. Including non-PyTorch memory, this process has 7.00 GiB memory in use. Of the allocated memory 6.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.")
		if got := r.OOMs[0].Account.UnexplainedBytes > 0; got != want {
			t.Errorf("capacity %s GiB: %d bytes not accounted for", capacity, r.OOMs[0].Account.UnexplainedBytes)
		}
	}
}
