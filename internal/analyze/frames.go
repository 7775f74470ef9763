package analyze

import (
	"path"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// Whose tells whose code a frame is.
type Whose uint8

// Owners of code.
const (
	Users   Whose = iota // the user's own: all that is nothing of the following
	Library              // installed Python: a package, the standard library, generated code
	Native               // C++, C or CUDA
	Noise                // the recorder's own frames and the interpreter's: never shown
)

// frameFacts is what the rest needs to know of a frame. It is computed once per
// distinct frame, of which a recording has a few thousand at most.
type frameFacts struct {
	whose    Whose
	plumbing bool   // passes a call on and says nothing of what was called
	pkg      string // of a library frame: "torch", "transformers", "python"
	rel      string // of a library frame: its path from the package on, "torch/nn/functional.py"
	closure  bool   // the function by which an optimizer calls back into the program
	marks    marks
}

// frameReader classifies the frames of one recording.
type frameReader struct {
	stdlib []string // folders of the standard library, as seen beside site-packages
}

func newFrameReader(frames []snapshot.Frame) *frameReader {
	r := new(frameReader)
	seen := make(map[string]bool)
	for _, f := range frames {
		root, ok := libraryFolder(slashes(f.Filename))
		if ok && !seen[root] {
			seen[root] = true
			r.stdlib = append(r.stdlib, root)
		}
	}
	return r
}

func (r *frameReader) facts(f snapshot.Frame) frameFacts {
	file := slashes(f.Filename)
	if isNative(f, file) {
		return nativeFacts(f, file)
	}
	pkg, rel := r.owner(file, f.Name)
	if pkg == "" {
		return frameFacts{whose: Users, closure: isClosure(f.Name), marks: userMarks(f.Name)}
	}
	return frameFacts{
		whose: Library, pkg: pkg, rel: rel,
		plumbing: isPlumbing(pkg, rel, f.Name), closure: isClosure(f.Name),
		marks: libraryMarks(pkg, rel, f.Name),
	}
}

// slashes makes a path of any system one with forward slashes. A recording made on
// Windows is read on Linux too, so filepath.ToSlash would not do.
func slashes(file string) string { return strings.ReplaceAll(file, `\`, "/") }

// owner returns the package that a Python file belongs to and its path from there
// on; the package is empty for the user's own code.
func (r *frameReader) owner(file, name string) (pkg, rel string) {
	if strings.HasPrefix(file, "<") {
		return generatedOwner(file, name)
	}
	if rel, ok := afterPackages(file); ok {
		return packageOf(rel), rel
	}
	if rel, ok := torchSource(file); ok {
		return "torch", rel
	}
	if strings.Contains(file, "/torchinductor_") || strings.HasPrefix(path.Base(file), "fx_generated_") {
		return "torch.compile", path.Base(file)
	}
	if rel, ok := r.standardLibrary(file); ok {
		return "python", rel
	}
	if isLauncher(file) {
		return "launcher", path.Base(file)
	}
	if first, _, ok := strings.Cut(file, "/"); ok && archived[first] {
		return first, file
	}
	return "", ""
}

// generatedOwner judges names that are no files: "<frozen runpy>", "<string>",
// "<ipython-input-3-abc>", "<stdin>", "<eval_with_key>.7".
func generatedOwner(file, name string) (pkg, rel string) {
	switch {
	case strings.HasPrefix(file, "<frozen "):
		return "python", strings.Trim(file, "<>")
	case strings.HasPrefix(file, "<eval_with_key>"):
		return "torch.fx", "generated code"
	case strings.HasPrefix(file, "<ipython-input-"), file == "<stdin>", strings.HasPrefix(file, "<doctest "), strings.HasPrefix(file, "<cell"):
		return "", ""
	case file == "<string>" && name == "<module>": // python -c
		return "", ""
	}
	return "python", "generated code" // dataclasses, namedtuple, attrs, decorator, numpy's dispatch
}

// afterPackages returns what follows the last folder that holds installed packages.
func afterPackages(file string) (rel string, ok bool) {
	cut := -1
	for _, folder := range [...]string{"site-packages/", "dist-packages/"} {
		if i := strings.LastIndex(file, folder); i >= 0 && (i == 0 || file[i-1] == '/') {
			cut = max(cut, i+len(folder))
		}
	}
	if cut < 0 || cut == len(file) {
		return "", false
	}
	rel = file[cut:]
	if first, rest, found := strings.Cut(rel, "/"); found && strings.HasSuffix(first, ".egg") {
		rel = rest
	}
	return rel, true
}

// packageOf returns the package of a path below site-packages: its first folder, or
// the module's name where it is a single file.
func packageOf(rel string) string {
	first, _, found := strings.Cut(rel, "/")
	if !found {
		first = strings.TrimSuffix(first, ".py")
	}
	return first
}

// libraryFolder returns the folder of the standard library that a path below
// site-packages gives away: "/opt/conda/lib/python3.11/", "C:/Python312/Lib/".
// A bare folder named site-packages (pip install --target) gives nothing away.
func libraryFolder(file string) (string, bool) {
	for _, folder := range [...]string{"/site-packages/", "/dist-packages/"} {
		i := strings.Index(file, folder)
		if i < 0 {
			continue
		}
		if base := path.Base(file[:i]); strings.HasPrefix(base, "python") || base == "Lib" {
			return file[:i+1], true
		}
	}
	return "", false
}

// standardLibrary recognises the standard library by the folders seen beside
// site-packages, and by the layouts of CPython's own installers.
func (r *frameReader) standardLibrary(file string) (rel string, ok bool) {
	for _, root := range r.stdlib {
		if strings.HasPrefix(file, root) {
			return file[len(root):], true
		}
	}
	for _, mark := range [...]string{"/lib/python3", "/lib64/python3", "/lib/pypy3"} {
		if i := strings.LastIndex(file, mark); i >= 0 {
			_, rel, ok := strings.Cut(file[i+len(mark):], "/")
			return rel, ok
		}
	}
	if i := strings.Index(file, "/Lib/"); i > 0 && strings.HasPrefix(strings.ToLower(path.Base(file[:i])), "python") {
		return file[i+len("/Lib/"):], true // C:/Users/x/AppData/Local/Programs/Python/Python312/Lib/runpy.py
	}
	if i := strings.Index(file, ".zip/"); i > 0 && strings.HasPrefix(path.Base(file[:i]), "python3") {
		return file[i+len(".zip/"):], true // python312.zip of the embeddable package
	}
	return "", false
}

// torchFolders are the parts of torch that its Python frames come from. They tell a
// source checkout of torch, or one packed into an archive, from a user's folder
// that happens to be called torch.
var torchFolders = [...]string{
	"nn/", "optim/", "autograd/", "utils/", "cuda/", "distributed/", "_dynamo/", "_inductor/", "_functorch/", "amp/",
	"fx/", "jit/", "func/", "library.py", "functional.py", "_tensor.py", "_ops.py", "_compile.py", "_jit_internal.py", "serialization.py", "overrides.py",
}

func torchSource(file string) (rel string, ok bool) {
	i := strings.LastIndex("/"+file, "/torch/")
	if i < 0 {
		return "", false
	}
	rest := file[i+len("torch/"):]
	for _, folder := range torchFolders {
		if strings.HasPrefix(rest, folder) {
			return "torch/" + rest, true
		}
	}
	return "", false
}

// archived are packages that keep relative file names when an application is packed
// into one archive (zipapp, PEX, XAR, PAR), where no folder says that they are installed.
var archived = map[string]bool{
	"torch": true, "torchvision": true, "torchaudio": true, "transformers": true, "accelerate": true, "deepspeed": true, "lightning": true,
	"pytorch_lightning": true, "diffusers": true, "peft": true, "trl": true, "timm": true, "apex": true, "flash_attn": true, "xformers": true,
	"bitsandbytes": true, "composer": true, "numpy": true,
}

// isLauncher recognises the scripts that pip writes: torchrun, accelerate, pytest.
func isLauncher(file string) bool {
	folder := path.Base(path.Dir(file))
	return (folder == "bin" || folder == "Scripts") && (path.Ext(file) == "" || path.Ext(file) == ".exe")
}

// isPlumbing tells whether a library frame only passes a call on.
func isPlumbing(pkg, rel, name string) bool {
	if pkg == "python" || pkg == "launcher" {
		return true
	}
	switch name {
	case "_call_impl", "_wrapped_call_impl", "_slow_forward", "__call__", "wrapper", "wrapped", "wrapped_fn", "wrapped_func", "inner", "decorator",
		"_fn", "decorate_context", "decorate_autocast", "__torch_function__", "__torch_dispatch__", "compile_wrapper", "_use_grad", "_call_user_compiler":
		return true
	case "fn":
		return rel == "torch/_jit_internal.py"
	case "forward":
		return rel == "torch/nn/modules/container.py" || rel == "torch/nn/parallel/distributed.py"
	}
	return false
}

// isClosure recognises the functions that training loops hand to optimizer.step.
func isClosure(name string) bool {
	switch name {
	case "closure", "_closure", "wrapped_closure", "_wrap_closure", "train_closure", "training_step", "train_step":
		return true
	}
	return false
}

// isNative tells C++ frames from Python's. Symbolizers give "??", nothing, a
// source file or a shared library as the file of a C++ frame.
func isNative(f snapshot.Frame, file string) bool {
	switch file {
	case "", "??", "none":
		return true
	}
	switch strings.ToLower(path.Ext(file)) {
	case ".py", ".pyx", ".ipynb":
		return false
	case ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cuh", ".cu", ".inl", ".so", ".dll", ".dylib", ".pyd":
		return true
	}
	return strings.Contains(path.Base(file), ".so.") || strings.HasPrefix(f.Name, "_Z") || strings.Contains(f.Name, "::")
}

// noiseNames are C and C++ functions that every stack with C++ frames holds: the
// recorder itself, the start of the process, the dispatcher's wrappers. The official
// viewer drops the same ones.
var noiseNames = [...]string{
	"unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "wrap_kernel_functor_unboxed_", "::redispatch(",
	"make_boxed_from_unboxed_functor", "BoxedKernelWrapper", "KernelFunction::call", "Dispatcher::call",
}

func isNoise(name, file string) bool {
	if isInterpreter(name, file) {
		return true
	}
	for _, s := range noiseNames {
		if strings.Contains(name, s) {
			return true
		}
	}
	return strings.Contains(file, "core/boxing") || strings.Contains(file, "/Redispatch") || strings.Contains(file, "/Register")
}

func isInterpreter(name, file string) bool {
	switch name {
	case "_start", "start_thread", "clone", "clone3", "__clone", "__clone3", "__libc_start_main", "__libc_start_call_main", "__libc_init_first", "main":
		return true
	}
	if s := strings.TrimPrefix(name, "_"); strings.HasPrefix(s, "Py") && len(s) > 2 && (s[2] == '_' || 'A' <= s[2] && s[2] <= 'Z') {
		return !strings.Contains(name, "::") // PyObject_Call, _PyEval_EvalFrameDefault, Py_RunMain
	}
	if path.Ext(file) != ".c" {
		return false
	}
	for _, folder := range [...]string{"Python/", "Objects/", "Modules/", "Programs/"} {
		if strings.Contains(file, folder) {
			return true
		}
	}
	return path.Base(file) == "ceval.c"
}

func nativeFacts(f snapshot.Frame, file string) frameFacts {
	if isNoise(f.Name, file) {
		return frameFacts{whose: Noise}
	}
	return frameFacts{whose: Native, pkg: "C++", marks: nativeMarks(f.Name)}
}
