package fit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// oneCall is the trace of a program that makes two tensors and gives them to an operator.
func oneCall(op, in, weight, args, out string, outBytes int64, before string) string {
	return fmt.Sprintf(`{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"]}
{"e":"sig","id":0,"op":"aten.ones.default","in":[],"args":{},"out":[["float32",[1]]]}
{"e":"op","sig":0,"new":[[0,33554432,0]]}
%[1]s{"e":"sig","id":1,"op":"aten.%[2]s.default","in":[["float32",%[3]s],["float32",%[4]s]],"args":{%[5]s},"out":[["float32",%[6]s]]}
{"e":"op","sig":1,"new":[[1,%[7]d,0]]}
{"e":"end","reason":"steps","steps":3}
`, before, op, in, weight, args, out, outBytes)
}

// TestRough: what cuDNN chooses by no rule that is known is named, and makes the peak a range.
func TestRough(t *testing.T) {
	conv := func(dims int) string {
		each := func(n string) string { return "[" + strings.TrimSuffix(strings.Repeat(n+",", dims), ",") + "]" }
		return `"input":0,"weight":1,"bias":null,"stride":` + each("1") + `,"padding":` + each("1") + `,"dilation":` + each("1") + `,"transposed":false,"groups":1`
	}
	const lstm = `"input":0,"weight":1,"mode":2,"hidden_size":300,"num_layers":2,"bidirectional":false` // of a width between those that were measured
	for _, tt := range []struct {
		name, trace string
		want        []string
		isRange     bool
	}{
		{"recurrent", oneCall("_cudnn_rnn", "[50,32,256]", "[2048,256]", lstm, "[50,32,512]", 50*32*512*4, ""), []string{"recurrent layers"}, true},
		{"three dimensions", oneCall("convolution", "[2,37,9,9,9]", "[53,37,5,5,5]", conv(3), "[2,53,7,7,7]", 145432, ""), []string{"convolutions in three dimensions"}, true},
		{
			"benchmark", oneCall("convolution", "[4,64,56,56]", "[64,64,3,3]", conv(2), "[4,64,56,56]", 3211264, `{"e":"set","name":"cudnn.benchmark","value":true}`+"\n"),
			[]string{"the trials of cudnn.benchmark"},
			true,
		},
		{"none", oneCall("relu", "[4,64,56,56]", "[1]", `"self":0`, "[4,64,56,56]", 3211264, ""), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trace, err := Read(strings.NewReader(tt.trace), tt.name)
			if err != nil {
				t.Fatal(err)
			}
			h200, err := FindProfile("h200")
			if err != nil {
				t.Fatal(err)
			}
			job, err := Compile(trace, h200, 0)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Predict(job, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(job.Rough(), func(s string) bool { return s == "convolutions that were not measured" })
			if !slices.Equal(got, tt.want) {
				t.Errorf("rough: %q, want %q", got, tt.want)
			}
			if p.IsRough() != tt.isRange || p.Safe < p.HighBytes || p.HighBytes < p.Best.PeakReserved {
				t.Errorf("a range: %v, want %v; best %d, at the most %d, safe %d", p.IsRough(), tt.isRange, p.Best.PeakReserved, p.HighBytes, p.Safe)
			}
			for _, m := range p.Why {
				if m.Text == "" {
					t.Errorf("a margin of %d bytes without a reason", m.Bytes)
				}
			}
		})
	}
}
