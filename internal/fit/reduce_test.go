package fit

import (
	"fmt"
	"testing"
)

// h200 is the card that the measurements were made on.
var h200 = &Profile{Name: "h200", Major: 9, Minor: 0, Multiprocessors: 132, MaxThreads: 2048}

// scratchOf returns the requests of an operator's measured events that were freed again,
// in order, and how many others there were.
func scratchOf(events []int64) (scratch []int64, kept int) {
	freed := map[int64]bool{}
	for _, e := range events {
		if e < 0 {
			freed[-e-1] = true
		}
	}
	n := int64(0)
	for _, e := range events {
		if e > 0 {
			if freed[n] {
				scratch = append(scratch, e)
			} else {
				kept++
			}
			n++
		}
	}
	return scratch, kept
}

// TestReductionsTakeWhatWasMeasured holds the computed buffers against all measured
// reductions, to the byte.
func TestReductionsTakeWhatWasMeasured(t *testing.T) {
	types := map[string]string{"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
	counts, wrong := map[string]int{}, map[string]int{}
	measured(t, func(row measuredRow) {
		kinds := map[string]string{"sum": "sum", "mean": "mean", "amax": "amax", "norm": "linalg_vector_norm", "var": "var", "argmax": "argmax"}
		op, ok := kinds[row.kind]
		if !ok {
			return
		}
		in := Tensor{DType: types[row.params[0].(string)]}
		for _, n := range row.params[1].([]any) {
			in.Shape = append(in.Shape, int64(n.(float64)))
		}
		out := Tensor{DType: in.DType}
		if op == "argmax" {
			out.DType = "int64"
		}
		sig := &Sig{Op: "aten." + op + ".default", In: []Tensor{in}, Out: []Tensor{out}, Args: map[string]any{"self": 0.0, "dim": row.params[2]}}
		var p plan
		p.reset(1)
		recipes[op](&call{&compiler{profile: h200, job: &Job{}}, &Event{}, sig, &p})
		var got []int64
		for _, s := range p.steps {
			if s.what == stepScratch {
				got = append(got, s.bytes)
			}
		}
		want, _ := scratchOf(row.events)
		counts[row.kind]++
		if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong[row.kind]++
			if wrong[row.kind] <= 8 {
				t.Errorf("%s of %v over %v: %v, measured %v", row.kind, in, row.params[2], got, want)
			}
		}
	})
	t.Log(counts, wrong)
}
