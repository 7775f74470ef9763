package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// beside is the real file system as it is seen from a folder: names are short in the
// output, and the same on every machine.
type beside struct{ dir string }

func (b beside) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(b.dir, name)
}

func (b beside) Open(name string) (fs.File, error)          { return os.Open(b.at(name)) }
func (b beside) Stat(name string) (fs.FileInfo, error)      { return os.Stat(b.at(name)) }
func (b beside) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(b.at(name)) }

// goldenCommands are commands whose whole output is kept. Files are those below
// testdata; the golden file has the command's name.
var goldenCommands = []string{
	// What people come with.
	"explain gpu/oom_batch_too_large.pickle.xz",
	"explain gpu/oom_checkerboard.pickle.xz",
	"explain gpu/oom_expandable.pickle.xz",
	"explain gpu/oom_survived.pickle.xz",
	"explain gpu/oom_stranded_on_stream.pickle.xz",
	"explain gpu/oom_stranded_in_graph_pool.pickle.xz",
	"explain leaks/leak_hook_cache.pickle.xz",
	"explain leaks/leak_loss_history-oom.pickle.xz",
	"explain leaks/gc_cycles.pickle.xz",
	"explain leaks/no_leak_buffer-short.pickle.xz",
	"explain gpu/train_mlp_adamw.pickle.xz",
	"explain recordings/vit.pickle.xz",
	"explain gpu/train_mlp_adamw.summary.txt",
	"explain gpu/oom_checkerboard.stats.json",
	"explain gpu/oom_checkerboard.summary.txt gpu/oom_checkerboard.pickle.xz",

	// What recordings lack.
	"explain gpu/ring_cut.pickle.xz",
	"explain gpu/late_start.pickle.xz",
	"explain gpu/no_stacks.pickle.xz",
	"explain gpu/state_only.pickle.xz",
	"explain -v gpu/own_pool.pickle.xz",

	// Several files.
	"explain recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz",
	"explain --against leaks/leak_loss_history-three.pickle.xz leaks/leak_loss_history.pickle.xz",
	"explain --against leaks/leak_loss_history-three.pickle.xz --json leaks/leak_loss_history.pickle.xz",

	// Moments and parts.
	"explain --at s3 --by category gpu/train_and_eval.pickle.xz",
	"explain --at oom --by stack --top 3 gpu/oom_checkerboard.pickle.xz",
	"explain --at 20ms --by module gpu/train_mlp_adamw.pickle.xz",
	"explain --since s2 --until s8 --by tree gpu/train_mlp_adamw.pickle.xz",
	"explain --until e300 gpu/oom_batch_too_large.pickle.xz",
	"explain --at s99 gpu/train_mlp_adamw.pickle.xz",
	"explain --since end --until peak gpu/train_mlp_adamw.pickle.xz",
	"explain --at oom gpu/train_mlp_adamw.pickle.xz",
	"explain --device 0 --top 2 gpu/train_mlp_adamw.pickle.xz",
	"explain --device 3 gpu/train_mlp_adamw.pickle.xz",
	"explain --device-memory 8GiB leaks/leak_hook_cache.pickle.xz",
	"explain --device-memory 300MiB leaks/leak_hook_cache.pickle.xz",
	"explain --device -2 gpu/train_mlp_adamw.pickle.xz",
	"explain --top -5 gpu/train_mlp_adamw.pickle.xz",
	"explain leaks/leak_metric_cat.pickle.xz",
	"explain gpu/train_split_and_expandable.pickle.xz",

	// Other forms.
	"explain --json gpu/oom_checkerboard.pickle.xz",
	"explain --json gpu/oom_checkerboard.summary.txt",
	"explain --markdown leaks/leak_hook_cache.pickle.xz",
	"explain --redact leaks/leak_hook_cache.pickle.xz",

	// For CI.
	"explain --budget reserved=500MiB,allocated=1GiB --top 1 gpu/train_mlp_adamw.pickle.xz",
	"explain --budget reserved=600MiB --fail-on leak,frag --top 1 gpu/train_mlp_adamw.pickle.xz",
	"explain --fail-on leak --top 1 leaks/leak_hook_cache.pickle.xz",

	// Other settings.
	"tune gpu/images_of_many_sizes.pickle.xz",
	"tune recordings/leak_eval_outputs-oom.pickle.xz",
	"tune --limit 1970MiB --markdown gpu/images_of_many_sizes.pickle.xz",
	"tune --limit 500MiB gpu/images_of_many_sizes.pickle.xz",
	"tune --device-memory 24GiB gpu/train_varying_expandable.pickle.xz",
	"tune gpu/ring_cut.pickle.xz",
	"tune --alloc-conf= --alloc-conf=expandable_segments:True --limit 520MiB gpu/gan.pickle.xz",
	"tune --json --alloc-conf=expandable_segments:True --alloc-conf=max_split_size_mb:128,garbage_collection_threshold:0.8 gpu/oom_checkerboard.pickle.xz",
	"tune --torch 2.4 --alloc-conf=expandable_segments:True,max_split_size_mb:64 recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz",

	// Without a GPU.
	"fit --top 3 --trace fit/vgg16-b500-momentum.jsonl.gz",
	"fit --top 3 --gpu rtx3080 --device-memory 6GiB --trace fit/vgg16-b500-momentum.jsonl.gz",
	"fit --top 3 --markdown --trace fit/vgg16-b500-momentum.jsonl.gz",
	"fit --top 1 --gpu rtx3080 --remedies all --trace fit/gpt2-b30-adamw.jsonl.gz",
	"fit --top 1 --gpu rtx3080 --remedies all --markdown --trace fit/gpt2-b30-adamw.jsonl.gz",
	"fit --top 2 --trace fit/fsdp2-rank0.jsonl.gz --trace fit/fsdp2-rank1.jsonl.gz",

	// Machines.
	"top --probe fake:h200x2",
	"top --probe fake:h100-mig",
	"top --json --probe fake:h100-mig",
	"top --once --probe fake:t4-vgpu",
	"top --once --probe fake:orin",

	// What cannot be.
	"tune gpu/state_only.pickle.xz",
	"tune gpu/train_mlp_adamw.summary.txt",
	"tune --limit 1MiB gpu/ring_cut.pickle.xz",
	"tune --limit 80GiB --device-memory 24GiB gpu/gan.pickle.xz",
	"tune --limit 0 gpu/gan.pickle.xz",
	"tune --torch 1.13 gpu/gan.pickle.xz",
	"tune --torch two gpu/gan.pickle.xz",
	"tune --alloc-conf max_split_size_mb:5 gpu/gan.pickle.xz",
	"tune --alloc-conf backend:cudaMallocAsync gpu/gan.pickle.xz",
	"tune --alloc-conf per_process_memory_fraction:0.5 gpu/gan.pickle.xz",
	"tune --device 7 gpu/gan.pickle.xz",
}

