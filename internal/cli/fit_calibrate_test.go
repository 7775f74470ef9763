package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/fit"
)

const (
	calibrationRaw  = "../../testdata/calibration/h200.jsonl.gz"
	calibrationCard = "../../testdata/calibration/h200.json"
)

// standInPython returns the arguments after -- for a shell script in the place of Python,
// which does what the companion in it does.
func standInPython(t *testing.T, script string) []string {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	return []string{"--", "sh", "-c", script}
}

// calibrateWith runs fit --calibrate with a stand-in for Python.
func calibrateWith(t *testing.T, o *outside, script string, args ...string) int {
	o.env = map[string]string{"XDG_CACHE_HOME": t.TempDir()}
	code := o.run(t, append(append([]string{"fit", "--calibrate"}, args...), standInPython(t, script)...)...)
	if left, _ := filepath.Glob(filepath.Join(o.env["XDG_CACHE_HOME"], "ullage", "live", "*", "run-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return code
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestCalibrate: what was measured on an H200 becomes the card of the golden file, which
// predicts what the H200 that ships does.
func TestCalibrate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "mine.json")
	copied := `gunzip -c <` + absolute(t, calibrationRaw) + ` >"$ULLAGE_CALIBRATE/measured.jsonl"; grep -q '"index":3,"seconds":48,"convolutions":\[\["bf16",0,64,' "$ULLAGE_CALIBRATE/config.json" || echo wrong config`
	var o outside
	if code := calibrateWith(t, &o, copied, "--gpu-index", "3", "--out", out); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &o.stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, calibrationCard, data)
	golden(t, "../../testdata/calibration/h200.txt", []byte(strings.ReplaceAll(o.stdout.String(), out, "mine.json")))
	if strings.Contains(o.stderr.String(), "wrong config") {
		t.Error(&o.stderr)
	}
	measuredNCCLIsUsual(t, data)
	var printed outside
	if code := calibrateWith(t, &printed, copied, "--gpu-index", "3"); code != exitDone || printed.stdout.String() != string(data) {
		t.Errorf("without --out: exit code %d, %d bytes printed, want the file's %d", code, printed.stdout.Len(), len(data))
	}
	usual, own := fitJSON(t, &outside{}, exitDone, "--trace", fitTrace), fitJSON(t, &outside{}, exitDone, "--trace", fitTrace, "--gpu", out)
	if own.PeakReservedBytes != usual.PeakReservedBytes || own.GPU != "h200" {
		t.Errorf("reserved %d on the calibrated card %s, %d on the one that ships", own.PeakReservedBytes, own.GPU, usual.PeakReservedBytes)
	}
}

// measuredNCCLIsUsual: between two GPUs each of NCCL's parts was measured, and is what longer
// measurements gave for the card that ships, within two of the driver's pages.
func measuredNCCLIsUsual(t *testing.T, data []byte) {
	t.Helper()
	card, err := fit.ParseProfile(data, "mine.json")
	if err != nil {
		t.Fatal(err)
	}
	usual, err := fit.FindProfile("h200")
	if err != nil {
		t.Fatal(err)
	}
	got, want := card.Context.NCCL, usual.Context.NCCL
	for _, part := range []struct {
		name      string
		got, want int64
	}{
		{"library", got.LibraryBytes, want.LibraryBytes},
		{"communicator", got.CommunicatorBytes, want.CommunicatorBytes},
		{"rings", got.RingsBytes, want.RingsBytes},
		{"messages", got.MessagesBytes, want.MessagesBytes},
		{"send", got.SendBytes, want.SendBytes},
		{"receive", got.ReceiveBytes, want.ReceiveBytes},
	} {
		if off := part.got - part.want; max(off, -off) > 4<<20 {
			t.Errorf("NCCL, %s: measured %d, usually %d", part.name, part.got, part.want)
		}
	}
	if got == want {
		t.Error("NCCL: not measured, but as of the card that ships")
	}
}

