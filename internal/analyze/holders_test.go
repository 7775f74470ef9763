package analyze

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
	"pgregory.net/rapid"
)

// checkSums checks that every way to group what is held adds up to what is allocated.
func checkSums(t interface{ Fatalf(string, ...any) }, s DiffSide, event int) {
	want := s.TL.TotalsAt(event).Allocated
	h := NewHeld(s.TL, s.Sites, event)
	sum, blocks := int64(0), 0
	for _, c := range h.Categories() {
		var reasons int64
		for _, r := range c.Reasons {
			reasons += r.Bytes
		}
		if reasons != c.Bytes {
			t.Fatalf("event %d: %s holds %d bytes, its reasons %d", event, c.Category, c.Bytes, reasons)
		}
		sum += c.Bytes
		blocks += c.Blocks
	}
	if sum != want || blocks != h.total.blocks {
		t.Fatalf("event %d: categories hold %d bytes in %d blocks, want %d in %d", event, sum, blocks, want, h.total.blocks)
	}
	for by := ByLine; by < ByTree; by++ {
		for _, top := range []int{1, 3, 0, -1} {
			sum, blocks := int64(0), 0
			for _, g := range h.Groups(HolderOptions{By: by, Top: top}) {
				sum += g.Bytes
				blocks += g.Blocks
			}
			if sum != want || blocks != h.total.blocks {
				t.Fatalf("event %d, %s, top %d: groups hold %d bytes, want %d", event, nouns[by][1], top, sum, want)
			}
		}
	}
	for _, o := range []HolderOptions{{By: ByTree}, {By: ByTree, Top: 1, MinShare: 0.3}, {By: ByTree, Top: -1, MinShare: 1e-12}} {
		tree := h.Tree(o)
		if tree.Bytes != want {
			t.Fatalf("event %d: the tree holds %d bytes, want %d", event, tree.Bytes, want)
		}
		checkNode(t, tree)
	}
}

func checkNode(t interface{ Fatalf(string, ...any) }, n *HolderNode) {
	if len(n.Children) == 0 {
		return
	}
	sum, blocks := int64(0), 0
	for _, c := range n.Children {
		sum += c.Bytes
		blocks += c.Blocks
		checkNode(t, c)
	}
	if sum != n.Bytes || blocks != n.Blocks {
		t.Fatalf("%q holds %d bytes in %d blocks, its children %d in %d", n.Name, n.Bytes, n.Blocks, sum, blocks)
	}
}

func TestSumsOfRecordings(t *testing.T) {
	for _, name := range []string{"resnet50", "vit", "vgg16-b500-momentum", "ddp-rank0", "fsdp2-rank0", "bert_varlen-ring", "cudagraph", "leak_eval_outputs-oom"} {
		t.Run(name, func(t *testing.T) {
			s := recording(t, name)
			n := s.TL.Dev.Events.Len()
			for event := -1; event < n; event += max(1, n/23) {
				checkSums(t, s, event)
			}
			checkSums(t, s, s.Event)
		})
	}
}

// The lines that hold most are the ones that a reader of the code would name.
func TestLinesOfRecordings(t *testing.T) {
	for _, c := range []struct {
		recording string
		by        By
		want      string // the largest group
		operator  string // the operator that holds most there
	}{
		{"resnet50", ByLine, "workloads.py:18 fwd", "conv"},
		{"resnet50", ByModule, "resnet.py:273 → resnet.forward", "conv"}, // layer1
		{"resnet50", ByCategory, "activations", "conv"},
		{"leak_eval_outputs-oom", ByLine, "workloads.py:183 step", "relu"},
		{"leak_eval_outputs-oom", ByStack, "workloads.py:183 step → relu", "relu"},
		{"fsdp2-rank0", ByLine, "multi.py:32 mk", "modeling_llama.forward"},
		{"vgg16-b500-momentum", ByLine, "train_job.py:93 main", "conv"},
	} {
		s := recording(t, c.recording)
		g := NewHeld(s.TL, s.Sites, s.Event).Groups(HolderOptions{By: c.by})
		if g[0].Name != c.want || len(g[0].Operators) == 0 || g[0].Operators[0] != c.operator {
			t.Errorf("%s by %s: %q %q, want %q %q", c.recording, nouns[c.by][0], g[0].Name, g[0].Operators, c.want, c.operator)
		}
	}
}

