package message

import (
	"fmt"
	"strings"
	"testing"
)

const hintC = " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"

// wordings are messages as releases and libraries print them, each with what has to
// be read. The public reports that they were taken from are named in testdata/README.md.
var wordings = []struct{ name, text, want string }{
	{
		"1.0 cached", "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)",
		"oom cached CUDA gpu=0 tried=12.50 MiB cap=10.92 GiB free=9.28 GiB alloc=8.57 MiB unalloc=4.68 MiB class=RuntimeError torch=1.0 to 1.3",
	},
	{
		"1.0 small", "RuntimeError: CUDA out of memory. Tried to allocate 1024.00 KiB (GPU 0; 11.17 GiB total capacity; 10.90 GiB already allocated; 576.00 KiB free; 30.96 MiB cached)",
		"oom cached CUDA gpu=0 tried=1024.00 KiB cap=11.17 GiB free=576.00 KiB alloc=10.90 GiB unalloc=30.96 MiB class=RuntimeError torch=1.0 to 1.3",
	},
	{
		"1.6 with source position", "OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 246.00 MiB (GPU 0; 31.75 GiB total capacity; 26.00 GiB already allocated; 460.38 MiB free; 27.88 GiB reserved in total by PyTorch) (malloc at /opt/x/c10/cuda/CUDACachingAllocator.cpp:501)",
		"oom reserved CUDA gpu=0 tried=246.00 MiB cap=31.75 GiB free=460.38 MiB alloc=26.00 GiB reserved=27.88 GiB torch=1.4 to 1.10",
	},
	{
		"1.7", "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch)",
		"oom reserved CUDA gpu=0 tried=2.26 GiB cap=6.00 GiB free=3.03 GiB alloc=781.59 MiB reserved=1.24 GiB torch=1.4 to 1.10",
	},
	{
		"1.13 class and hint", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; 8.00 GiB total capacity; 17.20 GiB already allocated; 0 bytes free; 19.15 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
		"oom reserved CUDA gpu=0 tried=10.73 GiB cap=8.00 GiB free=0 bytes alloc=17.20 GiB reserved=19.15 GiB class=torch.cuda.OutOfMemoryError hint=max_split_size_mb torch=1.13 to 2.0",
	},
	{
		"2.0 fraction", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB (GPU 2; 12.20 GiB total capacity; 4.71 GiB already allocated; 7.01 GiB free; 4.77 GiB allowed; 4.74 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
		"oom reserved CUDA gpu=2 tried=50.00 MiB cap=12.20 GiB free=7.01 GiB alloc=4.71 GiB reserved=4.74 GiB allowed=4.77 GiB class=torch.cuda.OutOfMemoryError hint=max_split_size_mb torch=1.13 to 2.0",
	},
	{
		"1.8 start cut off", "Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated; 2.88 MiB free; 1.25 GiB reserved in total by PyTorch)",
		"oom reserved gpu=0 tried=20.00 MiB cap=1.96 GiB free=2.88 MiB alloc=1.24 GiB reserved=1.25 GiB torch=1.4 to 1.10",
	},
	{
		"2.1 typo", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
		"oom sentence CUDA gpu=0 tried=3.00 GiB cap=23.65 GiB free=1.66 GiB own=20.81 GiB alloc=12.09 GiB unalloc=4.84 GiB class=torch.cuda.OutOfMemoryError hint=max_split_size_mb torch=2.1",
	},
	{
		"2.3", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated." + hintC,
		"oom sentence CUDA gpu=0 tried=22.00 MiB cap=23.65 GiB free=11.06 MiB own=23.60 GiB alloc=22.90 GiB unalloc=194.87 MiB class=torch.cuda.OutOfMemoryError hint=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torch=2.2 to 2.4",
	},
	{
		"2.5 private pools", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 562167 has 15.25 GiB memory in use. Of the allocated memory 13.73 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 736.86 MiB is reserved by PyTorch but unallocated." + hintC,
		"oom sentence CUDA gpu=0 tried=546.00 MiB cap=15.77 GiB free=514.19 MiB other=562167:15.25 GiB alloc=13.73 GiB private=46.00 MiB unalloc=736.86 MiB class=torch.OutOfMemoryError hint=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torch=2.5 or newer",
	},
	{
		"2.9 new variable", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity of 39.49 GiB of which 321.31 MiB is free. Process 3721648 has 414.00 MiB memory in use. Including non-PyTorch memory, this process has 37.46 GiB memory in use. Process 1374765 has 414.00 MiB memory in use. Of the allocated memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
		"oom sentence CUDA gpu=0 tried=572.00 MiB cap=39.49 GiB free=321.31 MiB own=37.46 GiB other=3721648:414.00 MiB other=1374765:414.00 MiB alloc=36.04 GiB unalloc=321.37 MiB class=torch.OutOfMemoryError hint=PYTORCH_ALLOC_CONF=expandable_segments:True torch=2.9 or newer",
	},
	{
		"fraction of HIP", "FAILED test_autograd.py::test_x - torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated." + hintC,
		"oom sentence HIP gpu=0 tried=2.00 MiB cap=255.98 GiB free=244.65 GiB alloc=1017.01 MiB private=17.00 MiB unalloc=54.99 MiB allowed=1.05 GiB class=torch.OutOfMemoryError hint=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torch=2.5 or newer",
	},
	{
		"HIP variable", "HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
		"oom sentence HIP gpu=0 tried=16.00 GiB cap=15.24 GiB free=15.09 GiB alloc=0 bytes unalloc=0 bytes hint=PYTORCH_HIP_ALLOC_CONF=expandable_segments:True torch=2.2 or newer",
	},
	{
		"process of unknown size", "CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 23.99 GiB of which 0 bytes is free. Process 1 has 17179869184.00 GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.",
		"oom sentence CUDA gpu=0 tried=128.00 MiB cap=23.99 GiB free=0 bytes other=1:? alloc=21.50 GiB unalloc=300.00 MiB torch=2.2 or newer",
	},
	{
		"absurd request", "Unexpected error: CUDA out of memory. Tried to allocate 130206.04 GiB. GPU 0 has a total capacity of 23.56 GiB of which 16.57 GiB is free. Including non-PyTorch memory, this process has 6.97 GiB memory in use. Of the allocated memory 5.45 GiB is allocated by PyTorch, and 1.17 GiB is reserved by PyTorch but unallocated.",
		"oom sentence CUDA gpu=0 tried=130206.04 GiB cap=23.56 GiB free=16.57 GiB own=6.97 GiB alloc=5.45 GiB unalloc=1.17 GiB torch=2.2 or newer",
	},
	{"1EB", "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.", "oom huge CUDA class=RuntimeError"},
	{
		"unknown clause between", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 3 has a total capacity of 79.15 GiB of which 38.09 GiB is free. The moon is full. Of the allocated memory 39.10 GiB is allocated by PyTorch, and 427.46 MiB is reserved by PyTorch but unallocated.",
		"oom sentence CUDA gpu=3 tried=64.00 MiB cap=79.15 GiB free=38.09 GiB alloc=39.10 GiB unalloc=427.46 MiB class=torch.OutOfMemoryError torch=2.5 or newer",
	},
	{
		"start lost to another writer", "ed GPU 1 has a total capacity of 79.15 GiB of which 1.09 GiB is free. Of the allocated memory 75.10 GiB is allocated by PyTorch, and 427.46 MiB is reserved by PyTorch but unallocated.",
		"oom sentence gpu=1 cap=79.15 GiB free=1.09 GiB alloc=75.10 GiB unalloc=427.46 MiB torch=2.2 or newer",
	},
	{
		"XPU", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a total capacity of 5.65 GiB of which 5.65 GiB is free. Of the allocated memory 195.50 KiB is allocated by PyTorch, and 1.81 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
		"oom sentence XPU gpu=0 tried=4.66 GiB cap=5.65 GiB free=5.65 GiB alloc=195.50 KiB unalloc=1.81 MiB class=torch.OutOfMemoryError hint=empty_cache torch=2.5 or newer",
	},
	{
		"XPU before 2.5", "RuntimeError: XPU out of memory. Tried to allocate 1.71 GiB (GPU 0; 15.56 GiB total capacity; 176.00 MiB already allocated; 176.00 MiB reserved in total by PyTorch)",
		"oom reserved XPU gpu=0 tried=1.71 GiB cap=15.56 GiB alloc=176.00 MiB reserved=176.00 MiB class=RuntimeError torch=1.4 to 1.10",
	},
	{
		"IPEX large block", "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.85 GiB (GPU  0; 15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
		"oom reserved gpu=0 tried=6.85 GiB cap=15.56 GiB alloc=0 bytes reserved=0 bytes torch=1.4 to 1.10",
	},
	{
		"NPU", "RuntimeError: NPU out of memory. Tried to allocate 52.00 MiB (NPU 1; 60.96 GiB total capacity; 59.36 GiB already allocated; 59.36 GiB current active; 19.52 MiB free; 59.65 GiB reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
		"oom reserved NPU gpu=1 tried=52.00 MiB cap=60.96 GiB free=19.52 MiB alloc=59.36 GiB reserved=59.65 GiB class=RuntimeError hint=max_split_size_mb torch=1.11 to 2.0",
	},
	{
		"MPS", "RuntimeError: MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). Tried to allocate 292.50 MiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
		"oom mps MPS tried=292.50 MiB alloc=9.57 GiB allowed=27.20 GiB otheralloc=17.35 GiB pool=private class=RuntimeError hint=PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
	},
	{
		"MPS in GB", "MPS backend out of memory (MPS allocated: 16.00 GB, other allocations: 3.31 GB, max allowed: 18.13 GB). Tried to allocate 256 bytes on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
		"oom mps MPS tried=256 bytes alloc=16.00 GB allowed=18.13 GB otheralloc=3.31 GB pool=shared hint=PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
	},
	{
		"cudaMallocAsync in one line", "Allocation on device 0 would exceed allowed memory. (out of memory) Currently allocated : 15.16 GiB Requested : 512.00 KiB Device limit : 15.99 GiB Free (according to CUDA): 0 bytes PyTorch limit (set by user-supplied memory fraction) : 8.00 GiB",
		"oom cudaMallocAsync CUDA gpu=0 tried=512.00 KiB cap=15.99 GiB free=0 bytes alloc=15.16 GiB allowed=8.00 GiB",
	},
	{"bare", "RuntimeError: CUDA out of memory.", "oom bare CUDA class=RuntimeError"},
	{"bare, C++", "terminate called: what():  CUDA out of memory.", "oom bare CUDA"},
	{"talk", "Note: if you see CUDA out of memory errors, use a smaller batch.", ""},
	{"code", `    if "CUDA out of memory" in str(e): retry()`, ""},
	{"class alone", "except torch.cuda.OutOfMemoryError as e:", ""},

	{"driver API", "RuntimeError: CUDA driver error: out of memory", "clue driver-error"},
	{"runtime", "RuntimeError: CUDA error: out of memory", "clue cuda-error"},
	{"runtime, 2.8", "torch.AcceleratorError: CUDA error: out of memory", "clue cuda-error"},
	{"runtime, 2.10", "torch.AcceleratorError: CUDA error: out of memorySearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/", "clue cuda-error"},
	{"driver name", `Model failed with error DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")`, "clue driver-error"},
	{"HIP runtime", "RuntimeError: HIP error: out of memory", "clue hip-error"},
	{"NVML assert", `RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":830, please report a bug to PyTorch.`, "clue nvml-assert"},
	{"NVML assert of a build", `RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/opt/conda/conda-bld/pytorch_1695392020201/work/c10/cuda/CUDACachingAllocator.cpp":1154, please report a bug to PyTorch.`, "clue nvml-assert"},
	{"cuBLAS create", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "clue cublas-alloc"},
	{"cuBLAS of TensorFlow", "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED", "clue cublas-alloc"},
	{"cuBLAS init", "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "clue cublas-init"},
	{"cuDNN", "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "clue cudnn-alloc"},
	{"cuDNN in Keras", "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED", "clue cudnn-alloc"},
	{"cuDNN layout", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.", "clue cudnn-other"},
	{"cuDNN internal", "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", "clue cudnn-other"},
	{"cuDNN warning", "UserWarning: Plan failed with a cudnnException: cudnnFinalize Descriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED", ""},
	{"cuFFT", "cupy.cuda.cufft.CuFftError: CUFFT_ALLOC_FAILED", "clue cufft-alloc"},
	{"cuSOLVER", "RuntimeError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`", "clue cusolver-alloc"},
	{"cuSOLVER handle", "RuntimeError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`", "clue cusolver-alloc"},
	{"cuSOLVER other", "RuntimeError: cusolver error: CUSOLVER_STATUS_EXECUTION_FAILED, when calling `cusolverDnSgetrf( handle, m)`", ""},
	{"cuSPARSE", "RuntimeError: CUDA error: CUSPARSE_STATUS_INSUFFICIENT_RESOURCES when calling `cusparseSpMM`", "clue cusparse-alloc"},
	{"NCCL calloc", "c11efb988616:1346195:1346232 [0] include/alloc.h:105 NCCL WARN Failed to CUDA calloc 1048576 bytes", "clue nccl-alloc gpu=0 size=1048576 bytes"},
	{"NCCL calloc async", "Failed to CUDA calloc async 1920 bytes", "clue nccl-alloc size=1920 bytes"},
	{"NCCL failure 2", "node3:1:2 [5] transport/p2p.cc:10 NCCL WARN Cuda failure 2 'out of memory'", "clue nccl-alloc gpu=5"},
	{"NCCL failure 1", "node3:1:2 [5] NCCL WARN Cuda failure 1 'invalid argument'", ""},
	{"NCCL failure in one line", `RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, unhandled cuda error, NCCL version 2.19.3 Cuda failure 2 "out of memory"`, "clue nccl-alloc"},
	{"JAX", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes.", "clue xla-exhausted size=7406166528 bytes"},
	{"JAX, newer", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 20029400304 bytes.", "clue xla-exhausted size=20029400304 bytes"},
	{"JAX, older", "RuntimeError: Resource exhausted: Out of memory while trying to allocate 24 bytes.", "clue xla-exhausted size=24 bytes"},
	{"bitsandbytes", "Error out of memory at line 380 in file /home/x/bitsandbytes/csrc/pythonInterface.c", "clue other-gpu"},
	{"llama.cpp", "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 1: cudaMalloc failed: out of memory", "clue other-gpu"},
	{"CuPy", "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 200000000000 bytes (total 200000004096 bytes)", "clue other-gpu size=200000000000 bytes"},
	{"RMM", "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: include/rmm/mr/device/cuda_memory_resource.hpp", "clue other-gpu"},
	{"spconv", "cuda failed with error 2 out of memory. use CUDA_LAUNCH_BLOCKING=1 to get correct traceback.", "clue other-gpu"},
	{"Triton", "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.", "clue kernel-resources size=131072 bytes limit=101376 bytes"},
	{"vLLM cache blocks", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "clue vllm-budget"},
	{"vLLM free", "ValueError: Free memory on device (31.44/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "clue vllm-free size=45.01 GiB limit=47.38 GiB"},
	{"vLLM sequence", "ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648). Try increasing `gpu_memory_utilization`", "clue vllm-budget"},
	{"vLLM need", "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV cache is needed, which is larger than the available KV cache memory (1.25 GiB).", "clue vllm-budget limit=1.25 GiB"},

	{"malloc", "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)", "clue host-alloc size=132426121216 bytes"},
	{"malloc on Windows", `RuntimeError: [enforce fail at ..\c10\core\impl\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 26214400 bytes.`, "clue host-alloc size=26214400 bytes"},
	{"NumPy", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 14.9 GiB for an array with shape (50000, 40000) and data type float64", "clue host-alloc size=14.9 GiB"},
	{"fork", "OSError: [Errno 12] Cannot allocate memory", "clue host-alloc"},
	{"C++", "terminate called after throwing an instance of 'std::bad_alloc'", "clue host-alloc"},
	{"pinned, TensorFlow", "could not allocate pinned host memory of size: 34359738368", "clue host-pinned"},
	{"pinned, TensorFlow driver", "failed to alloc 34359738368 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "clue host-pinned"},
	{"pinned, llama.cpp", "ggml_cuda_host_malloc: failed to allocate 1900.00 MiB of pinned memory: invalid argument", "clue host-pinned size=1900.00 MiB"},
	{"kernel", "Out of memory: Killed process 7899 (python) total-vm:26184840kB, anon-rss:15370088kB, file-rss:0kB", "clue oom-killer pid=7899 python used=15370088 kB"},
	{"kernel, 4.x", "Out of memory: Kill process 31490 (python3) score 897 or sacrifice child", "clue oom-killer pid=31490 python3"},
	{"cgroup", "Memory cgroup out of memory: Killed process 63214 (pt_main_thread) total-vm:3149468kB, anon-rss:164992kB", "clue cgroup-killer pid=63214 pt_main_thread used=164992 kB"},
	{"cgroup, one line", "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pod1,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1,task=python,pid=77,uid=0", "clue cgroup-killer pid=77 python"},
	{"Slurm, older", "slurmstepd: error: Detected 1 oom-kill event(s) in step 3495064.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.", "clue cgroup-killer"},
	{"Slurm", "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.", "clue cgroup-killer"},
	{"srun", "srun: error: Orion-01-01: task 4: Out Of Memory", "clue cgroup-killer"},
	{"Kubernetes", "      Reason:       OOMKilled", "clue cgroup-killer"},
	{"Docker false", `        "OOMKilled": false,`, ""},
	{"Docker", `        "OOMKilled": true,`, "clue cgroup-killer"},
	{"systemd", "train.service: A process of this unit has been killed by the OOM killer.", "clue oom-killer"},
	{"shell", "Killed", "clue sigkill"},
	{"shell script", "/var/spool/job/script: line 28:  8156 Killed                  python3 main.py", "clue sigkill pid=8156 python3 main.py"},
	{"torchrun", "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 3 (pid: 812917) of binary: /usr/bin/python", "clue sigkill rank=3 pid=812917"},
	{"torchrun summary", "  exitcode  : -9 (pid: 96)", "clue sigkill pid=96"},
	{"torchrun other code", "  exitcode  : -91 (pid: 96)", ""},
	{"torchrun signal", "  traceback : Signal 9 (SIGKILL) received by PID 2630", "clue sigkill pid=2630"},
	{"subprocess", "subprocess.CalledProcessError: Command '['python', 'x.py']' died with <Signals.SIGKILL: 9>.", "clue sigkill"},
	{"code 137", "web-1 exited with code 137", "clue sigkill"},
	{"code 1370", "web-1 exited with code 1370", ""},
	{"worker killed", "RuntimeError: DataLoader worker (pid 325) is killed by signal: Killed.", "clue worker-killed pid=325"},
	{"worker gone", "RuntimeError: DataLoader worker (pid(s) 3216) exited unexpectedly", "clue worker-killed pid=3216"},
	{"worker shm", "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", "clue shared-memory"},
	{"shm", "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", "clue shared-memory"},
	{"shm file", "RuntimeError: unable to allocate shared memory(shm) for file </torch_123_456>: Cannot allocate memory (12)", "clue shared-memory"},
	{"NCCL shm", "ubuntu:9621:9688 [3] misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-KWfVyt (size 5967872)", "clue shared-memory size=5967872 bytes"},
	{"Ray", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "clue ray-monitor"},
	{"raylet", "(raylet) node_manager.cc:3084: 4 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons", "clue ray-monitor"},
}

// TestWordings reads each message bare, behind a launcher's prefix, in colour, with
// Windows line ends, hard-wrapped at 80 columns and in a panel: the same every time.
func TestWordings(t *testing.T) {
	if len(wordings) < 60 {
		t.Fatalf("only %d wordings", len(wordings))
	}
	for _, w := range wordings {
		for _, d := range disguises {
			if d.skip != nil && d.skip(w.text) {
				continue
			}
			t.Run(w.name+"/"+d.name, func(t *testing.T) {
				text := d.wear(w.text)
				rep, err := Parse(strings.NewReader(text), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := brief(rep, d.rank); got != w.want {
					t.Errorf("\ntext %q\n got %s\nwant %s", text, got, w.want)
				}
			})
		}
	}
}

// disguises are what terminals, launchers and editors do to a message.
var disguises = []struct {
	name string
	rank int // that the prefix names
	wear func(string) string
	skip func(string) bool
}{
	{name: "bare", rank: -1, wear: func(s string) string { return s }},
	{name: "between lines", rank: -1, wear: func(s string) string { return "epoch 1\n\n" + s + "\n\nepoch 2\n" }},
	{name: "rank", rank: 7, wear: func(s string) string { return "[rank7]: " + s + "\n[rank6]: other\n" }},
	{name: "time and rank", rank: 7, wear: func(s string) string { return "2026-02-24T20:21:58.221Z [default7]:" + s + "\n" }},
	{name: "srun", rank: 7, wear: func(s string) string { return " 7: " + s + "\n 6: other\n" }},
	{name: "colour", rank: -1, wear: func(s string) string { return "\x1b[31m" + s + "\x1b[0m\r\n" }},
	{name: "log in JSON", rank: -1, wear: func(s string) string { return fmt.Sprintf("{\"log\":%q,\"stream\":\"stderr\"}\n", s+"\n") }},
	{name: "80 columns", rank: -1, wear: func(s string) string { return hardWrap(s, 80, "", "") }, skip: splitsLabel},
	{name: "panel", rank: -1, wear: func(s string) string { return hardWrap(s, 76, "│ ", " │") }, skip: splitsLabel},
}

// splitsLabel leaves out what is recognised by whole lines, and messages of which
// no word is left whole.
func splitsLabel(s string) bool {
	return len(s) <= 76 || strings.Contains(s, "Killed  ") || strings.HasPrefix(s, "slurmstepd") || strings.HasPrefix(s, "      ")
}

func hardWrap(s string, width int, left, right string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(left + s[:width] + right + "\n")
		s = s[width:]
	}
	b.WriteString(left + s + strings.Repeat(" ", max(0, width-len(s))) + right + "\n")
	return b.String()
}

// brief is what was found, in the words of the table above.
func brief(rep *Report, rank int) string {
	var parts []string
	for i := range rep.OOMs {
		parts = append(parts, briefOOM(&rep.OOMs[i]))
		if rep.OOMs[i].Source.Rank != rank {
			parts = append(parts, fmt.Sprintf("of rank %d", rep.OOMs[i].Source.Rank))
		}
	}
	for i := range rep.Clues {
		parts = append(parts, briefClue(&rep.Clues[i], rank))
	}
	return strings.Join(parts, "; ")
}

func briefOOM(o *OOM) string {
	s := "oom " + string(o.Form)
	if o.Platform != "" {
		s += " " + o.Platform
	}
	if o.GPU >= 0 {
		s += fmt.Sprintf(" gpu=%d", o.GPU)
	}
	add := func(name string, z Size) {
		if z.Known() {
			s += " " + name + "=" + z.Text
		}
	}
	add("tried", o.Tried)
	add("cap", o.Capacity)
	add("free", o.Free)
	add("own", o.ThisProcess)
	for _, p := range o.Others {
		used := "?"
		if p.Used.Known() {
			used = p.Used.Text
		}
		s += fmt.Sprintf(" other=%d:%s", p.PID, used)
	}
	add("alloc", o.Allocated)
	add("private", o.PrivatePool)
	add("unalloc", o.Unallocated)
	add("reserved", o.Reserved)
	add("allowed", o.Allowed)
	add("otheralloc", o.OtherAllocs)
	for _, f := range [][2]string{{"pool", o.Pool}, {"class", o.Class}, {"hint", o.Hint}, {"torch", o.Versions}} {
		if f[1] != "" {
			s += " " + f[0] + "=" + f[1]
		}
	}
	return s
}

func briefClue(c *Clue, rank int) string {
	s := "clue " + string(c.Kind)
	if c.GPU >= 0 {
		s += fmt.Sprintf(" gpu=%d", c.GPU)
	}
	if c.Source.Rank >= 0 && c.Source.Rank != rank {
		s += fmt.Sprintf(" rank=%d", c.Source.Rank)
	}
	if c.Source.PID > 0 {
		s += fmt.Sprintf(" pid=%d", c.Source.PID)
	}
	if c.Process != "" {
		s += " " + c.Process
	}
	for _, f := range []struct {
		name string
		size Size
	}{{"size", c.Size}, {"used", c.Used}, {"limit", c.Limit}} {
		if f.size.Known() && f.size.Text != "difference" {
			s += " " + f.name + "=" + f.size.Text
		}
	}
	return s
}
