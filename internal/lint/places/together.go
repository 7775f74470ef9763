package places

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// alone judges the variables that one place sets together.
func (f *file) alone(all []setting) {
	f.twoNames(all)
	f.jax(all)
}

// twoNames finds two names for the allocator's settings with different values: which
// counts depends on the release.
func (f *file) twoNames(all []setting) {
	var first *setting
	for i := range all {
		s := &all[i]
		switch {
		case !IsAllocator(s.name) || s.unknown:
		case first == nil:
			first = s
		case s.name != first.name && s.value != first.value:
			fault := (&Fault{
				Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: rules.High,
				Message: fmt.Sprintf("%s and %s are both set, to different values, and PyTorch reads one of them", first.name, s.name),
			}).
				because("from PyTorch 2.11 on the first of %s that is set counts; up to 2.8 only PYTORCH_CUDA_ALLOC_CONF is known", strings.Join(allocatorNames, ", ")).
				do("set one of them")
			m := f.report(s.at, fault)
			m.Related = []rules.Related{{Start: first.at.start, End: first.at.end, What: first.name + " is set to " + first.value}}
			return
		}
	}
}

// jax finds JAX told to take the GPU first, in a place that is for PyTorch too.
func (f *file) jax(all []setting) {
	if !slices.ContainsFunc(all, func(s setting) bool { return strings.HasPrefix(s.name, "PYTORCH_") }) {
		return
	}
	for i := range all {
		s := &all[i]
		if s.name == "XLA_PYTHON_CLIENT_PREALLOCATE" && strings.EqualFold(s.value, "true") {
			f.report(s.at, (&Fault{
				Rule: "third/jax-preallocation", Severity: rules.Warning, Confidence: rules.Medium,
				Message: "XLA_PYTHON_CLIENT_PREALLOCATE=true lets JAX take 75 % of the GPU before PyTorch has any",
			}).
				because("variables of PyTorch are set beside it").do("write XLA_PYTHON_CLIENT_PREALLOCATE=false, or give JAX a share with XLA_PYTHON_CLIENT_MEM_FRACTION"))
		}
	}
}
