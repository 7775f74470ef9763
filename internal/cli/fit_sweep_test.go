package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/report"
)

// standIn is a program that leaves the trace of a model of 64 MiB of weights, as much again
// of gradients and twice as much of state, and of activations of a MiB for each sample: half
// of it with the remedy "checkpoint". Its batch is the number after --batch, or BATCH.
const standIn = `
b=$BATCH; while [ $# -gt 0 ]; do [ "$1" = --batch ] && b=$2; shift; done
[ "$b" -gt 400 ] && [ -n "$SMALL" ] && exit 9
a=$((b * 1048576)); m=67108864
r=; grep -q checkpoint "$ULLAGE_FIT/config.json" && a=$((a / 2)) && r='{"e":"remedy","name":"checkpoint","n":2,"text":"around 2 blocks"}'
grep -q fused "$ULLAGE_FIT/config.json" && r='{"e":"remedy","name":"fused","n":0,"text":"no optimizer that steps has the option fused"}'
step() { printf '{"e":"op","sig":0,"p":"f","new":[[%d,%d]]}\n{"e":"op","sig":1,"t":1,"p":"b","new":[[%d,%d]]}\n{"e":"free","id":%d}\n' $(($1 + 1)) $a $(($1 + 2)) $m $(($1 + 1)); }
{
	echo '{"e":"meta","version":1,"torch":"2.11.0","argv":["train.py"],"device":{"total_bytes":1}}'
	printf '{"e":"sig","id":0,"op":"aten.gelu.default","in":[["float32",[%d,262144]]],"args":{"self":0},"out":[["float32",[%d,262144]]]}\n' $b $b
	printf '{"e":"sig","id":1,"op":"aten.t_backward.default","in":[],"args":{},"out":[["float32",[4096,4096]]]}\n'
	printf '{"e":"alloc","id":0,"n":%d,"p":"f"}\n' $m
	step 0
	printf '{"e":"alloc","id":3,"n":%d,"p":"o"}\n{"e":"step","what":"optimizer","id":0,"n":1}\n' $((2 * m))
	printf '{"e":"tag","id":0,"as":"param","name":"layers.0.weight"}\n{"e":"tag","id":2,"as":"grad","name":"layers.0.weight"}\n{"e":"tag","id":3,"as":"state","name":"layers.0.weight.exp_avg"}\n'
	echo '{"e":"free","id":2}'
	step 3
	printf '{"e":"step","what":"optimizer","id":0,"n":2}\n{"e":"free","id":5}\n'
	step 5
	printf '{"e":"step","what":"optimizer","id":0,"n":3}\n'
	printf '{"e":"tag","id":0,"as":"param","name":"layers.0.weight"}\n{"e":"tag","id":7,"as":"grad","name":"layers.0.weight"}\n{"e":"tag","id":3,"as":"state","name":"layers.0.weight.exp_avg"}\n'
	echo "$r"
	echo '{"e":"end","reason":"steps","steps":3}'
} >"$ULLAGE_FIT/trace-1.jsonl"
echo x >>"$RUNS"
`

