package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"pgregory.net/rapid"
)

func readText(t testing.TB, text string) *TextResult {
	t.Helper()
	rep, err := message.Parse(strings.NewReader(text), message.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Text(rep)
}

// textCauses are messages with what an expert says of them. Those with a number are
// public reports.
var textCauses = []struct {
	name, text string
	cause      OOMCause
	sure       rules.Confidence
	limit      CapKind
	rules      string // of all findings, in order
}{
	{
		"nothing free anywhere",
		"CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 79.15 GiB of which 307.31 MiB is free. Including non-PyTorch memory, this process has 78.84 GiB memory in use. Of the allocated memory 77.24 GiB is allocated by PyTorch, and 0.30 GiB is reserved by PyTorch but unallocated.",
		TrueShortage, rules.High, DeviceCap, "oom/true-shortage",
	}, {
		"half the device in pieces",
		"CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 31.74 GiB of which 607.31 MiB is free. Including non-PyTorch memory, this process has 31.13 GiB memory in use. Of the allocated memory 17.24 GiB is allocated by PyTorch, and 13.30 GiB is reserved by PyTorch but unallocated.",
		Fragmentation, rules.Medium, DeviceCap, "oom/fragmentation",
	}, {
		"pieces, yet the device is full (pytorch#16417)",
		"CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.",
		Fragmentation, rules.Low, DeviceCap, "oom/fragmentation",
	}, {
		"between cache and device",
		"CUDA out of memory. Tried to allocate 1.96 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.07 GiB is free. Including non-PyTorch memory, this process has 78.06 GiB memory in use. Of the allocated memory 75.24 GiB is allocated by PyTorch, and 1.30 GiB is reserved by PyTorch but unallocated.",
		Fragmentation, rules.Low, DeviceCap, "oom/fragmentation",
	}, {
		"larger than the GPU (ComfyUI#9529 and the like)",
		"HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
		TrueShortage, rules.High, DeviceCap, "oom/true-shortage",
	}, {
		"more than 1EB",
		"RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
		TrueShortage, rules.High, DeviceCap, "oom/true-shortage",
	}, {
		"nine other processes (lightning-thunder#115)",
		"CUDA out of memory. Tried to allocate 24.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 23.31 MiB is free. Process 604665 has 5.59 GiB memory in use. Process 604694 has 9.22 GiB memory in use. Process 604687 has 4.91 GiB memory in use. Of the allocated memory 348.82 MiB is allocated by PyTorch, and 39.18 MiB is reserved by PyTorch but unallocated.",
		OtherProcess, rules.High, DeviceCap, "oom/other-process",
	}, {
		"this process under its number on the host",
		"CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 47.53 GiB of which 16.88 MiB is free. Process 3652628 has 47.51 GiB memory in use. Of the allocated memory 47.14 GiB is allocated by PyTorch, and 57.79 MiB is reserved by PyTorch but unallocated.",
		TrueShortage, rules.High, DeviceCap, "oom/true-shortage",
	}, {
		"contexts of other ranks (keys_values#92)",
		"CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity of 39.49 GiB of which 321.31 MiB is free. Process 3721648 has 414.00 MiB memory in use. Including non-PyTorch memory, this process has 37.46 GiB memory in use. Process 1374765 has 414.00 MiB memory in use. Process 1374763 has 414.00 MiB memory in use. Process 1374764 has 414.00 MiB memory in use. Of the allocated memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated.",
		OtherProcess, rules.Medium, DeviceCap, "oom/other-process",
	}, {
		"an older release does not name who has it",
		"CUDA out of memory. Tried to allocate 216.00 MiB (GPU 0; 7.92 GiB total capacity; 69.17 MiB already allocated; 24.56 MiB free; 86.00 MiB reserved in total by PyTorch)",
		OtherProcess, rules.High, DeviceCap, "oom/other-process",
	}, {
		"another library in this process",
		"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 307.31 MiB is free. Including non-PyTorch memory, this process has 78.84 GiB memory in use. Of the allocated memory 17.24 GiB is allocated by PyTorch, and 0.30 GiB is reserved by PyTorch but unallocated.",
		OtherProcess, rules.High, DeviceCap, "oom/other-process",
	}, {
		"a fraction that is printed",
		"HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.",
		Fragmentation, rules.Medium, FractionCap, "oom/fragmentation oom/fraction-cap",
	}, {
		"a fraction that is printed and was not met",
		"HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 100.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
		Undetermined, rules.Low, FractionCap, "oom/undetermined oom/fraction-cap",
	}, {
		"a fraction that is printed and was met",
		"CUDA out of memory. Tried to allocate 50.00 MiB (GPU 2; 12.20 GiB total capacity; 4.71 GiB already allocated; 7.01 GiB free; 4.77 GiB allowed; 4.74 GiB reserved in total by PyTorch)",
		Undetermined, rules.Low, FractionCap, "oom/undetermined oom/fraction-cap",
	}, {
		"a fraction with little in the cache",
		"CUDA out of memory. Tried to allocate 500.00 MiB (GPU 2; 12.20 GiB total capacity; 4.71 GiB already allocated; 7.01 GiB free; 4.77 GiB allowed; 4.74 GiB reserved in total by PyTorch)",
		TrueShortage, rules.High, FractionCap, "oom/true-shortage oom/fraction-cap",
	}, {
		"a fraction that 2.1 does not print (pytorch#111363)",
		"CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 79.15 GiB of which 38.09 GiB is free. Including non-PyTorch memory, this process has 41.06 GiB memory in use. Of the allocated memory 39.10 GiB is allocated by PyTorch, and 427.46 MiB is reserved by PyTorch but unallocated.",
		Fragmentation, rules.Low, FractionCap, "oom/fragmentation oom/fraction-cap",
	}, {
		"a fraction in a GPU share of a worker (CellProfiler-plugins#236)",
		"CUDA out of memory. Tried to allocate 98.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 2.86 GiB is free. Of the allocated memory 254.49 MiB is allocated by PyTorch, and 97.51 MiB is reserved by PyTorch but unallocated.",
		Undetermined, rules.Low, FractionCap, "oom/undetermined oom/fraction-cap",
	}, {
		"MPS at its watermark",
		"RuntimeError: MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). Tried to allocate 292.50 MiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit",
		TrueShortage, rules.Medium, FractionCap, "oom/true-shortage",
	}, {
		"cudaMallocAsync",
		"Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 15.16 GiB\nRequested               : 512.00 KiB\nDevice limit            : 15.99 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
		TrueShortage, rules.Low, DeviceCap, "oom/true-shortage",
	}, {
		"words only",
		"RuntimeError: CUDA out of memory.",
		Undetermined, rules.Low, DeviceCap, "oom/undetermined",
	},
}

// TestTextCauses holds the conclusions to the table above.
func TestTextCauses(t *testing.T) {
	for _, c := range textCauses {
		t.Run(c.name, func(t *testing.T) {
			r := readText(t, c.text)
			if len(r.OOMs) != 1 {
				t.Fatalf("%d messages", len(r.OOMs))
			}
			o := r.OOMs[0]
			if o.Cause != c.cause || o.Confidence != c.sure || o.Cap != c.limit {
				t.Errorf("cause %s (%d), cap %s; want %s (%d), %s", o.Cause, o.Confidence, o.Cap, c.cause, c.sure, c.limit)
			}
			if got := ruleList(r); got != c.rules {
				t.Errorf("findings %s, want %s", got, c.rules)
			}
			if len(r.Next) == 0 || len(r.Unknown) == 0 {
				t.Error("what the text cannot say is not said")
			}
		})
	}
}

func ruleList(r *TextResult) string {
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.Rule)
	}
	return strings.Join(ids, " ")
}

