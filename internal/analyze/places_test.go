package analyze

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestPlacesAsHolders: blocks by their place hold what Holders says of the line or module
// of that name.
func TestPlacesAsHolders(t *testing.T) {
	for _, name := range []string{"bert_varlen-lim16", "bert_varlen-ring", "fsdp2-rank0", "leak_eval_outputs-oom"} {
		run := recording(t, name)
		at := run.TL.Peak.Allocated.Event
		for by, places := range map[By]*Places{ByLine: NewLines(run.Sites), ByModule: NewModules(run.Sites)} {
			got, want := map[string]int64{}, map[string]int64{}
			for _, i := range liveAt(run.TL, at) {
				got[places.Name(places.OfBlock(run.TL, i))] += run.TL.Life(i).SizeBytes
			}
			for _, g := range NewHeld(run.TL, run.Sites, at).Groups(HolderOptions{By: by, Top: -1}) {
				want[g.Name] = g.Bytes
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %s (-holders +places):\n%s", name, by, diff)
			}
			checkNumbers(t, places)
		}
	}
}

// checkNumbers checks that each place has one number, and a stack that is not there one too.
func checkNumbers(t *testing.T, p *Places) {
	t.Helper()
	for id := range p.Len() {
		if back, ok := p.ID(p.Name(id)); !ok || back != id {
			t.Errorf("place %d, %q, is number %d by its name", id, p.Name(id), back)
		}
	}
	if p.Of(snapshot.StackID(1<<30), 0) != p.Of(0, 0) {
		t.Error("a stack that is not in the recording is not taken for the empty one")
	}
	if p.Name(p.Of(0, -1)) != AllocatedEarly {
		t.Errorf("blocks from before the recording are of %q", p.Name(p.Of(0, -1)))
	}
}

// TestFrameKinds: frames are told apart as stacks are folded, and named so.
func TestFrameKinds(t *testing.T) {
	rec := &snapshot.Recording{Frames: []snapshot.Frame{
		{Name: "step", Filename: "/home/ann/train.py", Line: 7},
		{Name: "forward", Filename: "/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py", Line: 125},
		{Name: "run_path", Filename: "/usr/lib/python3.12/runpy.py", Line: 286},
		{Name: "at::native::empty_cuda(c10::ArrayRef<long>)", Filename: "??"},
		{Name: "torch::unwind::unwind()", Filename: "??"},
	}}
	rec.Stacks.Add(nil)
	rec.Stacks.Add([]snapshot.FrameID{4, 3, 1, 0, 2})
	sites := NewSites(rec)
	for id, want := range []struct {
		kind FrameKind
		name string
	}{
		{UserFrames, "train.py:7 step"},
		{LibraryFrames, "torch/nn/modules/linear.py:125 forward"},
		{PythonFrames, "runpy.py:286 run_path"},
		{NativeFrames, "at::native::empty_cuda(c10::ArrayRef<long>)"},
		{NoiseFrames, "C++ torch::unwind::unwind()"},
	} {
		f := snapshot.FrameID(id)
		if sites.FrameKind(f) != want.kind || want.kind != NoiseFrames && sites.FrameName(f) != want.name {
			t.Errorf("frame %d is %q, %s; want %q, %s", id, sites.FrameName(f), sites.FrameKind(f), want.name, want.kind)
		}
	}
}
