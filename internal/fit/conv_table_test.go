package fit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xi2/xz"
)

var update = flag.Bool("update", false, "write files that tests compare with")

// measuredRow is a line of testdata/gpu/operators-h200.jsonl.xz: an operator, the form of
// the call, and what it asked the allocator for. conv_workspace.py describes it.
type measuredRow struct {
	kind   string
	params []any
	events []int64
}

// measuredFiles are the measurements, one file for each time that the script was run.
const measuredFiles = "../../testdata/gpu/operators-h200*.jsonl.xz"

// measured calls f with each line of the measurements.
func measured(t testing.TB, f func(measuredRow)) {
	t.Helper()
	files, err := filepath.Glob(measuredFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", measuredFiles, len(files), err)
	}
	for _, name := range files {
		measuredIn(t, name, f)
	}
}

func measuredIn(t testing.TB, name string, f func(measuredRow)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := xz.NewReader(bufio.NewReaderSize(file, 1<<20), 0)
	if err != nil {
		t.Fatal(err)
	}
	var searching []measuredRow
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var raw []json.RawMessage
		var row measuredRow // a new one each time: it is kept
		if json.Unmarshal(lines.Bytes(), &raw) != nil || len(raw) != 3 {
			continue // an error, or another form of line
		}
		if json.Unmarshal(raw[0], &row.kind) != nil || json.Unmarshal(raw[1], &row.params) != nil || json.Unmarshal(raw[2], &row.events) != nil {
			continue
		}
		switch row.kind {
		case "benchmark":
			searching = []measuredRow{}
		case "benchmark_off":
			// What was measured before the search began is written within it: only the layer of
			// its last line was run under cudnn.benchmark, which takes other kernels.
			for _, r := range searching {
				if !sameLayer(r, searching[len(searching)-1]) {
					f(r)
				}
			}
			searching = nil
		default:
			if searching != nil {
				searching = append(searching, row)
			} else {
				f(row)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// sameLayer tells whether two lines are about one convolution, in whatever direction.
func sameLayer(a, b measuredRow) bool {
	return a.kind == b.kind && len(a.params) == len(b.params) && len(a.params) > 1 && slices.Equal(a.params[1:], b.params[1:])
}

var modeNames = map[string]convMode{"tf32": convTF32, "f32": convF32, "f16": convF16, "bf16": convBF16}

// measuredConv reads a line about a convolution without other requests than its result
// and one workspace.
func measuredConv(row measuredRow) (v convShape, d int, workspace int64, ok bool) {
	if row.kind == "convnd" {
		v, d, ok = otherConv(row)
		if !ok {
			return v, d, 0, false
		}
		workspace, ok = oneWorkspace(row.events)
		return v, d, workspace, ok
	}
	if row.kind == "odd" {
		v, d, ok = oddConv(row)
		if !ok || v.ownKernel() {
			return v, d, 0, false
		}
		workspace, ok = oneWorkspace(row.events)
		return v, d, workspace, ok
	}
	if row.kind != "conv" || len(row.params) != 14 {
		return v, 0, 0, false
	}
	d = slices.Index([]string{"f", "d", "w"}, row.params[0].(string))
	v.mode, v.nhwc = modeNames[row.params[1].(string)], row.params[2] == "nhwc"
	n := make([]int64, 11)
	for i := range n {
		n[i] = int64(row.params[3+i].(float64))
	}
	v.n, v.c, v.h, v.w, v.k, v.r, v.s, v.stride, v.pad, v.dilation, v.groups = n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]
	v.output()
	if d < 0 {
		return v, d, 0, false
	}
	workspace, ok = oneWorkspace(row.events)
	return v, d, workspace, ok
}

// oneWorkspace reads the events of a call that asked for its result and at most one
// workspace.
func oneWorkspace(events []int64) (bytes int64, ok bool) {
	switch {
	case len(events) == 1 && events[0] > 0:
		return 0, true
	case len(events) == 3 && events[0] > 0 && events[1] > 0 && events[2] == -2:
		return events[1], true
	}
	return 0, false
}

// otherConv reads a line about a convolution in one dimension, or a transposed one in one or
// two, which is a gradient of the input of one that is not. Those in three are left out.
func otherConv(row measuredRow) (v convShape, d int, ok bool) {
	n := make([]int64, 10)
	for i := 1; i < 10; i++ {
		n[i] = int64(row.params[1+i].(float64))
	}
	dims, transposed, size := n[1], n[2] == 1, n[5]
	if dims > 2 {
		return v, 0, false
	}
	v = convShape{mode: modeNames[row.params[1].(string)], n: n[3], c: n[4], w: size, k: n[6], s: n[7], stride: n[8], pad: n[9], dilation: 1, groups: 1}
	d = slices.Index([]string{"f", "d", "w"}, row.params[0].(string))
	if transposed {
		v.c, v.k, v.w = v.k, v.c, (size-1)*v.stride-2*v.pad+v.s
		d = [...]int{1, 0, 2}[d]
	}
	v.h, v.r = v.w, v.s
	if dims == 1 {
		v.h, v.r = 1, 1
	}
	v.output()
	return v, d, v.q > 0 && (!transposed || v.q == size)
}

// oddConv reads a line about a convolution of any form. Those whose output does not follow
// from one stride, padding and dilation have no place in the table.
func oddConv(row measuredRow) (v convShape, d int, ok bool) {
	list := func(i int) (out []int64) {
		for _, n := range row.params[i].([]any) {
			out = append(out, int64(n.(float64)))
		}
		return out
	}
	in, weight, stride, pad, dilation := list(3), list(4), list(5), list(6), list(7)
	product := func(n []int64) int64 {
		p := int64(1)
		for _, n := range n {
			p *= n
		}
		return p
	}
	last := len(stride) - 1
	out := make([]int64, len(stride))
	for i := range out {
		out[i] = (in[2+i]+2*pad[i]-dilation[i]*(weight[2+i]-1)-1)/stride[i] + 1
	}
	v = convShape{
		mode: modeNames[row.params[1].(string)], nhwc: row.params[2] == "nhwc", n: in[0], c: in[1], h: product(in[2 : 2+last]), w: in[2+last], k: weight[0],
		r: product(weight[2 : 2+last]), s: weight[2+last], stride: stride[last], pad: slices.Max(pad), dilation: dilation[last], groups: int64(row.params[8].(float64)),
	}
	if last == 2 {
		v.volume = convVolume{in[2], weight[2], out[0]}
	}
	d = slices.Index([]string{"f", "d", "w"}, row.params[0].(string))
	v.output()
	ok = v.p == product(out[:last]) && v.q == out[last]
	v.p, v.q = product(out[:last]), out[last]
	return v, d, ok
}

// measuredLayers reads all convolutions of the measurements.
func measuredLayers(t testing.TB) []convLayer {
	byKey := map[convKey]*convLayer{}
	measured(t, func(row measuredRow) {
		v, d, ws, ok := measuredConv(row)
		if !ok {
			return
		}
		l := byKey[v.key()]
		if l == nil {
			l = &convLayer{convShape: v}
			l.n, l.p, l.q = 0, 0, 0
			byKey[v.key()] = l
		}
		i := slices.IndexFunc(l.cases, func(c convCase) bool { return c.n == v.n })
		if i < 0 {
			i = len(l.cases)
			l.cases = append(l.cases, convCase{v.n, [3]int64{-1, -1, -1}})
		}
		l.cases[i].workspace[d] = ws
	})
	var layers []convLayer
	for _, l := range byKey {
		slices.SortFunc(l.cases, func(a, b convCase) int { return cmp.Compare(a.n, b.n) })
		layers = append(layers, *l)
	}
	slices.SortFunc(layers, func(a, b convLayer) int {
		if o := cmp.Compare(a.mode, b.mode); o != 0 {
			return o
		}
		x, y := a.convFields(), b.convFields()
		for i := range x {
			if o := cmp.Compare(*x[i], *y[i]); o != 0 {
				return o
			}
		}
		return cmp.Compare(truth(a.nhwc), truth(b.nhwc))
	})
	return layers
}

func TestConvTableIsWhatWasMeasured(t *testing.T) {
	var want bytes.Buffer
	if err := writeConvTable(&want, measuredLayers(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("convolutions.bin.gz", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want.Bytes(), convBytes) {
		t.Fatalf("convolutions.bin.gz is not what %s give: make it anew with -update", measuredFiles)
	}
	layers, err := readConvTable(convBytes)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for i := range layers {
		cases += len(layers[i].cases)
	}
	if cases < 20_000 {
		t.Errorf("%d layers with %d cases", len(layers), cases)
	}
	t.Logf("%d layers with %d cases in %d bytes", len(layers), cases, len(convBytes))
}