// TestTextHost: what happens on the host is never called a lack of GPU memory.
func TestTextHost(t *testing.T) {
	for _, c := range []struct {
		text, rule string
		sure       rules.Confidence
	}{
		{"Killed", "oom/host-killed", rules.Medium},
		{shortTextOOM + "\ntorchrun: failed (exitcode: -9) local_rank: 3 (pid: 8) of binary: python", "oom/host-killed", rules.Low},
		{"Killed\nOut of memory: Killed process 7 (python) total-vm:1kB, anon-rss:1kB", "oom/host-killed", rules.High},
		{"RuntimeError: [enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes.", "oom/host-killed", rules.Medium},
		{"RuntimeError: DataLoader worker (pid 4) is killed by signal: Bus error.", "oom/host-killed", rules.High},
		{"could not allocate pinned host memory of size: 34359738368", "oom/host-pinned", rules.High},
		{"Traceback (most recent call last):\n  File \"/v/site-packages/torch/utils/data/_utils/pin_memory.py\", line 50, in pin_memory\nRuntimeError: CUDA error: out of memory", "oom/host-pinned", rules.High},
		{"Traceback (most recent call last):\n  File \"/app/x.py\", line 50, in f\nRuntimeError: CUDA error: out of memory", "oom/hidden", rules.Medium},
		{`RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":830`, "oom/nvml-assert", rules.High},
		{"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "oom/hidden", rules.Medium},
		{"RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", "oom/hidden", rules.Low},
		{"NCCL WARN Failed to CUDA calloc 4 bytes", "oom/hidden", rules.Medium},
		{"NCCL WARN Cuda failure 2 'out of memory'\nNCCL WARN Failed to CUDA calloc 4 bytes", "oom/hidden", rules.High},
	} {
		r := readText(t, c.text)
		i := slices.IndexFunc(r.Findings, func(f rules.Finding) bool { return f.Rule == c.rule })
		if i < 0 || r.Findings[i].Confidence != c.sure {
			t.Errorf("%q: %s, want %s of confidence %d", c.text, ruleList(r), c.rule, c.sure)
		}
	}
}

const shortTextOOM = "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; 1.94 GiB already allocated; 2.88 MiB free; 1.95 GiB reserved in total by PyTorch)"

// TestTextVerdicts reads every text of the message tests and pins all conclusions.
func TestTextVerdicts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "message", "testdata", "*.txt"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d texts: %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := readText(t, string(text))
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(file), r.Verdict)
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "%s severity %d confidence %d: %s\n", f.Rule, f.Severity, f.Confidence, f.Title)
			for _, e := range f.Evidence {
				fmt.Fprintf(&b, "  %s\n", e)
			}
		}
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	golden := filepath.Join("testdata", "text.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", golden, diff)
	}
}

