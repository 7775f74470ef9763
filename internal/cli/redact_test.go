package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestRedacted looks for the names and folders of the recorded programs in everything
// that explain prints under --redact.
func TestRedacted(t *testing.T) {
	for _, files := range []string{
		"leaks/leak_hook_cache.pickle.xz", "leaks/profiler.pickle.xz", "recordings/bert_varlen-lim16.pickle.xz", "gpu/cpp_stacks.pickle.xz",
		"recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz",
	} {
		names := ownNames(t, strings.Fields(files))
		for _, flags := range []string{"", "--json", "--markdown", "-v --by tree", "--by stack --top -1", "--json --by tree --top -1", "--against leaks/leak_loss_history.pickle.xz"} {
			if strings.Contains(flags, "against") && strings.Contains(files, " ") {
				continue
			}
			out := strings.ReplaceAll(string(outputOf(t, "explain --redact "+flags+" "+files)), `\_`, "_")
			for _, name := range names {
				if regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(name)).MatchString(out) {
					t.Errorf("explain --redact %s %s prints %q", flags, files, name)
				}
			}
		}
	}
}

// ownNames are the paths and names in recordings that are the recorded program's own.
// "step" and the like are words that the report uses itself.
func ownNames(t *testing.T, files []string) []string {
	t.Helper()
	names := map[string]bool{"home/": true, "workspace/": true}
	for _, file := range files {
		names[filepath.Base(file)] = true
		f, err := os.Open(filepath.Join("..", "..", "testdata", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rec, err := snapshot.Read(f, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rec.Frames {
			if !strings.Contains(f.Filename, "-packages/") && !strings.Contains(f.Filename, "lib/python") && strings.HasSuffix(f.Filename, ".py") {
				names[filepath.Base(f.Filename)] = true
				if strings.ContainsAny(f.Name, "_<") {
					names[f.Name] = true
				}
			}
		}
	}
	for _, common := range []string{"<module>", "__init__", "cpp_stacks"} { // libraries have these too, and the report itself
		delete(names, common)
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	return list
}

// TestRedactedRanks: without their names the files of a job are still told apart.
func TestRedactedRanks(t *testing.T) {
	out := string(outputOf(t, "explain --redact recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz"))
	for _, want := range []string{"2 devices in 2 files", "healthy  file 1\n", "healthy  file 2\n", "\nfile 1, rank 0, GPU 0\n", "\nfile 2, rank 1, GPU 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%.900s", want, out)
		}
	}
	if strings.Contains(out, "not its own") {
		t.Error("a rank's own GPU is taken for another's")
	}
}

// secretLog has a name of the program's wherever a text that explain understands can
// have one. Every such name contains "zq".
const secretLog = `$ cd /home/zqbob/zqacme && python zqtrain.py --token zqtoken
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/zqbob/zqacme/zqtrain.py", line 3, in zqmain
[rank3]:     zqmodel.run(x)
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.07 GiB is free. Process 12345 has 3.20 GiB memory in use. Including non-PyTorch memory, this process has 74.88 GiB memory in use. Of the allocated memory 60.12 GiB is allocated by PyTorch, and 12.90 GiB is reserved by PyTorch but unallocated.
RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling ` + "`zqhandle(handle)`" + `
Out of memory: Killed process 12345 (zqtrainer) total-vm:123456kB, anon-rss:65536000kB, file-rss:0kB, shmem-rss:0kB, UID:1000
RuntimeError: NCCL error in: /home/zqbob/zqacme/ProcessGroupNCCL.cpp:1691, unhandled cuda error
Last error:
Cuda failure 2 'out of memory' on zqhost-7
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   32C    P0             70W /  700W |   74880MiB /  81559MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A     12345      C   /home/zqbob/zqpython                        74880MiB |
+-----------------------------------------------------------------------------------------+
`

// TestRedactedText: what --redact promises holds for logs, too.
func TestRedactedText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zqlog.txt")
	if err := os.WriteFile(file, []byte(secretLog), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-v", "--json", "--markdown", "--fail-on=oom"} {
		var plain, redacted outside
		plain.run(t, "explain", flag, file)
		redacted.run(t, "explain", "--redact", flag, file)
		if !strings.Contains(plain.stdout.String(), "zqmain") {
			t.Fatalf("explain %s: the names are not printed without --redact either:\n%s", flag, plain.stdout.String())
		}
		out := redacted.stdout.String() + redacted.stderr.String()
		for line := range strings.Lines(out) {
			if strings.Contains(line, "zq") {
				t.Errorf("explain --redact %s prints %s", flag, line)
			}
		}
		for _, want := range []string{"user1.py", "CUBLAS", "12.90 GiB"} {
			if !strings.Contains(out, want) {
				t.Errorf("explain --redact %s: %q is missing", flag, want)
			}
		}
	}
}
