package fit

import (
	"fmt"
	"strings"
	"testing"
)

// stepsTrace is the trace of a program that makes a tensor of one of the sizes, in MiB, in
// each step, and drops it. Optimizer 1 steps in every other step only, if there is one.
func stepsTrace(t *testing.T, second bool, sizes ...int) *Trace {
	var b strings.Builder
	b.WriteString(`{"e":"meta","version":1,"torch":"2.11.0","argv":["train.py"],"device":{"total_bytes":1}}` + "\n")
	for i, size := range sizes {
		fmt.Fprintf(&b, `{"e":"alloc","id":%d,"n":%d,"p":"f"}`+"\n"+`{"e":"free","id":%[1]d}`+"\n", i, size<<20)
		fmt.Fprintf(&b, `{"e":"step","what":"optimizer","id":0,"n":%d}`+"\n", i+1)
		if second && i%2 == 1 {
			fmt.Fprintf(&b, `{"e":"step","what":"optimizer","id":1,"n":%d}`+"\n", i/2+1)
		}
	}
	b.WriteString(`{"e":"end","reason":"steps"}` + "\n")
	tr, err := Read(strings.NewReader(b.String()), "steps")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestRise(t *testing.T) {
	profile, err := FindProfile("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		second       bool
		sizes        []int
		before, last int64 // MiB asked for
		rise         int64 // MiB
	}{
		{"sizes stay", false, []int{30, 30, 30}, 30, 30, 0},
		{"the last is the largest", false, []int{30, 40, 60}, 40, 60, 60},
		{"the last is the smallest", false, []int{30, 60, 40}, 60, 40, 0},
		{"two steps tell nothing", false, []int{30, 60}, 0, 0, 0},
		{"rounds are of the optimizer that steps least", true, []int{30, 40, 30, 40, 30, 40}, 70, 70, 0},
		{"it has stepped too seldom", true, []int{30, 40, 60, 70}, 0, 0, 0},
	} {
		j, err := Compile(stepsTrace(t, tt.second, tt.sizes...), profile, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Predict(j, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before, last := j.RoundBytes()
		if before != tt.before<<20 || last != tt.last<<20 || p.Rise() != tt.rise<<20 {
			t.Errorf("%s: asked for %d, then %d; rise %d", tt.name, before>>20, last>>20, p.Rise()>>20)
		}
		if least := p.Best.PeakReserved + p.Rise() + unknownLeastBytes; p.Safe != least {
			t.Errorf("%s: safe %d, want %d", tt.name, p.Safe, least)
		}
	}
}

// TestRiseOfCalls: a program without an optimizer goes by calls of its model.
func TestRiseOfCalls(t *testing.T) {
	text := `{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"],"device":{"total_bytes":1}}` + "\n"
	for i := range 3 {
		text += fmt.Sprintf(`{"e":"alloc","id":%d,"n":%d,"p":"f"}`+"\n"+`{"e":"step","what":"call","n":%d}`+"\n", i, (i+1)<<20, i+1)
	}
	tr, err := Read(strings.NewReader(text+`{"e":"end","reason":"calls"}`+"\n"), "calls")
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Trace: tr}
	if before, last := j.RoundBytes(); before != 2<<20 || last != 3<<20 {
		t.Errorf("asked for %d, then %d", before, last)
	}
}
