package analyze

import (
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

func TestOwner(t *testing.T) {
	// The folders of the standard library are learnt from the packages beside it.
	reader := newFrameReader([]snapshot.Frame{
		{Filename: `D:\miniconda3\envs\Python\Lib\site-packages\torch\nn\modules\module.py`},
		{Filename: `D:\tools\envs\ml\Lib\site-packages\torch\nn\modules\module.py`},
		{Filename: "/app/site-packages/torch/nn/functional.py"},
	})
	for _, c := range []struct {
		file, name string
		whose      Whose
		pkg        string
	}{
		{"/workspace/train/workloads.py", "step", Users, ""},
		{"train.py", "main", Users, ""},
		{`C:\Users\ann\proj\train.py`, "main", Users, ""},
		{"/usr/lib/python3.12/site-packages/torch/nn/functional.py", "relu", Library, "torch"},
		{"/usr/lib/python3/dist-packages/torch/nn/functional.py", "relu", Library, "torch"},
		{"/home/ann/.venv/lib/python3.11/site-packages/transformers/trainer.py", "train", Library, "transformers"},
		{"/opt/conda/lib/python3.10/site-packages/six.py", "f", Library, "six"},
		{"/opt/conda/lib/python3.8/site-packages/apex-0.1-py3.8-linux-x86_64.egg/apex/optimizers/fused_adam.py", "step", Library, "apex"},
		{`D:\tools\envs\ml\Lib\site-packages\lightning\pytorch\trainer\trainer.py`, "fit", Library, "lightning"},
		{`D:\tools\envs\ml\Lib\threading.py`, "run", Library, "python"},
		{`C:\Users\ann\AppData\Local\Programs\Python\Python312\Lib\runpy.py`, "run_path", Library, "python"},
		{`D:\proj\Lib\layers.py`, "forward", Users, ""},
		{"/app/train.py", "main", Users, ""}, // beside pip install --target /app/site-packages
		{"/usr/lib/python3.12/threading.py", "run", Library, "python"},
		{"/Library/Frameworks/Python.framework/Versions/3.11/lib/python3.11/contextlib.py", "inner", Library, "python"},
		{"/root/.local/share/uv/python/cpython-3.11.9-linux-x86_64-gnu/lib/python3.11/runpy.py", "f", Library, "python"},
		{`C:\py\python312.zip\runpy.py`, "f", Library, "python"},
		{"<frozen runpy>", "_run_code", Library, "python"},
		{"<frozen importlib._bootstrap>", "f", Library, "python"},
		{"<string>", "__init__", Library, "python"},
		{"<string>", "<module>", Users, ""}, // python -c
		{"<stdin>", "<module>", Users, ""},
		{"<ipython-input-3-0a1b2c>", "<module>", Users, ""},
		{"<eval_with_key>.12", "forward", Library, "torch.fx"},
		{"/tmp/ipykernel_4242/1306.py", "train", Users, ""},
		{"/tmp/torchinductor_ann/ab/cabcdef.py", "call", Library, "torch.compile"},
		{"/tmp/x/fx_generated_0.py", "forward", Library, "torch.compile"},
		{"/home/ann/pytorch/torch/nn/modules/linear.py", "forward", Library, "torch"}, // a source checkout
		{"/home/ann/torch/my_model.py", "forward", Users, ""},
		{"torch/nn/modules/linear.py", "forward", Library, "torch"}, // packed into an archive
		{"transformers/trainer.py", "train", Library, "transformers"},
		{"project/model.py", "forward", Users, ""},
		{"/home/ann/src/mylib/src/mylib/model.py", "forward", Users, ""}, // an editable install
		{"/home/ann/.venv/bin/torchrun", "<module>", Library, "launcher"},
		{`C:\ml\Scripts\accelerate.exe`, "<module>", Library, "launcher"},
		{"/home/ann/bin/train.py", "<module>", Users, ""},
		{"??", "at::native::linear(at::Tensor const&)", Native, "C++"},
		{"", "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)", Native, "C++"},
		{"CUDACachingAllocator.cpp", "malloc", Native, "C++"},
		{"??", "torch::unwind::unwind()", Noise, ""},
		{"memory_snapshot.cpp", "torch::cuda::(anonymous namespace)::gather_with_cpp()", Noise, ""},
		{"??", "_PyEval_EvalFrameDefault", Noise, ""},
		{"??", "PyObject_Call", Noise, ""},
		{"??", "__libc_start_main", Noise, ""},
		{"/usr/src/python/Objects/call.c", "method_vectorcall", Noise, ""},
		{"RegisterCUDA_0.cpp", "c10::impl::wrap_kernel_functor_unboxed_<x>::call(x)", Noise, ""},
		{"??", "Pyramid::build(at::Tensor)", Native, "C++"},
	} {
		got := reader.facts(snapshot.Frame{Filename: c.file, Name: c.name, Line: 1})
		if got.whose != c.whose || got.pkg != c.pkg {
			t.Errorf("%s in %q: whose %d of %q, want %d of %q", c.name, c.file, got.whose, got.pkg, c.whose, c.pkg)
		}
	}
}

// made builds a recording whose stacks are lists of "file:name" at line 1, 2, 3 …
// of the order in which they first appear; innermost first.
type made struct {
	rec   snapshot.Recording
	index map[snapshot.Frame]snapshot.FrameID
}

func (m *made) stack(frames ...snapshot.Frame) snapshot.StackID {
	if m.index == nil {
		m.index = make(map[snapshot.Frame]snapshot.FrameID)
		m.rec.Stacks.Add(nil)
	}
	var ids []snapshot.FrameID
	for _, f := range frames {
		id, ok := m.index[f]
		if !ok {
			id = snapshot.FrameID(len(m.rec.Frames))
			m.index[f] = id
			m.rec.Frames = append(m.rec.Frames, f)
		}
		ids = append(ids, id)
	}
	return m.rec.Stacks.Add(ids)
}

const pkgs = "/usr/lib/python3.12/site-packages/"

func frame(file string, line int, name string) snapshot.Frame {
	return snapshot.Frame{Filename: file, Line: line, Name: name}
}

// callFrames are the two frames by which every nn.Module is called.
func callFrames() []snapshot.Frame {
	return []snapshot.Frame{
		frame(pkgs+"torch/nn/modules/module.py", 1790, "_call_impl"),
		frame(pkgs+"torch/nn/modules/module.py", 1779, "_wrapped_call_impl"),
	}
}

func join(parts ...[]snapshot.Frame) []snapshot.Frame {
	var all []snapshot.Frame
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestDisplay(t *testing.T) {
	step := frame("/home/ann/proj/train.py", 166, "step")
	net := frame("/home/ann/proj/models/net.py", 12, "forward")
	one := func(f ...snapshot.Frame) []snapshot.Frame { return f }
	for _, c := range []struct {
		name  string
		stack []snapshot.Frame
		want  string
	}{
		{"function", one(frame(pkgs+"torch/nn/functional.py", 3504, "cross_entropy"), step), "train.py:166 step → cross_entropy"},
		{"own line", one(step), "train.py:166 step"},
		{
			"module", join(one(frame(pkgs+"torch/nn/modules/linear.py", 134, "forward")), callFrames(), one(net), callFrames(), one(step)),
			"models/net.py:12 forward → linear",
		},
		{"private helper", one(frame(pkgs+"torch/optim/sgd.py", 455, "_multi_tensor_sgd"), frame(pkgs+"torch/optim/sgd.py", 300, "sgd"),
			frame(pkgs+"torch/optim/sgd.py", 120, "step"), frame(pkgs+"torch/optim/optimizer.py", 533, "wrapper"), step), "train.py:166 step → sgd"},
		{"state", one(frame(pkgs+"torch/optim/adam.py", 178, "_init_group"), frame(pkgs+"torch/optim/adam.py", 238, "step"), step), "train.py:166 step → adam.step"},
		{
			"convolution", join(one(frame(pkgs+"torch/nn/modules/conv.py", 548, "_conv_forward"), frame(pkgs+"torch/nn/modules/conv.py", 553, "forward")), callFrames(), one(step)),
			"train.py:166 step → conv",
		},
		{"conversion", one(frame(pkgs+"torch/nn/modules/module.py", 1097, "<lambda>"), frame(pkgs+"torch/nn/modules/module.py", 930, "_apply"),
			frame(pkgs+"torch/nn/modules/module.py", 1097, "cuda"), step), "train.py:166 step → module.cuda"},
		{"library model", join(one(frame(pkgs+"torch/nn/modules/linear.py", 134, "forward")), callFrames(),
			one(frame(pkgs+"transformers/models/bert/modeling_bert.py", 292, "forward")), callFrames(), one(step)), "train.py:166 step → modeling_bert.py:292 → linear"},
		{
			"library model's own line", join([]snapshot.Frame{frame(pkgs+"transformers/models/llama/modeling_llama.py", 64, "forward")}, callFrames(), one(step)),
			"train.py:166 step → modeling_llama.py:64 forward",
		},
		{"backward", nil, "autograd (backward), no Python stack"},
		{"another thread in C++", one(frame("??", 0, "at::_ops::empty::call(x)"), frame("??", 0, "c10d::ProcessGroupNCCL::watchdog()")), "a thread without Python → empty"},
		{"backward in C++", one(frame("??", 0, "at::_ops::mm::call(at::Tensor const&)"), frame("??", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"),
			frame("??", 0, "torch::autograd::Engine::thread_main(x)")), "autograd (backward) → MmBackward0"},
		{"own line with C++", one(frame("??", 0, "at::_ops::empty::call(x)"), frame("??", 0, "at::_ops::randn::call(x)"), step), "train.py:166 step → randn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m made
			m.stack(frame("/home/ann/proj/train.py", 1, "<module>"))                                                            // so that the user's folder is known
			m.stack(frame(pkgs+"torch/autograd/graph.py", 1, "_engine_run_backward"), frame("/home/ann/proj/train.py", 1, "x")) // and that there is a backward pass
			id := m.stack(c.stack...)
			if got := NewSites(&m.rec).Display(id); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSameSite(t *testing.T) {
	var m made
	step, other := frame("train.py", 1, "step"), frame("train.py", 2, "step")
	noise := frame("??", 0, "PyObject_Call")
	a, b, c := m.stack(step), m.stack(noise, step, noise), m.stack(other)
	s := NewSites(&m.rec)
	if s.At(b).Same != a || s.At(a).Same != a || s.At(c).Same != c || s.At(0).Same != 0 {
		t.Errorf("same: %d %d %d %d, want %d %d %d 0", s.At(a).Same, s.At(b).Same, s.At(c).Same, s.At(0).Same, a, a, c)
	}
}

func TestFolded(t *testing.T) {
	var m made
	id := m.stack(join([]snapshot.Frame{frame(pkgs+"torch/nn/functional.py", 9, "relu")}, callFrames(),
		[]snapshot.Frame{frame("??", 0, "PyObject_Call"), frame("/p/net.py", 3, "forward")}, callFrames(), []snapshot.Frame{frame("/p/train.py", 8, "step")})...)
	want := []string{"torch/nn/functional.py:9 relu", "… 2 frames in torch", "net.py:3 forward", "… 2 frames in torch", "train.py:8 step"}
	got := NewSites(&m.rec).Folded(id)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i].Text != want[i] {
			t.Errorf("line %d: %q, want %q", i, got[i].Text, want[i])
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  []string
	}{
		{[]string{"/home/ann/proj/train.py", "/home/ann/proj/lib/net.py"}, []string{"train.py", "lib/net.py"}},
		{[]string{`C:\proj\train.py`, `C:\proj\lib\net.py`}, []string{"train.py", "lib/net.py"}},
		{[]string{"/a/b/c/train.py", "/z/y/x/w/net.py"}, []string{"…/b/c/train.py", "…/x/w/net.py"}},
		{[]string{"/tmp/ipykernel_1/77.py", "/home/ann/net.py"}, []string{"cell 77", "net.py"}},
		{[]string{"<ipython-input-3-ab>", "<stdin>"}, []string{"cell 3", "<stdin>"}},
		{[]string{pkgs + "torch/nn/functional.py"}, []string{"torch/nn/functional.py"}},
	} {
		var m made
		for _, f := range c.files {
			m.stack(frame(f, 1, "f"))
		}
		s := NewSites(&m.rec)
		for i, want := range c.want {
			if got := s.Path(snapshot.FrameID(i)); got != want {
				t.Errorf("%q: %q, want %q", c.files[i], got, want)
			}
		}
	}
}

// Names of files and functions come from the recording: none may break what is said
// of a stack, and something must be said.
func FuzzSites(f *testing.F) {
	f.Add("/p/train.py", "step", pkgs+"torch/nn/functional.py", "relu")
	f.Add(`C:\p\train.py`, "<module>", `C:\Python312\Lib\site-packages\torch\optim\adam.py`, "_init_group")
	f.Add("<ipython-input-1", "", "site-packages/", "__init__")
	f.Add("??", "at::_ops::", "", "XBackward0::apply(")
	f.Add("/", "::", "\xff", "torch/")
	f.Fuzz(func(t *testing.T, file1, name1, file2, name2 string) {
		var m made
		ids := []snapshot.StackID{0}
		a, b := frame(file1, 1, name1), frame(file2, -1, name2)
		for _, frames := range [][]snapshot.Frame{{a}, {b}, {a, b}, {b, a}, join(callFrames(), []snapshot.Frame{b}, callFrames(), []snapshot.Frame{a})} {
			ids = append(ids, m.stack(frames...))
		}
		s := NewSites(&m.rec)
		for _, id := range ids {
			if s.Display(id) == "" || s.Line(id) == "" || s.Module(id) == "" {
				t.Errorf("nothing is said of stack %d", id)
			}
			folded := 0
			for _, v := range s.Folded(id) {
				folded += max(v.Folded, 1)
			}
			if folded != len(s.Frames(id)) {
				t.Errorf("stack %d has %d frames, folded %d", id, len(s.Frames(id)), folded)
			}
		}
	})
}
