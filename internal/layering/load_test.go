package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is the part of `go list -json` that is read.
type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	GoFiles    []string
	CgoFiles   []string
}

// load lists the module's packages and all that they need, as goos builds them.
func load(t *testing.T, root, goos string) []Package {
	t.Helper()
	// Without cgo as the releases are built; files that need it show in the second listing
	// only.
	var all []Package
	for _, l := range goList(t, root, goos, "CGO_ENABLED=0") {
		p := Package{Path: l.ImportPath, Standard: l.Standard, Imports: l.Imports}
		if strings.HasPrefix(l.ImportPath, Module+"/") {
			p.Uses = uses(t, l.Dir, l.GoFiles)
		}
		all = append(all, p)
	}
	for _, l := range goList(t, root, goos, "CGO_ENABLED=1") {
		if !strings.HasPrefix(l.ImportPath, Module+"/") {
			continue
		}
		if len(l.CgoFiles) > 0 || slices.ContainsFunc(l.Imports, needsC) {
			all = append(all, Package{Path: l.ImportPath, Imports: l.Imports, Uses: uses(t, l.Dir, append(l.CgoFiles, l.GoFiles...)), Cgo: true})
		}
	}
	return all
}

// needsC tells a dependency that is nothing but an interface to a library of C.
func needsC(imp string) bool { return strings.HasPrefix(imp, "github.com/NVIDIA/go-nvml/") }

func goList(t *testing.T, root, goos, cgo string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Imports,GoFiles,CgoFiles", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", cgo)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, l)
	}
}

// uses returns the names that files select from packages, as "time.Now", and calls of
// the built-in print and println.
func uses(t *testing.T, dir string, files []string) []string {
	t.Helper()
	var all []string
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, usesOf(f)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func usesOf(f *ast.File) []string {
	local := map[string]string{} // name in this file -> name of the package
	for _, imp := range f.Imports {
		base := path.Base(strings.Trim(imp.Path.Value, `"`))
		if imp.Name != nil {
			local[imp.Name.Name] = base
		} else {
			local[base] = base
		}
	}
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && local[x.Name] != "" {
				all = append(all, local[x.Name]+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if x, ok := n.Fun.(*ast.Ident); ok && (x.Name == "print" || x.Name == "println") {
				all = append(all, x.Name)
			}
		}
		return true
	})
	return all
}

// moduleRoot is two folders up: this package is internal/layering.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// sourceFolders walks the tree for folders with Go files that are not tests. Beside its
// use as a cross-check, reading every folder lets the test cache see new packages.
func sourceFolders(t *testing.T, root string) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (hidden(d.Name()) || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			rel, err := filepath.Rel(root, filepath.Dir(name))
			folders = append(folders, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Compact(folders)
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules"
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
