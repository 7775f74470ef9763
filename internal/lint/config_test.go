package lint

import (
	"errors"
	"strings"
	"testing"
)

// TestConfig: each file obeys the nearest configuration above it.
func TestConfig(t *testing.T) {
	tr := newTree(t, map[string]string{
		"pyproject.toml":       "[tool.ullage.lint]\nignore = [\"peak\"]\nexclude = [\"old/\", \"/x_*.py\"]\ntests = [\"checks/\"]\n[tool.ullage.lint.per-file-ignores]\n\"gen_*.py\" = [\"leak\"]\n",
		"a.py":                 "LEAK\nPEAK",
		"x_a.py":               "LEAK",
		"gen_a.py":             "LEAK",
		"old/a.py":             "LEAK",
		"checks/a.py":          "LEAK",
		"tests/a.py":           "LEAK",
		"own/ullage.toml":      "[lint]\nselect = [\"peak\"]\n",
		"own/pyproject.toml":   "[tool.ullage.lint]\nselect = [\"leak\"]\n",
		"own/a.py":             "LEAK\nPEAK",
		"own/sub/x_b.py":       "PEAK",
		"other/pyproject.toml": "[tool.black]\n",
		"other/a.py":           "LEAK\nPEAK",
	})
	r := tr.run(".")
	if got, want := found(r), "a.py:1:1:LEAK other/a.py:1:1:LEAK own/a.py:2:1:PEAK own/sub/x_b.py:1:1:PEAK tests/a.py:1:1:LEAK"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Hidden.Level != 1 {
		t.Errorf("hidden: %+v", r.Hidden)
	}
	if got := found(tr.run("old/a.py", "x_a.py")); got != "old/a.py:1:1:LEAK x_a.py:1:1:LEAK" {
		t.Errorf("files that were named: %s", got)
	}
	tr.opt.Select, tr.opt.Ignore = []string{"leak", "peak"}, []string{"leak"}
	if got := found(tr.run("a.py")); got != "a.py:2:1:PEAK" {
		t.Errorf("flags win: %s", got)
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct{ file, text, want string }{
		{"ullage.toml", "[lint]\nselekt = []\nfail-on = \"bad\"\n", `ullage.toml:2:1: "selekt" is no setting here; expected one of baseline, exclude, fail-on, ignore, per-file-ignores, select, tests; ullage.toml:3:1: "bad" is not error, warning, info or never`},
		{"ullage.toml", "[lint]\n[agent]\n", `ullage.toml:2:2: "agent" is no table of ullage; expected lint`},
		{"ullage.toml", "lint = 1\n", `ullage.toml:1:1: lint: expected a table, found the number 1`},
		{"ullage.toml", "[lint\n", `ullage.toml:1:6: expected ']' to close table name`},
		{"ullage.toml", "[lint]\nselect = [\"leak\", \"lea/k\"]\n", `ullage.toml:2:19: no rule's id begins with "lea/k"; 'ullage rules' lists them`},
		{"ullage.toml", "[lint]\nselect = \"leak\"\nignore = [1]\nbaseline = 3\n", `ullage.toml:2:1: expected a list, as ["…"], found the text "leak"; ullage.toml:3:11: expected a text in quotes, found the number 1; ullage.toml:4:1: expected a text in quotes, found the number 3`},
		{"ullage.toml", "[lint]\nbaseline = \"/a\"\n[lint.per-file-ignores]\n\"a.py\" = 1\n", `ullage.toml:2:1: "/a": expected a path relative to this file; ullage.toml:4:1: expected a list, as ["…"], found the number 1`},
		{"pyproject.toml", "[tool.ullage]\nlimt = {}\n", `pyproject.toml:2:1: "limt" is no table of ullage; expected lint`},
		{"pyproject.toml", "[tool.ullage.lint]\nx = 1\n", `pyproject.toml:2:1: "x" is no setting here`},
		{"pyproject.toml", "[tool]\nullage = 1\n", `pyproject.toml:2:1: ullage: expected a table, found the number 1`},
	}
	for _, tt := range tests {
		tr := newTree(t, map[string]string{tt.file: tt.text, "a.py": "LEAK"})
		tr.opt.Paths = []string{"a.py"}
		_, err := Run(t.Context(), tr.opt)
		var config *ConfigError
		if !errors.As(err, &config) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestChoice(t *testing.T) {
	tests := []struct {
		selected, ignored string
		want              string // of leak/loss-with-graph and peak/autocast-cache
	}{
		{"", "", "leak peak"},
		{"leak", "", "leak"},
		{"", "leak", "peak"},
		{"leak/loss", "leak", "leak"},
		{"leak", "leak", ""},
		{"leak", "leak/loss", ""},
		{"peak,leak", "leak/x", "leak peak"},
	}
	split := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, ",")
	}
	for _, tt := range tests {
		c := choice{split(tt.selected), split(tt.ignored)}
		var got []string
		for _, id := range []string{"leak/loss-with-graph", "peak/autocast-cache"} {
			if c.has(id) {
				got = append(got, id[:4])
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"[lint]\nselect=['leak']\n", "[lint]\nper-file-ignores={'*.py'=['peak']}\nfail-on='never'", "[tool.ullage.lint]\nexclude=['[', '**/', '!a/']", "lint=[1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range configNames {
			c, err := parseConfig("/x/"+form.name, form.name, []byte(text), form.table)
			var config *ConfigError
			if err != nil && (!errors.As(err, &config) || len(config.Faults) == 0) {
				t.Fatalf("%v", err)
			}
			if c == nil {
				continue
			}
			c.exclude.covers("a/b.py")
			c.tests.covers("a/b.py")
			for _, p := range c.perFile {
				p.files.covers("a/b.py")
			}
		}
	})
}
