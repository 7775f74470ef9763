package fit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// madeTrace is the trace of a program with a weight, activations of a batch, a product of
// two of them, and a scratch tensor; more is added to its lines.
func madeTrace(t testing.TB, batch int, more string) *Trace {
	text := strings.ReplaceAll(fmt.Sprintf(`{"e":"meta","version":1,"torch":"2.11.0","argv":["train.py"],"device":{"total_bytes":1}}
{"e":"frame","id":0,"file":"train.py","line":3,"name":"f"}
{"e":"stack","id":0,"f":[0]}
{"e":"sig","id":0,"op":"aten.mm.default","in":[["float32",[%[1]d,4096]],["float32",[4096,4096],[1,4096]]],"args":{"self":0,"mat2":1},"out":[["float32",[%[1]d,4096]]]}
{"e":"sig","id":1,"op":"aten.expand.default","in":[["float32",[%[1]d,4096]]],"args":{"self":0,"size":[%[1]d,4096],"implicit":false},"out":[["float32",[%[1]d,4096]]]}
{"e":"alloc","id":0,"n":67108864,"k":0,"p":"f"}
{"e":"alloc","id":1,"n":%[2]d,"k":0,"p":"f"}
{"e":"op","sig":0,"k":0,"p":"f","new":[[2,%[2]d]]}
{"e":"op","sig":1,"k":0,"p":"f","new":[[3,%[2]d]]}
MORE{"e":"free","id":2}
{"e":"step","what":"optimizer","id":0,"n":1}
{"e":"end","reason":"steps","steps":1}
`, batch, batch*4096*4), "MORE", more)
	tr, err := Read(strings.NewReader(text), fmt.Sprintf("batch %d", batch))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestBetween: what lies between two traces of a program is what the program itself leaves.
func TestBetween(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.IntRange(1, 300).Draw(rt, "low")
		high := rapid.IntRange(low+1, 700).Draw(rt, "high")
		value := rapid.IntRange(low, high).Draw(rt, "value")
		got, err := Between(madeTrace(t, low, ""), madeTrace(t, high, ""), low, high, value)
		if err != nil {
			rt.Fatal(err)
		}
		want := madeTrace(t, value, "")
		for i, n := range want.News {
			if got.News[i] != n {
				rt.Fatalf("storage %d: %+v, want %+v", i, got.News[i], n)
			}
		}
		for i := range want.Events {
			if want.Events[i].Kind != Op {
				continue
			}
			x, y := got.Sigs[got.Events[i].Sig], want.Sigs[want.Events[i].Sig]
			if fmt.Sprint(x) != fmt.Sprint(y) {
				rt.Fatalf("event %d: %v, want %v", i, x, y)
			}
		}
		if a, b := predicted(rt, got), predicted(rt, want); a != b {
			rt.Fatalf("reserves %d, want %d", a, b)
		}
	})
}

func predicted(t rapid.TB, tr *Trace) int64 {
	p, err := FindProfile("h200")
	if err != nil {
		t.Fatal(err)
	}
	job, err := Compile(tr, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Predict(job, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Best.PeakReserved
}

// TestBetweenRefuses: traces that differ in more than sizes do not tell what lies between.
func TestBetweenRefuses(t *testing.T) {
	plain := madeTrace(t, 8, "")
	for _, tt := range []struct{ name, more, want string }{
		{"one event more", `{"e":"sync"}` + "\n", "events"},
		{"another event", `{"e":"alloc","id":4,"n":512,"k":0,"p":"f"}` + "\n", "events"},
		{"another operator", "", "is aten.bmm.default in the other trace"},
		{"another type", "", "a tensor of another kind"},
		{"another storage", "", "another storage"},
	} {
		other := madeTrace(t, 16, tt.more)
		switch tt.name {
		case "another operator":
			other.Sigs[0].Op = "aten.bmm.default"
		case "another type":
			other.Sigs[0].In[0].DType = "float16"
		case "another storage":
			other.News[2].ID = 9
		}
		_, err := Between(plain, other, 8, 16, 12)
		var differ *DifferenceError
		if !errors.As(err, &differ) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := Between(plain, plain, 8, 8, 8); err == nil {
		t.Error("two traces of one value")
	}
}
