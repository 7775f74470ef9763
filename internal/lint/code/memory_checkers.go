package code

// confWords are in every source that sets the allocator's variables, also for programs it starts.
var confWords = []string{"ALLOC_CONF", "allocator_settings", "AllocatorSettings"}

// memoryCheckers lists the rules of all families but leak.
func memoryCheckers() []checker {
	return []checker{
		{ids: allocatorRules, check: checkAllocatorSettings, words: confWords},
		{ids: []string{"conf/ignored-variable"}, check: checkLateSettings, words: confWords},
		{ids: []string{"conf/ignored-variable"}, check: checkLateDevices, words: []string{"CUDA_VISIBLE_DEVICES"}},
		{ids: []string{"conf/no-caching"}, check: checkNoCaching, words: []string{"PYTORCH_NO_CUDA_MEMORY_CACHING"}, long: true},
		{ids: []string{"conf/expandable-ipc"}, check: checkExpandableIPC, words: []string{"expandable_segments"}},
		{ids: []string{"conf/fraction-as-isolation", "conf/bad-value"}, check: checkFraction, words: []string{"memory_fraction"}, long: true},
		{ids: []string{"dist/data-parallel"}, check: checkDataParallel, words: []string{"DataParallel"}, long: true},
		{ids: []string{"dist/ddp-bucket-copies"}, check: checkDDPBuckets, words: []string{"DistributedDataParallel"}, long: true},
		{ids: []string{"dist/load-on-gpu0"}, check: checkLoad, words: torchWords, long: true},
		{ids: []string{"dist/no-set-device"}, check: checkSetDevice, words: torchWords, long: true},
		{ids: []string{"dist/thread-context"}, check: checkThreadContext, words: []string{"Thread", "threading"}, long: true},
		{ids: []string{"dist/worker-context"}, check: checkWorkerContext, words: torchWords, long: true},
		{ids: []string{"frag/empty-cache-loop"}, check: checkEmptyCache, words: []string{"empty_cache"}, long: true},
		{ids: []string{"frag/graph-pools"}, check: checkGraphPools, words: []string{"cuda"}, long: true},
		{ids: []string{"frag/record-stream"}, check: checkRecordStream, words: []string{"record_stream"}},
		{ids: []string{"frag/stream-per-call"}, check: checkStreamPerCall, words: []string{"Stream("}, long: true},
		{ids: []string{"frag/variable-shapes"}, check: checkVariableShapes, words: torchWords},
		{ids: []string{"host/pinned-rounding"}, check: checkPinnedRounding, words: []string{"pin_memory"}, long: true},
		{ids: []string{"peak/autocast-cache"}, check: checkAutocastCache, words: []string{"autocast"}, long: true},
		{ids: []string{"peak/checkpoint-load"}, check: checkCheckpointLoad, words: torchWords, long: true},
		{ids: []string{"peak/checkpoint-misuse"}, check: checkCheckpointMisuse, words: []string{"checkpoint"}, long: true},
		{ids: []string{"peak/cudnn-benchmark"}, check: checkCudnnBenchmark, words: []string{"benchmark"}, long: true},
		{ids: []string{"peak/flat-gradients"}, check: checkFlatGradients, words: []string{"all_reduce"}, long: true},
		{ids: []string{"peak/full-logits"}, check: checkFullLogits, words: []string{"logits"}, long: true},
		{ids: []string{"peak/full-logits"}, check: checkLogSoftmax, words: []string{"log_softmax"}},
		{ids: []string{"peak/model-copy"}, check: checkModelCopy, words: []string{"deepcopy"}, long: true},
		{ids: []string{"rec/unbounded", "rec/no-history", "rec/late-start"}, check: checkRecording, words: []string{"memory_history", "_dump_snapshot"}, long: true},
		{ids: []string{"third/context"}, check: checkImportContext, words: torchWords, long: true},
		{ids: []string{"third/cufft-plans"}, check: checkCufftPlans, words: []string{"fft"}, long: true},
		{ids: []string{"third/jax-preallocation"}, check: checkPreallocation, words: []string{"jax", "tensorflow"}, long: true},
		{ids: []string{"third/nccl-buffers"}, check: checkNCCLGroups, words: []string{"new_group", "new_subgroups"}, long: true},
		{ids: []string{"third/thread-workspaces"}, check: checkThreadWorkspaces, words: []string{"Thread"}, long: true},
	}
}