// TestGoldenOutput pins what these commands print.
func TestGoldenOutput(t *testing.T) {
	dir := filepath.Join("testdata", "golden")
	kept := map[string]bool{}
	for _, command := range goldenCommands {
		name := goldenName(command)
		kept[name] = true
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join(dir, name), outputOf(t, command))
		})
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !kept[f.Name()] {
			t.Errorf("%s is the output of no command in the list", f.Name())
		}
	}
}

// goldenName is the command as the name of a file.
func goldenName(command string) string {
	name := strings.NewReplacer(" ", "_", "/", "-", ".pickle.xz", "", "=", "-", ",", "-", ":", "-").Replace(command)
	if strings.Contains(command, "--json") {
		return name + ".json"
	}
	if strings.Contains(command, "--markdown") {
		return name + ".md"
	}
	return name + ".txt"
}

// outputOf runs a command from the folder of recordings. Below what it prints stands
// what it says on standard error, and its exit code where that is not 0.
func outputOf(t *testing.T, command string) []byte {
	t.Helper()
	var o outside
	app := o.app()
	app.Files = beside{filepath.Join("..", "..", "testdata")}
	code := Run(t.Context(), app, strings.Fields(command))
	var b bytes.Buffer
	b.Write(o.stdout.Bytes())
	if o.stderr.Len() > 0 {
		fmt.Fprintf(&b, "--- standard error\n%s", o.stderr.Bytes())
	}
	if code != 0 {
		fmt.Fprintf(&b, "--- exit code %d\n", code)
	}
	return b.Bytes()
}

// denying lets files be seen and not be read. The tests may run as root, whom no
// permission of a file stops.
type denying struct{ beside }

func (denying) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}