// TestTextWithinRounding: a cause that is named without doubt holds for the exact
// numbers, of which the message has only two decimals.
func TestTextWithinRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string, most int64) int64 {
			return rapid.Int64Range(0, most).Draw(t, name) >> rapid.IntRange(0, 20).Draw(t, "shift")
		}
		capacity := rapid.Int64Range(1<<30, 1<<38).Draw(t, "capacity")
		free := size("free", capacity)
		cached := size("cached", capacity-free)
		allocated := size("allocated", capacity-free-cached)
		request := size("request", 2*capacity)
		text := fmt.Sprintf("CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is free. Including non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but unallocated.",
			torchSize(request), torchSize(capacity), torchSize(free), torchSize(capacity-free), torchSize(allocated), torchSize(cached))
		o := readTextRapid(t, text)
		switch {
		case o.Cause == TrueShortage && request <= capacity && cached+free >= request:
			t.Fatalf("a shortage, where %d and %d were free for %d: %s", cached, free, request, text)
		case o.Cause == Fragmentation && cached+free < request:
			t.Fatalf("fragmentation, where %d and %d were free for %d: %s", cached, free, request, text)
		case o.Cap == FractionCap && free < request:
			t.Fatalf("a fraction, where %d was free for %d: %s", free, request, text)
		}
	})
}

func readTextRapid(t *rapid.T, text string) TextOOM {
	rep, err := message.Parse(strings.NewReader(text), message.Options{})
	if err != nil || len(rep.OOMs) != 1 {
		t.Fatalf("%d messages: %v", len(rep.OOMs), err)
	}
	return Text(rep).OOMs[0]
}

// torchSize prints as PyTorch's allocator does.
func torchSize(n int64) string {
	switch {
	case n <= 1024:
		return fmt.Sprintf("%d bytes", n)
	case n <= 1<<20:
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	case n <= 1<<30:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// TestAbsurdRequest: to ask for more than an exbibyte is a fault of the program; what
// helps against a lack of memory does not help.
func TestAbsurdRequest(t *testing.T) {
	rep, err := message.Parse(strings.NewReader("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory."), message.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := Text(rep).Findings[0]
	if len(f.Causes) != 0 || len(f.Remedies) != 1 || !strings.Contains(f.Remedies[0].Do, "shape") {
		t.Errorf("causes %v, remedies %v", f.Causes, f.Remedies)
	}
}
