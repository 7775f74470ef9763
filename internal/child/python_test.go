package child

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShutsOut(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py":                          "",
		"python -I train.py":                       "-I",
		"python3.12 -u -S train.py":                "-S",
		"/opt/conda/bin/python -uE train.py":       "-E",
		"nice -n 5 python3 -I train.py":            "-I",
		"python train.py -I -S":                    "", // the program's own
		"python -m pkg -E":                         "",
		"python -um pkg -E":                        "",
		"python -c pass -I":                        "",
		"python -W ignore -I x.py":                 "-I",
		"python -Wignore -X dev x.py -I":           "",
		"python -X importtime -- -I":               "",
		"python --check-hash-based-pycs never -I":  "-I",
		"python --version":                         "",
		"python - -I":                              "",
		"torchrun --nproc-per-node 8 train.py -I":  "",
		"pythonic -I":                              "",
		`C:\Python312\python.exe -I train.py`:      "-I",
		"torchrun --no-python python3 -I train.py": "-I",
		"python": "",
	} {
		if got := ShutsOut(strings.Fields(command)); got != want {
			t.Errorf("ShutsOut(%s) = %q, want %q", command, got, want)
		}
	}
}

func TestJobName(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py":                              "train",
		"python -u src/train_gpt.py --lr 1":            "train-gpt",
		"python -m torch.distributed.run x":            "torch-distributed-run",
		"python -um pkg.mod":                           "pkg-mod",
		"python -c print()":                            "python",
		"python -W ignore a.py":                        "a",
		"torchrun --nproc-per-node 8 a/fine-tune.py x": "fine-tune",
		"accelerate launch train.py":                   "train",
		"./serve":                                      "serve",
		`C:\x\python.exe C:\y\Eval.py`:                 "Eval",
		"python 训练.py":                                 "program",
		"python":                                       "python",
		"python " + strings.Repeat("x", 300) + ".py":   strings.Repeat("x", maxJobName),
	} {
		if got := JobName(strings.Fields(command)); got != want {
			t.Errorf("JobName(%s) = %q, want %q", command, got, want)
		}
	}
}

func TestEnviron(t *testing.T) {
	s := &Session{dir: "D"}
	site := filepath.Join("D", "site")
	for _, tt := range []struct{ before, after []string }{
		{[]string{"A=1"}, []string{"A=1", "PYTHONPATH=" + site, "ULLAGE_RUN=D"}},
		{[]string{"PYTHONPATH=", "A=1"}, []string{"A=1", "PYTHONPATH=" + site, "ULLAGE_RUN=D"}},
		{[]string{"PYTHONPATH=x", "ULLAGE_RUN=other", "PYTHONPATHS=y"}, []string{"PYTHONPATHS=y", "PYTHONPATH=" + site + string(filepath.ListSeparator) + "x", "ULLAGE_RUN=D"}},
	} {
		if diff := cmp.Diff(tt.after, s.Environ(tt.before)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.before, diff)
		}
	}
}