// fitStandIn runs fit on the stand-in and returns how often that ran.
func fitStandIn(t *testing.T, o *outside, want int, flags []string, command ...string) (out report.FitJSON, runs int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	count := filepath.Join(t.TempDir(), "runs")
	t.Setenv("RUNS", count)
	o.env = map[string]string{"XDG_CACHE_HOME": t.TempDir()}
	args := append(append([]string{"fit", "--json"}, flags...), "--", "sh", "-c", standIn, "sh")
	if code := o.run(t, append(args, command...)...); code != want {
		t.Fatalf("exit code %d, want %d: %s", code, want, &o.stderr)
	}
	if o.stdout.Len() > 0 {
		if err := json.Unmarshal(o.stdout.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(count)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out, strings.Count(string(text), "x")
}

// TestFitSweep: in 4 GiB of a card the largest batch is found with three runs, the last of
// which is with it; a variable will do as well as an option.
func TestFitSweep(t *testing.T) {
	flags := []string{"--device-memory", "5GiB", "--sweep", "batch=8..4096"}
	out, runs := fitStandIn(t, &outside{}, exitDone, flags, "--batch", "64")
	s := out.Sweep
	if s == nil || s.Best == nil || *s.Best < 1000 || *s.Best > 4096 || runs > 4 {
		t.Fatalf("%+v after %d runs", s, runs)
	}
	best := slices.IndexFunc(s.Tried, func(p report.SweepPointJSON) bool { return p.Value == *s.Best })
	if !s.Tried[best].Traced || !s.Tried[best].Fits || s.Tried[best].SafeBytes != out.SafeBytes || s.Tried[best].Reserved != out.PeakReservedBytes {
		t.Errorf("the report is not of the largest: %+v, %+v", s.Tried[best], out.SafeBytes)
	}
	if !slices.ContainsFunc(s.Tried, func(p report.SweepPointJSON) bool { return !p.Traced && p.Value == 256 }) {
		t.Errorf("no estimate between: %+v", s.Tried)
	}
	if next := *s.Best + 2; !wouldNotFit(t, flags, next) {
		t.Errorf("%d would have fitted too", next)
	}
	flags[3] = "env:BATCH=8..4096"
	t.Setenv("BATCH", "64")
	again, _ := fitStandIn(t, &outside{}, exitDone, flags)
	if again.Sweep.Best == nil || *again.Sweep.Best != *s.Best {
		t.Errorf("by a variable: %+v", again.Sweep)
	}
}

func wouldNotFit(t *testing.T, flags []string, batch int) bool {
	t.Helper()
	span := fmt.Sprintf("batch=%d..%d", batch, batch)
	out, _ := fitStandIn(t, &outside{}, exitDone, []string{flags[0], flags[1], "--sweep", span}, "--batch", "64")
	return out.Sweep.Best == nil
}

func TestFitSweepWithinABudget(t *testing.T) {
	out, _ := fitStandIn(t, &outside{}, exitDone, []string{"--sweep", "batch=8..4096", "--budget", "reserved=2GiB"}, "--batch", "64")
	if out.Sweep.Best == nil || out.PeakReservedBytes > 2<<30 || out.PeakReservedBytes < 2<<30-(64<<20) || !out.Budgets[0].Kept {
		t.Errorf("%+v reserves %d", out.Sweep, out.PeakReservedBytes)
	}
	none, _ := fitStandIn(t, &outside{}, exitFinding, []string{"--sweep", "batch=8..4096", "--budget", "reserved=100MiB"}, "--batch", "64")
	if none.Sweep.Best != nil {
		t.Errorf("%+v", none.Sweep)
	}
}

func TestFitSweepRefuses(t *testing.T) {
	for _, tt := range []struct {
		sweep, want string
		code        int
	}{
		{"batch", "is not NAME=LOW..HIGH", exitUsage},
		{"batch=8", "is not NAME=LOW..HIGH", exitUsage},
		{"batch=9..8", "is not NAME=LOW..HIGH", exitUsage},
		{"=8..9", "is not NAME=LOW..HIGH", exitUsage},
		{"length=8..9", "has no option \\\"length\\\" with a number", exitUsage},
		{"env:NONE=8..9", "no variable NONE", exitUsage},
		{"batch=8..500", "with batch=500: ", exitFailed},
	} {
		t.Setenv("SMALL", "1")
		var o outside
		fitStandIn(t, &o, tt.code, []string{"--sweep", tt.sweep}, "--batch", "64")
		if !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%s: %s", tt.sweep, &o.stderr)
		}
	}
}

// TestFitRemedies: what the program is traced with again, what follows from a rule, and what
// does not apply, each with its saving.
func TestFitRemedies(t *testing.T) {
	flags := []string{"--remedies", "checkpoint,half:batch,fused,offload,zero1=4,chunked-loss,tp"}
	out, runs := fitStandIn(t, &outside{}, exitDone, flags, "--batch", "512")
	row := map[string]report.FitRemedyJSON{}
	for _, r := range out.Remedies {
		row[r.Name] = r
	}
	if runs != 4 || len(row) != 7 {
		t.Fatalf("%d runs, %d rows", runs, len(row))
	}
	for name, want := range map[string]struct {
		method string
		saves  int64 // of the allocated peak
		text   string
	}{
		"checkpoint": {"traced", 256 << 20, "around 2 blocks"},
		"half:batch": {"traced", 256 << 20, "--batch 256 in place of 512"},
		"offload":    {"formula", 128 << 20, "without 128.00 MiB of state"},
		"zero1=4":    {"formula", 96 << 20, "128.00 MiB of state"},
	} {
		r := row[name]
		if !r.Applies || r.Method != want.method || out.PeakAllocatedBytes-*r.PeakAllocated != want.saves || !strings.Contains(r.Did, want.text) {
			t.Errorf("%s: %+v allocates %d of %d", name, r, *r.PeakAllocated, out.PeakAllocatedBytes)
		}
		if r.SavedBytes != out.PeakReservedBytes-*r.PeakReserved || r.SavedShare != float64(r.SavedBytes)/float64(out.PeakReservedBytes) {
			t.Errorf("%s: saves %d of %d, a share of %v", name, r.SavedBytes, out.PeakReservedBytes, r.SavedShare)
		}
	}
	for name, why := range map[string]string{"fused": "no optimizer that steps", "chunked-loss": "the loss takes next to nothing", "tp": "no attention"} {
		if r := row[name]; r.Applies || !strings.Contains(r.WhyNot, why) || r.PeakReserved != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if !slices.IsSortedFunc(out.Remedies, func(a, b report.FitRemedyJSON) int { return int(b.SavedBytes - a.SavedBytes) }) {
		t.Error("the largest saving does not come first")
	}
}

func TestFitRemediesRefuses(t *testing.T) {
	for _, tt := range []struct{ remedies, want string }{
		{"magic", `no remedy is called "magic"`},
		{"sgd=3", "sgd takes no value"},
		{"lora=x", "lora takes a number of rank"},
		{"lora=0", "lora takes a number of rank"},
		{"checkpoint+offload", "only these can be joined"},
		{"half:", `no remedy is called "half:"`},
	} {
		var o outside
		if code := o.run(t, "fit", "--trace", fitTrace, "--remedies", tt.remedies); code != exitUsage || !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.remedies, code, &o.stderr)
		}
	}
}
