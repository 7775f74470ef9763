package message

// Kind is what a Clue is about.
type Kind string

// Kinds. The first group is memory of the GPU that something else than PyTorch's
// caching allocator asked for; the second is memory of the host.
const (
	CUDAError     Kind = "cuda-error"       // "CUDA error: out of memory", by the runtime: context, module, event, pinned memory …
	DriverError   Kind = "driver-error"     // the same by the driver's API
	HIPError      Kind = "hip-error"        // the same on AMD
	NVMLAssert    Kind = "nvml-assert"      // PyTorch failed while it wrote its out-of-memory message
	CuBLASAlloc   Kind = "cublas-alloc"     // CUBLAS_STATUS_ALLOC_FAILED
	CuBLASInit    Kind = "cublas-init"      // CUBLAS_STATUS_NOT_INITIALIZED on creation of a handle
	CuDNNAlloc    Kind = "cudnn-alloc"      // CUDNN_STATUS_ALLOC_FAILED
	CuDNNOther    Kind = "cudnn-other"      // NOT_INITIALIZED, NOT_SUPPORTED, INTERNAL_ERROR: memory is one of the causes
	CuFFTAlloc    Kind = "cufft-alloc"      // CUFFT_ALLOC_FAILED
	CuSolverAlloc Kind = "cusolver-alloc"   // CUSOLVER_STATUS_ALLOC_FAILED, or its handle
	CuSparseAlloc Kind = "cusparse-alloc"   // CUSPARSE_STATUS_ALLOC_FAILED, INSUFFICIENT_RESOURCES
	NCCLAlloc     Kind = "nccl-alloc"       // NCCL's own buffers
	XLAExhausted  Kind = "xla-exhausted"    // JAX, XLA, TensorFlow
	OtherGPU      Kind = "other-gpu"        // CuPy, RMM, llama.cpp, bitsandbytes, Paddle, ONNX Runtime …
	VLLMBudget    Kind = "vllm-budget"      // the engine's share leaves nothing for the KV cache
	VLLMFree      Kind = "vllm-free"        // less free on the GPU than the engine's share
	KernelShared  Kind = "kernel-resources" // Triton: shared memory or registers of a kernel, not GPU memory

	HostAlloc  Kind = "host-alloc"    // malloc on the host failed
	HostPinned Kind = "host-pinned"   // pinned host memory
	OOMKiller  Kind = "oom-killer"    // the kernel, for the whole machine
	CgroupKill Kind = "cgroup-killer" // the kernel, for a container's or job's limit
	Sigkill    Kind = "sigkill"       // killed by signal 9, by whom is not said
	WorkerKill Kind = "worker-killed" // a DataLoader worker died by a signal
	SharedMem  Kind = "shared-memory" // /dev/shm is full
	RayMonitor Kind = "ray-monitor"   // Ray's own monitor of the host's memory
)

// Host reports whether a kind is about memory of the host.
func (k Kind) Host() bool {
	switch k {
	case HostAlloc, HostPinned, OOMKiller, CgroupKill, Sigkill, WorkerKill, SharedMem, RayMonitor:
		return true
	}
	return false
}

// pattern is a wording: text without white space that has all of the words, in this
// order, and none of not.
type pattern struct {
	kind Kind
	all  []string
	not  []string
	ok   func(text []byte, at int) bool // looks at what stands before the first word; may be nil
	read func(*Clue, *cursor)           // reads numbers after the first word; may be nil
}

