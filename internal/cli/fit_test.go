package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/report"
)

const (
	fitTrace  = "../../testdata/fit/vgg16-b500-momentum.jsonl.gz"
	fitPeak   = 11307843584 // what an H200 reserved for this job
	fitPeakIn = 7111857152  // and had allocated
)

// fitJSON runs fit with --json and returns what it printed.
func fitJSON(t *testing.T, o *outside, want int, args ...string) (out report.FitJSON) {
	t.Helper()
	if code := o.run(t, append([]string{"fit", "--json"}, args...)...); code != want {
		t.Fatalf("exit code %d, want %d: %s", code, want, &o.stderr)
	}
	if o.stdout.Len() > 0 {
		if err := json.Unmarshal(o.stdout.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestFitPredictsWhatWasMeasured(t *testing.T) {
	out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace)
	if out.PeakReservedBytes != fitPeak || out.PeakAllocatedBytes != fitPeakIn {
		t.Errorf("reserved %d, want %d; allocated %d, want %d", out.PeakReservedBytes, fitPeak, out.PeakAllocatedBytes, fitPeakIn)
	}
	if out.SafeBytes < fitPeak || out.SafeBytes > fitPeak*104/100 || out.ProcessBytes != out.PeakReservedBytes+out.ContextBytes || !out.Fits || out.Steps != 3 {
		t.Errorf("%+v", out)
	}
	if len(out.Cards) < 20 || len(out.Memory.Categories) == 0 || out.Memory.AllocatedBytes != fitPeakIn {
		t.Errorf("%d cards, %d of %v", len(out.Cards), out.Memory.AllocatedBytes, out.Memory.Categories)
	}
}

func TestFitOnOtherCards(t *testing.T) {
	if out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--gpu", "t4"); out.GPU != "t4" || !out.Fits {
		t.Errorf("t4: %+v", out.Fits)
	}
	out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--device-memory", "6GiB")
	if out.Fits || out.FailedRequestBytes == nil {
		t.Errorf("in 6 GiB: fits %v", out.Fits)
	}
	card := filepath.Join(t.TempDir(), "card.json")
	text := `{"name":"mine","device":"Mine","total_bytes":20000000000,"major":8,"minor":0,"multiprocessors":50,"context":{"base_bytes":400000000}}`
	if err := os.WriteFile(card, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--gpu", card); out.GPU != "mine" || out.ContextBytes != 400000000 {
		t.Errorf("card of a file: %s with a context of %d", out.GPU, out.ContextBytes)
	}
}

func TestFitSettings(t *testing.T) {
	usual := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace)
	out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--alloc-conf", "expandable_segments:True")
	if out.PeakReservedBytes >= usual.PeakReservedBytes {
		t.Errorf("expandable segments reserve %d, the defaults %d", out.PeakReservedBytes, usual.PeakReservedBytes)
	}
	out = fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--limit", "5GiB")
	if out.Fits || out.LimitBytes == nil || *out.LimitBytes != 5<<30 {
		t.Errorf("under 5 GiB: fits %v", out.Fits)
	}
}

func TestFitBudgets(t *testing.T) {
	out := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--budget", "process=20GiB,reserved=12GiB")
	if len(out.Budgets) != 2 || !out.Budgets[0].Kept || !out.Budgets[1].Kept {
		t.Errorf("%+v", out.Budgets)
	}
	var o outside
	fitJSON(t, &o, exitFinding, "--trace", fitTrace, "--budget", "allocated=1GiB")
	if !strings.Contains(o.stderr.String(), "is over the budget of 1.00 GiB") {
		t.Error(&o.stderr)
	}
}

func TestFitRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.trace")
	if err := os.WriteFile(bad, []byte("not a trace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "a command to run is missing"},
		{[]string{"--trace", fitTrace, "--", "python"}, exitUsage, "runs nothing"},
		{[]string{"--gpu", "h2000", "--trace", fitTrace}, exitUsage, `"h2000"`},
		{[]string{"--gpu", "./none.json", "--trace", fitTrace}, exitInput, "none.json"},
		{[]string{"--steps", "0", "--trace", fitTrace}, exitUsage, "--steps"},
		{[]string{"--device-memory", "much", "--trace", fitTrace}, exitUsage, "--device-memory"},
		{[]string{"--limit", "0", "--trace", fitTrace}, exitUsage, "--limit"},
		{[]string{"--budget", "requested=1GiB", "--trace", fitTrace}, exitUsage, "--budget"},
		{[]string{"--budget", "reserved=x", "--trace", fitTrace}, exitUsage, "--budget"},
		{[]string{"--alloc-conf", "nonsense", "--trace", fitTrace}, exitUsage, "--alloc-conf"},
		{[]string{"--trace", bad}, exitInput, "is no trace of ullage fit"},
		{[]string{"--trace", "none.trace"}, exitInput, "none.trace"},
		{[]string{"--", "python", "-I", "x.py"}, exitFailed, "-I"},
		{[]string{"--", "./no-such-program"}, 127, "no-such-program"},
	} {
		var o outside
		if code := o.run(t, append([]string{"fit"}, tt.args...)...); code != tt.code || !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%v: exit code %d, want %d; %s", tt.args, code, tt.code, &o.stderr)
		}
	}
}