func TestCalibrateFails(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		code         int
		want         string
	}{
		{"no GPU", `echo '{"kind":"gpu","message":"there is no NVIDIA driver on this machine","hint":"copy the file"}' >"$ULLAGE_CALIBRATE/problem-1.json"; exit 1`, exitFailed, "there is no NVIDIA driver on this machine\nhint: copy"},
		{"no Python", `exit 7`, exitFailed, "nothing was measured: sh ended with exit code 7"},
		{"broke off", `echo '{"e":"card","version":1,"name":"x","total_bytes":1}' >"$ULLAGE_CALIBRATE/measured.jsonl"`, exitFailed, "break off"},
		{"no measurements", `echo 'Segmentation fault' >"$ULLAGE_CALIBRATE/measured.jsonl"`, exitFailed, "measured.jsonl:1: expected a JSON object"},
		{"newer", `echo '{"e":"card","version":9}' >"$ULLAGE_CALIBRATE/measured.jsonl"`, exitFailed, "version 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o outside
			if code := calibrateWith(t, &o, tt.script); code != tt.code || !strings.Contains(o.stderr.String(), tt.want) || o.stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d: %s%s", code, tt.code, &o.stdout, &o.stderr)
			}
		})
	}
}

func TestCalibrateRefuses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--calibrate", "--gpu", "h200"}, exitUsage, "--gpu does not go with it"},
		{[]string{"--calibrate", "--trace", fitTrace}, exitUsage, "--trace does not go with it"},
		{[]string{"--calibrate", "--markdown"}, exitUsage, "--markdown does not go with it"},
		{[]string{"--calibrate", "--gpu-index", "-1"}, exitUsage, "--gpu-index"},
		{[]string{"--gpu-index", "1", "--trace", fitTrace}, exitUsage, "--gpu-index"},
		{[]string{"--calibrate", "--", "python", "-I"}, exitUsage, "-I"},
		{[]string{"--calibrate", "--", "./no-such-python"}, 127, "no-such-python"},
	} {
		o := outside{env: map[string]string{"XDG_CACHE_HOME": t.TempDir()}}
		if code := o.run(t, append([]string{"fit"}, tt.args...)...); code != tt.code || !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%v: exit code %d, want %d; %s", tt.args, code, tt.code, &o.stderr)
		}
	}
}

// TestFitWarnsOfOtherReleases: a card that was calibrated with another cuDNN says so, in the report
// and beside it.
func TestFitWarnsOfOtherReleases(t *testing.T) {
	data, err := os.ReadFile(calibrationCard)
	if err != nil {
		t.Fatal(err)
	}
	var card fit.Profile
	if err := json.Unmarshal(data, &card); err != nil {
		t.Fatal(err)
	}
	card.Calibration.CuDNN, card.Calibration.Torch = 92100, "2.12.0"
	other := filepath.Join(t.TempDir(), "other.json")
	if data, err = json.Marshal(card); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var o outside
	out := fitJSON(t, &o, exitDone, "--trace", fitTrace, "--gpu", other)
	const want = "other.json was calibrated with torch 2.12.0, the program has 2.11.0"
	if !strings.Contains(o.stderr.String(), "warning: ") || !strings.Contains(o.stderr.String(), want) {
		t.Error(&o.stderr)
	}
	if !strings.Contains(strings.Join(out.Notes, "\n"), want) {
		t.Errorf("%q", out.Notes)
	}
	var same outside
	if fitJSON(t, &same, exitDone, "--trace", fitTrace, "--gpu", calibrationCard); same.stderr.Len() > 0 {
		t.Error(&same.stderr)
	}
}

// TestFitRefusesABrokenCard: with the file, the line, and what was expected.
func TestFitRefusesABrokenCard(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	for text, want := range map[string]string{
		"{\n\"name\": 3}": "bad.json:2: name: expected a string, not number",
		"":                "bad.json:1: is empty",
		`{"name":"x","total_bytes":1000,"major":8}`: "bad.json: multiprocessors: 0",
	} {
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var o outside
		if code := o.run(t, "fit", "--trace", fitTrace, "--gpu", bad); code != exitInput || !strings.Contains(o.stderr.String(), want) || !strings.Contains(o.stderr.String(), "hint:") {
			t.Errorf("exit code %d: %s", code, &o.stderr)
		}
	}
}
