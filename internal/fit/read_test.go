package fit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallTrace = `{"e":"meta","version":1,"torch":"2.11.0+cu130","argv":["train.py"],"device":{"name":"NVIDIA H200","total_bytes":150109880320,"major":9,"minor":0,"multiprocessors":132}}
{"e":"frame","id":0,"file":"train.py","line":3,"name":"main"}
{"e":"stack","id":0,"f":[0]}
{"e":"sig","id":0,"op":"aten.mm.default","in":[["float32",[4,4],null],["float32",[4,4],null,"cpu"]],"args":{"self":0,"mat2":1},"out":[["float32",[4,4],[1,4]]]}
{"e":"alloc","id":0,"n":64,"k":0}
{"e":"op","sig":0,"k":0,"new":[[1,64],[2,128,1]],"t":1,"p":"b"}
{"e":"set","name":"cudnn.benchmark","value":true}
{"e":"step","what":"optimizer","id":0,"n":1}
{"e":"tag","id":1,"as":"grad","name":"w"}
{"e":"later","of":"a newer version"}
{"e":"free","id":0}
{"e":"end","reason":"steps","steps":1,"calls":0,"live":2,"seconds":1.5}
`

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader(smallTrace), "small")
	if err != nil {
		t.Fatal(err)
	}
	if got.Meta.Torch != "2.11.0" || got.End == nil || got.End.Steps != 1 || got.Cut != "" {
		t.Errorf("meta %+v, end %+v, cut %q", got.Meta, got.End, got.Cut)
	}
	if len(got.Events) != 6 || len(got.News) != 3 || got.News[2] != (Storage{ID: 2, Device: 1, Bytes: 128}) {
		t.Errorf("%d events, storages %v", len(got.Events), got.News)
	}
	if op := got.Events[1]; op.Kind != Op || op.Thread != 1 || op.Phase != 'b' || op.First != 1 || op.Count != 2 {
		t.Errorf("op %+v", op)
	}
	if s := got.Sigs[0]; s.In[1].onGPU() || s.tensor("mat2") != &s.In[1] || s.Out[0].isContiguous() {
		t.Errorf("sig %+v", s)
	}
}

