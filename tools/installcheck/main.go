// Command installcheck proves that `go install` gives users the whole program: it packs
// the tree into a module as the module proxy would (leaving out nested modules, refusing
// file names that some system cannot have), installs from that package into an empty
// module cache, and runs the result.
//
//	installcheck ROOT
//
// It needs no network: what ROOT depends on comes from the local module cache.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// version is one that no release has.
const version = "v0.0.0-installcheck"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: installcheck ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "installcheck:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	tmp, err := os.MkdirTemp("", "installcheck")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path, err := publish(root, filepath.Join(tmp, "proxy"))
	if err != nil {
		return err
	}
	bin, err := install(path, tmp)
	if err != nil {
		return err
	}
	out, err := output(exec.Command(bin, "version"))
	if err != nil {
		return err
	}
	if !strings.Contains(out, version) {
		return fmt.Errorf("the installed program says %q; want the version %s, which go install recorded", out, version)
	}
	fmt.Printf("installcheck: %s", out)
	return nil
}

// publish packs the module at root into proxy, a folder laid out as the module proxy
// protocol wants it, and returns the module's path.
func publish(root, proxy string) (path string, err error) {
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	parsed, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return "", err
	}
	path = parsed.Module.Mod.Path
	dir := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	files, err := tracked(root)
	if err != nil {
		return "", err
	}
	if err := zip.Create(f, module.Version{Path: path, Version: version}, files); err != nil {
		return "", fmt.Errorf("packing the module: %w", err)
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Unix(0, 0).UTC().Format(time.RFC3339))
	for name, content := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(info),
		version + ".mod":  gomod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return "", err
		}
	}
	return path, nil
}

// install runs go install with an empty module cache and returns the program's path.
func install(path, tmp string) (string, error) {
	cache, err := output(exec.Command("go", "env", "GOMODCACHE"))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	bin := filepath.Join(tmp, "bin")
	cmd := exec.CommandContext(ctx, "go", "install", path+"/cmd/ullage@"+version)
	cmd.Dir = tmp // outside of every module
	cmd.Env = append(os.Environ(),
		"GOBIN="+bin,
		"GOMODCACHE="+filepath.Join(tmp, "modules"),
		"GOPROXY="+fileURL(filepath.Join(tmp, "proxy"))+","+fileURL(filepath.Join(strings.TrimSpace(cache), "cache", "download")),
		"GONOSUMDB=*",
		"GOFLAGS=-modcacherw", // so that the cache can be removed
		"GOWORK=off",
		"CGO_ENABLED=0",
	)
	if _, err := output(cmd); err != nil {
		return "", err
	}
	return filepath.Join(bin, "ullage"), nil
}

func fileURL(dir string) string {
	return "file://" + strings.TrimSuffix("/"+strings.TrimPrefix(filepath.ToSlash(dir), "/"), "/")
}

// output runs cmd and returns its standard output; the error has its standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return string(out), nil
}