// patterns are tried in this order. The wordings are those of the releases that
// printed them; sources are in testdata/README.md.
var patterns = []pattern{
	{kind: NVMLAssert, all: []string{"NVML_SUCCESS==", "INTERNALASSERTFAILED", "CachingAllocator"}},
	{kind: KernelShared, all: []string{"outofresource:"}, read: readResources},
	{kind: KernelShared, all: []string{"OutOfResources:"}},

	{kind: NCCLAlloc, all: []string{"FailedtoCUDAcalloc"}, read: readBytes},
	{kind: NCCLAlloc, all: []string{"FailedtoCUDAmalloc"}, read: readBytes},
	{kind: NCCLAlloc, all: []string{"Cudafailure", "outofmemory"}},
	{kind: SharedMem, all: []string{"creatingsharedmemorysegment"}, read: readSizeInBrackets},
	{kind: CuBLASAlloc, all: []string{"CUBLAS_STATUS_ALLOC_FAILED"}},
	{kind: CuBLASInit, all: []string{"CUBLAS_STATUS_NOT_INITIALIZED"}},
	{kind: CuDNNAlloc, all: []string{"CUDNN_STATUS_ALLOC_FAILED"}},
	{kind: CuDNNAlloc, all: []string{"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_NOT_INITIALIZED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_NOT_SUPPORTED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_INTERNAL_ERROR"}},
	{kind: CuFFTAlloc, all: []string{"CUFFT_ALLOC_FAILED"}},
	{kind: CuSolverAlloc, all: []string{"CUSOLVER_STATUS_ALLOC_FAILED"}},
	{kind: CuSolverAlloc, all: []string{"cusolvererror:CUSOLVER_STATUS_INTERNAL_ERROR", "cusolverDnCreate"}},
	{kind: CuSparseAlloc, all: []string{"CUSPARSE_STATUS_ALLOC_FAILED"}},
	{kind: CuSparseAlloc, all: []string{"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"}},

	{kind: HostPinned, all: []string{"pinnedhostmemoryofsize"}, read: readBytes},
	{kind: HostPinned, all: []string{"bytesonhost:CUDA_ERROR_OUT_OF_MEMORY"}},
	{kind: HostPinned, all: []string{"failedtoallocate", "ofpinnedmemory"}, read: readSize},
	{kind: HostPinned, all: []string{"cudaHostAlloc", "outofmemory"}},
	{kind: HostPinned, all: []string{"cudaHostRegister", "outofmemory"}},
	{kind: HostPinned, all: []string{"cuMemAllocHost", "OUT_OF_MEMORY"}},

	{kind: VLLMBudget, all: []string{"Noavailablememoryforthecacheblocks"}},
	{kind: VLLMFree, all: []string{"Freememoryondevice", "islessthandesiredGPUmemoryutilization("}, read: readVLLMFree},
	{kind: VLLMBudget, all: []string{"KVcacheisneeded,whichislargerthantheavailableKVcachememory("}, read: readVLLMNeed},
	{kind: VLLMBudget, all: []string{"thanthemaximumnumberoftokensthatcanbestoredinKVcache"}},
	{kind: VLLMBudget, all: []string{"Notenoughmemory.Pleasetrytoincrease--mem-fraction-static"}},

	{kind: HostAlloc, all: []string{"DefaultCPUAllocator:", "allocate"}, read: readBytes},
	{kind: HostAlloc, all: []string{"Unabletoallocate", "foranarraywithshape"}, read: readSize},
	{kind: HostAlloc, all: []string{"[Errno12]Cannotallocatememory"}},
	{kind: OtherGPU, all: []string{"std::bad_alloc:out_of_memory:"}},
	{kind: HostAlloc, all: []string{"std::bad_alloc"}},
	{kind: RayMonitor, all: []string{"killedduetothenoderunninglowonmemory"}},
	{kind: RayMonitor, all: []string{"exceedsthememoryusagethreshold"}},
	{kind: RayMonitor, all: []string{"Workers(tasks/actors)killedduetomemorypressure(OOM)"}, ok: notZero},

	{kind: CgroupKill, all: []string{"Memorycgroupoutofmemory:Kill"}, read: readKilled},
	{kind: OOMKiller, all: []string{"Outofmemory:Kill"}, read: readKilled},
	{kind: CgroupKill, all: []string{"oom-kill:constraint=CONSTRAINT_MEMCG"}, read: readConstraint},
	{kind: OOMKiller, all: []string{"oom-kill:constraint="}, read: readConstraint},
	{kind: CgroupKill, all: []string{"oom_killevent"}},
	{kind: CgroupKill, all: []string{"oom-killevent"}},
	{kind: CgroupKill, all: []string{"srun:error:", "OutOfMemory"}},
	{kind: CgroupKill, all: []string{"Exceededjobmemorylimit"}},
	{kind: CgroupKill, all: []string{"OOMKilled"}, not: []string{`"OOMKilled":false`, "OOMKilled:false", "OOMKilled=false"}},
	{kind: OOMKiller, all: []string{"killedbytheOOMkiller"}},
	{kind: OOMKiller, all: []string{"systemd-oomd", "Killed"}},

	{kind: SharedMem, all: []string{"insufficientsharedmemory(shm)"}},
	{kind: SharedMem, all: []string{"killedbysignal:Buserror"}},
	{kind: SharedMem, all: []string{"unabletoallocatesharedmemory(shm)"}},
	{kind: WorkerKill, all: []string{"DataLoaderworker(pid", "killedbysignal:Killed"}, read: readWorker},
	{kind: WorkerKill, all: []string{"DataLoaderworker(pid", "exitedunexpectedly"}, read: readWorker},

	{kind: XLAExhausted, all: []string{"RESOURCE_EXHAUSTED:", "emory"}, read: readBytes},
	{kind: XLAExhausted, all: []string{"Resourceexhausted:", "emory"}, read: readBytes},
	{kind: XLAExhausted, all: []string{"OOMwhenallocatingtensor"}},
	{kind: OtherGPU, all: []string{"ResourceExhaustedError:"}},
	{kind: OtherGPU, all: []string{"cudaMallocfailed:outofmemory"}},
	{kind: OtherGPU, all: []string{"cupy.cuda.memory.OutOfMemoryError"}, read: readBytes},
	{kind: OtherGPU, all: []string{"Erroroutofmemoryatline"}},
	{kind: OtherGPU, all: []string{"cudafailedwitherror2outofmemory"}},
	{kind: OtherGPU, all: []string{"Failedtoallocatememoryforrequestedbufferofsize"}, read: readPlainBytes},
	{kind: OtherGPU, all: []string{"CUDAerror2at", "outofmemory"}},
	{kind: DriverError, all: []string{"CUDAdrivererror:outofmemory"}},
	{kind: DriverError, all: []string{"CUDA_ERROR_OUT_OF_MEMORY"}},
	{kind: CUDAError, all: []string{"CUDAerror:outofmemory"}},
	{kind: CUDAError, all: []string{"cudaErrorMemoryAllocation"}, not: []string{"Searchfor`cudaErrorMemoryAllocation"}},
	{kind: HIPError, all: []string{"HIPerror:outofmemory"}},
	{kind: HIPError, all: []string{"hipErrorOutOfMemory"}},

	{kind: Sigkill, all: []string{"diedwith<Signals.SIGKILL:9>"}},
	{kind: Sigkill, all: []string{"Signal9(SIGKILL)"}, read: readSigkillPID},
	{kind: Sigkill, all: []string{"exitcode:-9"}, read: readPID},
	{kind: Sigkill, all: []string{"signalSIGKILL"}},
	{kind: Sigkill, all: []string{"exitcode:137"}},
	{kind: Sigkill, all: []string{"exitcode137"}},
	{kind: Sigkill, all: []string{`ExitCode":137`}},
	{kind: Sigkill, all: []string{"exitstatus137"}},
	{kind: Sigkill, all: []string{"withcode137"}},
	{kind: Sigkill, all: []string{"ExitCode:137"}},
	{kind: HostAlloc, all: []string{"MemoryError"}, not: []string{"OutOfMemoryError", "GPUMemoryError"}},
}
