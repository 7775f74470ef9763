package child

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFindOption(t *testing.T) {
	for _, tt := range []struct {
		command, name string
		value         int
		with          string // the command with 7 in its place
	}{
		{"python train.py --batch 64", "batch", 64, "python train.py --batch 7"},
		{"python train.py --batch=64", "batch", 64, "python train.py --batch=7"},
		{"python train.py -batch 64", "--batch", 64, "python train.py -batch 7"},
		{"python train.py -b 64 -e 3", "batch", 64, "python train.py -b 7 -e 3"},
		{"python train.py -b64", "batch", 64, "python train.py -b7"},
		{"python train.py batch=64 lr=0.1", "batch", 64, "python train.py batch=7 lr=0.1"},
		{"python train.py ++train.batch=64", "batch", 64, "python train.py ++train.batch=7"},
		{"python train.py data.batch_size=64", "batch", 64, "python train.py data.batch_size=7"},
		{"python train.py --batch_size 64", "batch-size", 64, "python train.py --batch_size 7"},
		{"python train.py --Batch-Size 64", "batch", 64, "python train.py --Batch-Size 7"},
		{"python train.py --batchsize 64", "batch", 64, "python train.py --batchsize 7"},
		{"python run.py --per_device_train_batch_size 8 --per_device_eval_batch_size 4", "batch", 8, "python run.py --per_device_train_batch_size 7 --per_device_eval_batch_size 4"},
		{"python train.py --batch 1 --batch 64", "batch", 64, "python train.py --batch 7 --batch 7"},
		{"torchrun --nproc-per-node 8 train.py --batch 4", "batch", 4, "torchrun --nproc-per-node 8 train.py --batch 7"},
	} {
		args := strings.Fields(tt.command)
		o, err := FindOption(args, nil, tt.name)
		if err != nil {
			t.Errorf("%s: %v", tt.command, err)
			continue
		}
		got, _ := o.With(args, nil, 7)
		if o.Value != tt.value || strings.Join(got, " ") != tt.with {
			t.Errorf("%s: %d; with 7: %s", tt.command, o.Value, strings.Join(got, " "))
		}
		if strings.Join(args, " ") != tt.command {
			t.Errorf("%s was changed", tt.command)
		}
	}
}

func TestFindOptionInEnvironment(t *testing.T) {
	environ := []string{"HOME=/", "BATCH=64"}
	o, err := FindOption([]string{"./train.sh"}, environ, "env:BATCH")
	if err != nil || o.Value != 64 {
		t.Fatal(o, err)
	}
	args, got := o.With([]string{"./train.sh"}, environ, 7)
	if len(args) != 1 || !slices.Contains(got, "BATCH=7") || slices.Contains(got, "BATCH=64") {
		t.Error(args, got)
	}
}

func TestFindOptionRefuses(t *testing.T) {
	for _, tt := range []struct{ command, name, want string }{
		{"python train.py", "batch", `no option "batch" with a number`},
		{"python train.py --batch auto", "batch", `no option "batch" with a number`},
		{"python train.py --seed -10 -3 =4 -=5", "batch", `no option "batch"`},
		{"python train.py --epochs 3", "batch", `no option "batch"`},
		{"python train.py --train-batch-size 8 --gen-batch-size 4", "batch", `may mean --train-batch-size or --gen-batch-size`},
		{"python train.py", "env:NONE", "no variable NONE"},
		{"python train.py", "env:WORD", `is "many": expected a whole number`},
	} {
		_, err := FindOption(strings.Fields(tt.command), []string{"WORD=many"}, tt.name)
		var which *OptionError
		if !errors.As(err, &which) || !strings.Contains(err.Error(), tt.want) || which.Hint() == "" {
			t.Errorf("%s: %v", tt.command, err)
		}
	}
}