// TestReadCut: a process that was killed leaves a trace that is good up to its last whole line.
func TestReadCut(t *testing.T) {
	whole := smallTrace[:strings.Index(smallTrace, `{"e":"end"`)]
	for text, want := range map[string]string{whole: "killed", whole + `{"e":"fr`: "breaks off"} {
		got, err := Read(strings.NewReader(text), "cut")
		if err != nil || len(got.Events) != 6 || !strings.Contains(got.Cut, want) {
			t.Errorf("%d bytes: %v, cut %q", len(text), err, got.Cut)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	meta := smallTrace[:strings.Index(smallTrace, "\n")+1]
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "small:1: is empty"},
		{"no trace", "import torch\n", "small:1: is no trace of ullage fit"},
		{"no meta", `{"e":"free","id":0}` + "\n", "expected meta"},
		{"newer", `{"e":"meta","version":2}` + "\n", "version 2"},
		{"two metas", meta + meta, "small:2: a second line"},
		{"frame out of turn", meta + `{"e":"frame","id":1}` + "\n", "expected id 0"},
		{"stack without frame", meta + `{"e":"stack","id":0,"f":[0]}` + "\n", "frame 0 of 0"},
		{"op without sig", meta + `{"e":"op"}` + "\n", "without sig"},
		{"op of unknown sig", meta + `{"e":"op","sig":7}` + "\n", "names sig 7 of 0"},
		{"free of nothing", meta + `{"e":"free","id":3}` + "\n", "does not live"},
		{"made twice", meta + `{"e":"alloc","id":3,"n":8}` + "\n" + `{"e":"alloc","id":3,"n":8}` + "\n", "while it lives"},
		{"no bytes", meta + `{"e":"alloc","id":3,"n":0}` + "\n", "of 0 bytes"},
		{"too large", meta + `{"e":"alloc","id":3,"n":1e18}` + "\n", "alloc"},
		{"shape", meta + `{"e":"sig","id":0,"op":"x","in":[["float32",[-1],null]],"out":[]}` + "\n", "dimension of -1"},
		{"overflow", meta + `{"e":"sig","id":0,"op":"x","in":[["float32",[4294967296,4294967296],null]],"out":[]}` + "\n", "larger than"},
		{"strides", meta + `{"e":"sig","id":0,"op":"x","in":[["float32",[2,2],[1]]],"out":[]}` + "\n", "with 1 strides"},
		{"broken line", meta + "{\n" + meta, "small:2"},
	} {
		_, err := Read(strings.NewReader(tt.text), "small")
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(*TraceError)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// FuzzRead: no input makes the reader, the planner or the simulation fail otherwise than by an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(smallTrace))
	f.Add([]byte(strings.Replace(smallTrace, "aten.mm.default", "aten.convolution_backward.default", 1)))
	f.Add([]byte(strings.Replace(smallTrace, "aten.mm.default", "aten.sum.dim_IntList", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Read(strings.NewReader(string(data)), "fuzz")
		if err != nil {
			return
		}
		job, err := compile(trace, h200, 0, &convTable{})
		if err != nil {
			return
		}
		room := Room{DeviceBytes: 1 << 37}
		if rec, run := job.Record(room); run.PeakReserved < run.PeakAllocated || rec.Devices[0].Events.Len() < 1 && run.PeakAllocated > 0 {
			t.Errorf("reserved %d, allocated %d, %d events", run.PeakReserved, run.PeakAllocated, rec.Devices[0].Events.Len())
		}
	})
}

func TestProfiles(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Profiles() {
		if err := p.check(); err != nil {
			t.Error(err)
		}
		if p.Source == "" || p.Origin != Measured && p.Origin != Published || names[p.Name] {
			t.Errorf("%s: origin %q, source %q, or twice", p.Name, p.Origin, p.Source)
		}
		names[p.Name] = true
	}
	for _, name := range []string{"h200", "H200", "NVIDIA H200", "a100-40", "A100_40", "RTX 4090", "rtx4090"} {
		if _, err := FindProfile(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := FindProfile("h2000"); err == nil || !strings.Contains(err.Error(), "one of a10, a100-40") {
		t.Errorf("h2000: %v", err)
	}
}

func TestBlasWorkspace(t *testing.T) {
	for _, tt := range []struct {
		major  int
		config string
		want   int64
	}{
		{9, "", 32 << 20},
		{10, "", 32 << 20},
		{12, "", 32 << 20},
		{8, "", 8519680},
		{7, "", 8519680},
		{9, ":4096:8", 32 << 20},
		{9, ":16:8", 128 << 10},
		{9, ":0:0", 0},
		{8, ":4096:2:16:8", 8519680},
		{9, "nonsense", 32 << 20},
		{9, ":-1:8", 32 << 20},
	} {
		if got := blasWorkspaceBytes(&Profile{Major: tt.major}, map[string]string{"CUBLAS_WORKSPACE_CONFIG": tt.config}); got != tt.want {
			t.Errorf("capability %d, %q: %d, want %d", tt.major, tt.config, got, tt.want)
		}
	}
}

// BenchmarkPredict: a job of 13,000 requests. Budget: 50 ms.
func BenchmarkPredict(b *testing.B) {
	trace := readFixture(b, "llama-1b-b2-adamw-t1024-bf16")
	p := mustProfile(b, "h200")
	for b.Loop() {
		job, err := Compile(trace, p, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Predict(job, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead: 14,000 lines. Budget: 150 ms.
func BenchmarkRead(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "fit", "llama-1b-b2-adamw-t1024-bf16.jsonl.gz"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		readFixture(b, "llama-1b-b2-adamw-t1024-bf16")
	}
}
