package places

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ullage-dev/ullage/internal/rules"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       Kind
	}{
		{"train.sh", "", Shell},
		{"job.slurm", "", Shell},
		{"run", "#!/usr/bin/env bash\n", Shell},
		{"run", "#!/bin/sh -e\n", Shell},
		{"run", "#!/usr/bin/env python\n", 0},
		{"run", "", 0},
		{"Dockerfile", "", Dockerfile},
		{"docker/Dockerfile.gpu", "", Dockerfile},
		{"gpu.dockerfile", "", Dockerfile},
		{`docker\Containerfile`, "", Dockerfile},
		{".env", "", Dotenv},
		{".env.local", "", Dotenv},
		{"gpu.env", "", Dotenv},
		{"values.yaml", "", YAML},
		{"compose.YML", "", YAML},
		{"pyproject.toml", "", TOML},
		{"launch.json", "", JSON},
		{"webui-user.bat", "", Batch},
		{"run.ps1", "", PowerShell},
		{"train.py", "", 0},
		{"README.md", "", 0},
	} {
		if got, ok := KindOf(c.name, []byte(c.head)); got != c.want || ok != (c.want != 0) {
			t.Errorf("KindOf(%q, %q) = %v, %v, want %v", c.name, c.head, got, ok, c.want)
		}
	}
}

// TestPlaces: a fault within a value is put on the bytes that it is about, in every form
// that leaves a value's bytes alone.
func TestPlaces(t *testing.T) {
	const option = "max_split_size:128"
	for name, text := range map[string]string{
		"a.sh":       "export PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True,%s'",
		"b.sh":       "PYTORCH_CUDA_ALLOC_CONF=%s python a.py",
		"c.sh":       "env \"PYTORCH_CUDA_ALLOC_CONF=%s\" python a.py",
		"Dockerfile": "FROM a\nENV A=b PYTORCH_CUDA_ALLOC_CONF=%s",
		"a.yaml":     "é: é\nenv: {PYTORCH_CUDA_ALLOC_CONF: '%s'}",
		"b.yaml":     "environment:\n  - PYTORCH_CUDA_ALLOC_CONF=%s",
		"a.toml":     "[env]\nPYTORCH_CUDA_ALLOC_CONF = \"%s\"",
		"a.json":     "{\"env\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"%s\"}}",
		"a.env":      "PYTORCH_CUDA_ALLOC_CONF=%s",
		"a.bat":      "@echo off\r\nset PYTORCH_CUDA_ALLOC_CONF=%s\r\n",
		"a.ps1":      "$env:PYTORCH_CUDA_ALLOC_CONF = \"%s\"",
	} {
		text = strings.ReplaceAll(text, "%s", option)
		kind, _ := KindOf(name, nil)
		all := Check(kind, name, []byte(text))
		if len(all) != 1 || all[0].Rule != "conf/unknown-option" {
			t.Errorf("%s: %+v", name, all)
			continue
		}
		if got := text[all[0].Start:all[0].End]; got != option {
			t.Errorf("%s: the fault is put on %q", name, got)
		}
	}
}

// TestConf: what is said of a string for itself, as Python's sources ask.
func TestConf(t *testing.T) {
	for _, c := range []struct{ conf, want string }{
		{"", ""},
		{"expandable_segments:True", ""},
		{"max_split_size_mb:128", ""},
		{"max_split_size_mb:128MB", ""}, // what follows the digits is not read
		{"max_split_size_mb:20", "error: PyTorch"},
		{"expandable_segment:True", "error: expandable_segment is no option of PyTorch's allocator; expandable_segments is"},
		{"expandable_segments=True", "error: expandable_segments=True has to be written expandable_segments:True"},
		{"'expandable_segments:True'", "error: the quotes are part of the value 'expandable_segments:True', and PyTorch refuses it"},
		{"garbage_collection_threshold:80", "error: PyTorch refuses garbage_collection_threshold:80"},
		{"max_split_size_mb:{size}", ""},
		{strings.Repeat("a", 5000), ""},
	} {
		got := ""
		if all := Conf(c.conf); len(all) > 0 {
			got = all[0].Severity.String() + ": " + all[0].Message
		}
		if c.want == "error: PyTorch" { // up to 2.8 it has to be above 20
			if !strings.Contains(got, "max_split_size_mb:20") {
				t.Errorf("%q: %s", c.conf, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.conf, got, c.want)
		}
	}
}

// FuzzCheck: no file of any kind makes it fail, and every mistake is in the file and of a
// rule that there is.
func FuzzCheck(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			kind, _ := KindOf(file.Name, file.Data)
			f.Add(uint8(kind), file.Data)
		}
	}
	f.Add(uint8(YAML), []byte("CUDA: &a [*a]\nb: {<<: *a}"))
	f.Add(uint8(Dockerfile), []byte("# escape=`\nRUN cuda `\n#\n\nENV \\\n"))
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		for _, m := range Check(Kind(kind%uint8(JSON)+1), "name", text) {
			if m.Start < 0 || m.End > len(text) || m.Start > m.End {
				t.Errorf("%s at %d to %d of %d bytes", m.Rule, m.Start, m.End, len(text))
			}
			if _, err := rules.Get(m.Rule); err != nil {
				t.Error(err)
			}
		}
	})
}

// BenchmarkCheck: scripts of the usual kind. Budget: 3 MB/s.
func BenchmarkCheck(b *testing.B) {
	text := []byte(strings.Repeat("export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc_per_node=2 train.py --lr 0.1 \\\n    --epochs 3\nif [ -n \"$A\" ]; then echo \"$B\"; fi\n", 500))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Check(Shell, "run.sh", text)
	}
}