// TestFitRuns: programs that stand in for Python and for what the companion in it writes.
func TestFitRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	trace, err := filepath.Abs(fitTrace)
	if err != nil {
		t.Fatal(err)
	}
	meta := `{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"]}`
	for _, tt := range []struct {
		name, script string
		code         int
		want         string
	}{
		{"traced", `echo out; gunzip -c <` + trace + ` >"$ULLAGE_FIT/trace-1.jsonl"`, exitDone, "out"},
		{"no Python", `exit 3`, exitFailed, "no Python 3.9 or newer started; it ended with exit code 3"},
		{"no torch", `touch "$ULLAGE_FIT/reported"`, exitFailed, "never imported torch"},
		{"no CUDA", `touch "$ULLAGE_FIT/reported" "$ULLAGE_FIT/torch"`, exitFailed, "used no CUDA"},
		{"old torch", `echo '{"kind":"torch","message":"torch 1.13 is too old","hint":"install another"}' >"$ULLAGE_FIT/problem-1.json"`, exitFailed, "torch 1.13 is too old"},
		{"program's error", `printf '` + meta + `\n{"e":"end","reason":"error","error":"ValueError","message":"no such file","where":"x.py:3","fault":"program"}\n' >"$ULLAGE_FIT/trace-1.jsonl"`, exitFailed, "the program failed at x.py:3: ValueError: no such file"},
		{"nothing on the GPU", `printf '` + meta + `\n{"e":"end","reason":"ended"}\n' >"$ULLAGE_FIT/trace-1.jsonl"`, exitInput, "put nothing on the GPU"},
		{"broken trace", `printf '` + meta + `\n{"e":"free","id":7}\n{"e":"end"}\n' >"$ULLAGE_FIT/trace-1.jsonl"`, exitInput, "does not live"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := outside{env: map[string]string{"XDG_CACHE_HOME": t.TempDir()}}
			code := o.run(t, "fit", "--json", "--", "sh", "-c", tt.script)
			if code != tt.code || !strings.Contains(o.stderr.String(), tt.want) {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, &o.stderr)
			}
			if left, _ := filepath.Glob(filepath.Join(o.env["XDG_CACHE_HOME"], "ullage", "live", "*", "run-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFitKeepsTheTrace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	trace, err := filepath.Abs(fitTrace)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "job.trace")
	o := outside{env: map[string]string{"XDG_CACHE_HOME": t.TempDir()}}
	fitJSON(t, &o, exitDone, "--out", out, "--", "sh", "-c", `gunzip -c <`+trace+` >"$ULLAGE_FIT/trace-1.jsonl"`)
	if again := fitJSON(t, &outside{}, exitDone, "--trace", out); again.PeakReservedBytes != fitPeak {
		t.Errorf("from the kept trace: %d", again.PeakReservedBytes)
	}
}

// TestFitWritesARecording: which explain and tune read like any other.
func TestFitWritesARecording(t *testing.T) {
	for _, name := range []string{"job.json", "job.json.gz"} {
		file := filepath.Join(t.TempDir(), name)
		fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--recording", file)
		var o outside
		if code := o.run(t, "explain", "--json", file); code != exitDone {
			t.Fatalf("explain: exit code %d: %s", code, &o.stderr)
		}
		var out struct {
			Devices []struct{ Peak report.PeakJSON }
		}
		if err := json.Unmarshal(o.stdout.Bytes(), &out); err != nil || len(out.Devices) != 1 {
			t.Fatalf("%d devices, %v", len(out.Devices), err)
		}
		if peak := out.Devices[0].Peak.ReservedBytes; peak != fitPeak {
			t.Errorf("%s: explained with a peak of %d, predicted %d", name, peak, int64(fitPeak))
		}
	}
}