func TestHoldersJSON(t *testing.T) {
	s := recording(t, "cudagraph")
	data, err := json.Marshal(Holders(s.TL, s.Sites, s.Event, HolderOptions{Top: 2}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"allocated_bytes":327197696`, `"by":"line"`, `"confidence":"high"`, `"category":"graph pools"`, `"groups":[{"name":"workloads.py:`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}

func TestByNames(t *testing.T) {
	for b := ByLine; b <= ByTree; b++ {
		var got By
		if err := got.UnmarshalText([]byte(b.String())); err != nil || got != b {
			t.Errorf("%s: %s, %v", b, got, err)
		}
	}
	var b By
	if err := b.UnmarshalText([]byte("file")); err == nil || !strings.Contains(err.Error(), "line, category, module, stack, tree") {
		t.Errorf("%v", err)
	}
}

// traceMaker makes a recording event by event.
type traceMaker struct {
	made
	events snapshot.Events
	next   uint64
}

func newTraceMaker() *traceMaker {
	m := &traceMaker{next: 1 << 40}
	m.rec.Streams = []uint64{0}
	m.events.Pools = []snapshot.PoolID{{}}
	return m
}

// alloc allocates a segment of its own for each block: where blocks lie is not the matter here.
func (m *traceMaker) alloc(sizeBytes int64, stack snapshot.StackID) (addr uint64) {
	const segment = 20 << 20
	addr = m.next
	m.next += segment
	m.events.Append(snapshot.Event{Action: snapshot.SegmentAlloc, Addr: addr, SizeBytes: segment, Stack: stack})
	m.events.Append(snapshot.Event{Action: snapshot.Alloc, Addr: addr, SizeBytes: sizeBytes, Stack: stack})
	return addr
}

func (m *traceMaker) free(addr uint64, sizeBytes int64, stack snapshot.StackID) {
	m.events.Append(snapshot.Event{Action: snapshot.FreeRequested, Addr: addr, SizeBytes: sizeBytes, Stack: stack})
	m.events.Append(snapshot.Event{Action: snapshot.FreeCompleted, Addr: addr, SizeBytes: sizeBytes, Stack: stack})
}

func (m *traceMaker) side() DiffSide {
	m.rec.Devices = []*snapshot.Device{{Events: &m.events}}
	return replayed(&m.rec)
}

func TestSumsOfMadeRecordings(t *testing.T) {
	files := []string{"/p/train.py", "/p/net.py", pkgs + "torch/nn/functional.py", pkgs + "torch/nn/modules/module.py", pkgs + "transformers/models/x/modeling_x.py", "??", pkgs + "torch/optim/adam.py"}
	names := []string{"step", "forward", "_call_impl", "relu", "zero_grad", "_init_group", "at::_ops::mm::call(x)", "PyObject_Call", "backward", "__init__"}
	rapid.Check(t, func(t *rapid.T) {
		m := newTraceMaker()
		var stacks []snapshot.StackID
		for range rapid.IntRange(1, 12).Draw(t, "stacks") {
			var frames []snapshot.Frame
			for range rapid.IntRange(0, 9).Draw(t, "depth") {
				frames = append(frames, frame(rapid.SampledFrom(files).Draw(t, "file"), rapid.IntRange(0, 3).Draw(t, "line"), rapid.SampledFrom(names).Draw(t, "name")))
			}
			stacks = append(stacks, m.stack(frames...))
		}
		type block struct {
			addr uint64
			size int64
		}
		var live []block
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			stack := rapid.SampledFrom(stacks).Draw(t, "stack")
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				k := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				m.free(live[k].addr, live[k].size, stack)
				live = append(live[:k], live[k+1:]...)
				continue
			}
			size := rapid.Int64Range(1, 19<<20).Draw(t, "size")
			live = append(live, block{m.alloc(size, stack), size})
		}
		s := m.side()
		checkSums(t, s, s.TL.Dev.Events.Len()-1)
		checkSums(t, s, s.Event)
		checkSums(t, s, -1)
		checkDiff(t, s, DiffSide{s.TL, s.Sites, s.TL.Dev.Events.Len() - 1})
	})
}

// A runaway recursion must not become a tree as deep.
func TestDeepStack(t *testing.T) {
	m := newTraceMaker()
	frames := make([]snapshot.Frame, 100_000)
	for i := range frames {
		frames[i] = frame("/p/train.py", i, "f")
	}
	m.alloc(1<<20, m.stack(frames...))
	s := m.side()
	tree := NewHeld(s.TL, s.Sites, s.Event).Tree(HolderOptions{})
	if len(tree.Children) != 1 || strings.Count(tree.Children[0].Name, " → ") != treePath-1 {
		t.Errorf("%d children, %.200s", len(tree.Children), tree.Children[0].Name)
	}
}

func TestNothingHeld(t *testing.T) {
	rec := &snapshot.Recording{Devices: []*snapshot.Device{{Events: &snapshot.Events{}}}}
	s := replayed(rec)
	for by := ByLine; by <= ByTree; by++ {
		r := Holders(s.TL, s.Sites, -1, HolderOptions{By: by})
		if r.AllocatedBytes != 0 || len(r.Categories) != 0 || len(r.Groups) != 0 {
			t.Errorf("%d: %+v", by, r)
		}
	}
	if got := s.Sites.Line(snapshot.StackID(99)); got != "no stack recorded" {
		t.Errorf("a stack that is not there: %q", got)
	}
}

func TestRestIsNeverOne(t *testing.T) {
	m := newTraceMaker()
	for i := range 4 {
		m.alloc(int64(i+1)<<20, m.stack(frame("/p/train.py", i+1, "step")))
	}
	s := m.side()
	h := NewHeld(s.TL, s.Sites, s.Event)
	for top, want := range map[int]int{1: 2, 2: 3, 3: 4, 4: 4, -1: 4} {
		g := h.Groups(HolderOptions{Top: top})
		if len(g) != want || g[len(g)-1].Rest == 1 {
			t.Errorf("top %d: %d groups, want %d: %+v", top, len(g), want, g)
		}
	}
}

// benchSide makes a recording of n allocations and frees with many distinct stacks.
func benchSide(allocs, stacks, depth int) DiffSide {
	m := newTraceMaker()
	ids := make([]snapshot.StackID, stacks)
	for i := range ids {
		frames := []snapshot.Frame{frame(pkgs+"torch/nn/functional.py", i%40, "relu")}
		for d := range depth {
			frames = append(frames, callFrames()...)
			frames = append(frames, frame(pkgs+fmt.Sprintf("transformers/models/m%d/modeling.py", d%7), (i>>d)&63, "forward"))
		}
		ids[i] = m.stack(append(frames, frame("/p/train.py", i%50, "step"))...)
	}
	const live = 4000 // blocks at any moment, as at the peak of a large model
	var addrs [live]uint64
	m.events.Append(snapshot.Event{Action: snapshot.SegmentAlloc, Addr: 1 << 40, SizeBytes: live << 21})
	for i := range allocs {
		k := i % live
		addr := uint64(1<<40 + k<<21)
		if addrs[k] != 0 {
			m.free(addr, 2<<20, ids[(i*7)%stacks])
		}
		addrs[k] = addr
		m.events.Append(snapshot.Event{Action: snapshot.Alloc, Addr: addr, SizeBytes: 2 << 20, Stack: ids[i%stacks]})
	}
	return m.side()
}

// Budget: 15 ns for each allocation of the recording, and 1.5 us for each of the 4,000
// blocks that are held: 45 ms for the peak of a recording of 2.6 million allocations.
func BenchmarkHeld(b *testing.B) {
	for _, allocs := range []int{20_000, 200_000} {
		b.Run(fmt.Sprint(allocs), func(b *testing.B) {
			s := benchSide(allocs, 500, 6)
			at := s.TL.Dev.Events.Len() - 1
			b.ReportAllocs()
			for b.Loop() {
				Holders(s.TL, s.Sites, at, HolderOptions{By: ByTree})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(allocs), "ns/block")
		})
	}
}

// Budget: 15 ns a frame of a distinct stack: 30 ms for 50,000 stacks of 40 frames.
func BenchmarkNewSites(b *testing.B) {
	for _, stacks := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(stacks), func(b *testing.B) {
			s := benchSide(10, stacks, 13)
			frames := 0
			for id := range s.TL.Rec.Stacks.Len() {
				frames += len(s.TL.Rec.Stacks.Frames(snapshot.StackID(id)))
			}
			b.ReportAllocs()
			for b.Loop() {
				NewSites(s.TL.Rec)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
		})
	}
}
