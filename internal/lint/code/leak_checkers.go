package code

// leakCheckers lists the rules about memory that is kept too long.
func leakCheckers() []checker {
	return []checker{
		{ids: []string{"leak/loss-with-graph"}, check: checkLossWithGraph, words: torchWords, long: true},
		{ids: []string{"leak/list-with-graph"}, check: checkListWithGraph, words: torchWords, long: true},
		{ids: []string{"leak/recurrent-state"}, check: checkRecurrentState, words: torchWords, long: true},
		{ids: []string{"leak/concat-in-loop"}, check: checkConcatInLoop, words: torchWords, long: true},
		{ids: []string{"leak/create-graph"}, check: checkCreateGraph, words: []string{"create_graph"}, long: true},
		{ids: []string{"leak/retain-graph"}, check: checkRetainGraph, words: []string{"retain_graph"}, long: true},
		{ids: []string{"leak/no-zero-grad"}, check: checkNoZeroGrad, words: torchWords, long: true},
		{ids: []string{"leak/exception-frame"}, check: checkExceptionFrame, words: torchWords},
		{ids: []string{"leak/module-self-reference"}, check: checkModuleSelfReference, words: torchWords},
		{ids: []string{"leak/hook-cache"}, check: checkHookCache, words: torchWords},
		{ids: []string{"leak/cached-method"}, check: checkCachedMethod, words: torchWords},
		{ids: []string{"leak/tensor-on-ctx"}, check: checkTensorOnCtx, words: torchWords},
		{ids: []string{"leak/step-outputs"}, check: checkStepOutputs, words: []string{"lightning"}, long: true},
		{ids: []string{"leak/eval-gather"}, check: checkEvalGather, words: []string{"compute_metrics"}},
		{ids: []string{"leak/logger-tensors"}, check: checkLoggerTensors, words: torchWords, long: true},
		{ids: []string{"leak/lr-scheduler"}, check: checkLRScheduler, words: torchWords},
		{ids: []string{"leak/reference-cycle"}, check: checkReferenceCycle, words: torchWords},
		{ids: []string{"leak/profiler"}, check: checkProfiler, words: torchWords, long: true},
		{ids: []string{"leak/ipc-consumer"}, check: checkIPCConsumer, words: torchWords, long: true},
		{ids: []string{"leak/compile-cache"}, check: checkCompileCache, words: []string{"torch.compile", "import compile"}, long: true},
		{ids: []string{"leak/notebook-out"}, check: checkNotebookOut, words: torchWords},
		{ids: []string{"leak/unbounded-cache"}, check: checkUnboundedCache, words: torchWords, long: true},
		{ids: []string{"leak/eval-without-no-grad"}, check: checkEvalHandler, words: []string{".eval()"}, long: true},
		{ids: []string{"leak/eval-without-no-grad"}, check: checkEvalSample, words: []string{"sampl", "_loop"}, long: true},
		{ids: []string{"leak/eval-without-no-grad"}, check: checkEvalFlag, words: []string{"backward("}, long: true},
		{ids: []string{"leak/eval-without-no-grad"}, check: checkEvalWithoutNoGrad, words: []string{"torch", ".eval()"}, long: true},
	}
}
