package cli

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ullage-dev/ullage/internal/child"
)

// torchPlaces are where an environment keeps its packages: a folder of packages itself, and
// those of venv and conda, on Unix and on Windows.
var torchPlaces = []string{".", "lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages"}

// parseTorch has the program find the PyTorch that --torch names before its Python's own.
func (r *fitter) parseTorch() error {
	if r.f.torch == "" {
		return nil
	}
	if len(r.args) == 0 {
		return usageErrorf("--torch is for a program to be run: a trace needs no PyTorch")
	}
	packages := torchIn(r.f.torch)
	if packages == "" {
		return withHint(usageErrorf("--torch: there is no PyTorch in %s", r.f.torch), "name an environment (.venv) or its site-packages, for the same version of Python as the program's; a build for the CPU will do")
	}
	r.environ = child.FindFirst(r.environ, packages)
	return nil
}

// torchIn returns the folder of packages in dir that has PyTorch, or "".
func torchIn(dir string) string {
	for _, place := range torchPlaces {
		found, _ := fs.Glob(os.DirFS(dir), path.Join(place, "torch/version.py")) // the pattern is sound
		if len(found) == 0 {
			continue
		}
		if whole, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(path.Dir(path.Dir(found[0]))))); err == nil {
			return whole
		}
	}
	return ""
}
