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
		{[]string{"--trace", "testdata"}, exitInput, "testdata: is a folder: expected a file"},
		{[]string{"--gpu", "./testdata", "--trace", fitTrace}, exitInput, "./testdata: is a folder: expected a file"},
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
	begun := meta + `\n{"e":"sig","id":0,"op":"aten.ones.default","in":[],"args":{},"out":[["float32",[9]]]}\n{"e":"op","sig":0,"new":[[0,36,0]]}\n`
	step := `{"e":"step","what":"optimizer","id":0,"n":1}\n`
	wrote := func(text string) string { return `printf '` + text + `' >"$ULLAGE_FIT/trace-1.jsonl"` }
	failed := func(fault string) string {
		return wrote(meta + `\n{"e":"end","reason":"error","error":"OSError","message":"x","where":"x.py:3","fault":"` + fault + `"}\n`)
	}
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
		{"nothing on the GPU", wrote(meta + `\n{"e":"end","reason":"ended"}\n`), exitFailed, `"message":"the program put nothing on the GPU"`},
		{"an error before torch", `echo '{"kind":"program","message":"the program failed at x.py:1","hint":"","fault":"torch"}' >"$ULLAGE_FIT/problem-1.json"`, exitFailed, "this Python has no PyTorch"},
		{"unsupported", failed("unsupported"), exitFailed, "fit cannot do without a GPU"},
		{"extension", failed("extension"), exitFailed, "code that runs on the GPU by itself"},
		{"network", failed("network"), exitFailed, "wants the network"},
		{"file", failed("file"), exitFailed, "needs a file"},
		{"module", failed("module"), exitFailed, "lacks a module"},
		{"input", failed("input"), exitFailed, "reads standard input"},
		{"a fault of a later version", failed("weather"), exitFailed, "the error is the program's own"},
		{"early exit", wrote(begun+`{"e":"end","reason":"ended"}\n`) + "; exit 3", exitFailed, "ended by itself with exit code 3, before its first optimizer step"},
		{"crash while Python is torn down", wrote(begun+`{"e":"end","reason":"ended"}\n`) + "; exit 134", exitDone, ""},
		{"early exit of a child", wrote(begun + `{"e":"end","reason":"ended","status":1}\n`), exitFailed, "ended by itself with exit code 1"},
		{"caught", wrote(begun + `{"e":"end","reason":"ended","caught":"no rule for x"}\n`), exitFailed, "caught an error of the prediction's, and ended without an optimizer step: no rule for x"},
		{"killed at once", wrote(meta+`\n`) + "; exit 139", exitFailed, "was killed by signal 11 (segmentation fault) before its first optimizer step, and put nothing on the GPU"},
		{"killed before a step", wrote(begun) + "; exit 137", exitFailed, `was killed by signal 9 (killed) before its first optimizer step"`},
		{"killed after a step", wrote(begun+step) + "; exit 137", exitDone, ""},
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

// TestFitInPart: a prediction of a program that came to no whole step says so first, in
// text and in JSON.
func TestFitInPart(t *testing.T) {
	const begun = `{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"]}
{"e":"sig","id":0,"op":"aten.ones.default","in":[],"args":{},"out":[["float32",[9]]]}
{"e":"op","sig":0,"new":[[0,36,0]]}
`
	for _, tt := range []struct{ name, rest, want string }{
		{"killed", `{"e":"step","what":"optimizer","id":0,"n":1}`, "the program was killed after 1 step"},
		{"ended", `{"e":"end","reason":"ended"}`, "the program ended without an optimizer step, and without a call of a model without gradients"},
		{"no optimizer", `{"e":"end","reason":"backward"}`, "the program was stopped after many backward passes without a step of an optimizer of torch.optim"},
		{"whole", `{"e":"end","reason":"steps","steps":3}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "job.trace")
			if err := os.WriteFile(file, []byte(begun+tt.rest+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := fitJSON(t, &outside{}, exitDone, "--trace", file).Partial; got != tt.want {
				t.Errorf("JSON: %q, want %q", got, tt.want)
			}
			var kept outside
			code := kept.run(t, "fit", "--trace", file, "--budget", "reserved=1GiB")
			if inPart := strings.Contains(kept.stderr.String(), "in part only, which does not show"); tt.want == "" && (code != exitDone || inPart) || tt.want != "" && (code != exitFailed || !inPart) {
				t.Errorf("within a budget: exit code %d: %s", code, &kept.stderr)
			}
			if code := kept.run(t, "fit", "--trace", file, "--budget", "reserved=1MiB"); code != exitFinding {
				t.Errorf("above a budget: exit code %d: %s", code, &kept.stderr)
			}
			var o outside
			if code := o.run(t, "fit", "--trace", file); code != exitDone {
				t.Fatalf("exit code %d: %s", code, &o.stderr)
			}
			if said := strings.Contains(o.stdout.String(), "What this assumes"); said != (tt.want != "") {
				t.Errorf("what to do: %v", said)
			}
			_, answer, _ := strings.Cut(o.stdout.String(), "\n")
			begins := "Fits on "
			if tt.want != "" {
				begins = "In part only: " + tt.want + ". What it did by then: Fits on "
			}
			if text := strings.Join(strings.Fields(answer), " "); !strings.HasPrefix(text, begins) {
				t.Errorf("text: %.200s", text)
			}
		})
	}
}

// TestFitOfSeveralGPUs: a program that is no rank of a job is predicted on the GPU that
// needs most; the others are named with what they need.
func TestFitOfSeveralGPUs(t *testing.T) {
	const text = `{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"],"devices":2}
{"e":"sig","id":0,"op":"aten.ones.default","in":[],"args":{},"out":[["float32",[1048576]]]}
{"e":"op","sig":0,"new":[[0,4194304,0],[1,4194304,1],[2,33554432,1]]}
{"e":"end","reason":"steps","steps":3}
`
	file := filepath.Join(t.TempDir(), "job.trace")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var o outside
	if code := o.run(t, "fit", "--trace", file); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &o.stderr)
	}
	got := strings.Join(strings.Fields(o.stdout.String()), " ")
	for _, want := range []string{"x.py GPU 1 needs most of the 2 that the program uses. Fits on", "GPU 0 beside it reserves 20.00 MiB (4.00 MiB allocated), is safe with a limit of "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, &o.stdout)
		}
	}
}

// TestFitCardTooSmall: a card that has nothing left for PyTorch holds nothing.
func TestFitCardTooSmall(t *testing.T) {
	if got := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--device-memory", "1"); got.Fits || got.FitsSafely {
		t.Errorf("fits on a card of one byte: %+v", got)
	}
}
