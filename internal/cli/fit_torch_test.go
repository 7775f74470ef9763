package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTorchOfAnEnvironment(t *testing.T) {
	for _, place := range []string{".", "lib/python3.12/site-packages", "lib64/python3.13/site-packages", "Lib/site-packages"} {
		dir := t.TempDir()
		torch := filepath.Join(dir, filepath.FromSlash(place), "torch")
		if err := os.MkdirAll(torch, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := torchIn(dir); got != "" {
			t.Errorf("%s: a folder torch without its version was taken: %s", place, got)
		}
		if err := os.WriteFile(filepath.Join(torch, "version.py"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := torchIn(dir); got != filepath.Dir(torch) {
			t.Errorf("%s: got %q, want %q", place, got, filepath.Dir(torch))
		}
	}
}

func TestWrongTorch(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--torch", "nowhere", "--", "python3", "train.py"}, "--torch: there is no PyTorch in nowhere"},
		{[]string{"--torch", ".", "--trace", fitTrace}, "--torch is for a program to be run"},
		{[]string{"--torch", "", "--", "python3", "train.py"}, "--torch"},
	} {
		o := &outside{}
		if code := o.run(t, append([]string{"fit"}, tt.args...)...); code != exitUsage || !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s", tt.args, code, &o.stderr)
		}
	}
}
