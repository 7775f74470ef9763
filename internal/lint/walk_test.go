package lint

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWalk(t *testing.T) {
	tr := newTree(t, map[string]string{
		"a.py":                     "LEAK",
		"b.txt":                    "LEAK",
		"script":                   "#!python\nLEAK",
		"other":                    "LEAK",
		"sub/c.py":                 "x\n  LEAK",
		"sub/out/d.py":             "LEAK",
		"sub/keep/e.py":            "LEAK",
		".git/HEAD":                "",
		".git/info/exclude":        "out/\n",
		".gitignore":               "*.gen.py\n/sub/keep/*\n",
		"f.gen.py":                 "LEAK",
		"sub/.gitignore":           "!/keep/e.py\n!*.gen.py\n",
		"sub/g.gen.py":             "LEAK",
		"build/h.py":               "LEAK",
		"node_modules/x/i.py":      "LEAK",
		"my-env/pyvenv.cfg":        "",
		"my-env/lib/j.py":          "LEAK",
		"sub/__pycache__/k.py":     "LEAK",
		"sub/.ipynb_checkpoints/l": "#!python\nLEAK",
	})
	const all = "a.py:1:1:LEAK script:2:1:LEAK sub/c.py:2:3:LEAK sub/g.gen.py:1:1:LEAK sub/keep/e.py:1:1:LEAK"
	for paths, want := range map[string]string{
		".":              all,
		". a.py sub":     all,
		"sub":            "sub/c.py:2:3:LEAK sub/g.gen.py:1:1:LEAK sub/keep/e.py:1:1:LEAK",
		"build":          "build/h.py:1:1:LEAK",
		"f.gen.py":       "f.gen.py:1:1:LEAK",
		"sub/out":        "sub/out/d.py:1:1:LEAK",
		"my-env":         "my-env/lib/j.py:1:1:LEAK",
		"sub/out/d.py -": "sub/out/d.py:1:1:LEAK",
		"./sub/../a.py":  "./sub/../a.py:1:1:LEAK",
	} {
		if got := found(tr.run(strings.Fields(paths)...)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", paths, got, want)
		}
	}
	if got := told(tr.run("b.txt", "missing.py")); got != "unread b.txt is neither Python, nor a notebook, nor a script or configuration of a kind that lint knows; unread missing.py no such file or directory" && runtime.GOOS != "windows" {
		t.Errorf("told: %s", got)
	}
}

// TestWalkLinks: a link that leads back is no loop, one that was named is a file.
func TestWalkLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links takes a privilege there")
	}
	tr := newTree(t, map[string]string{"a/x.py": "LEAK", "a/back": "->..", "a/y.py": "->x.py", "a/z.py": "->nowhere", "a/n.txt": "->x.py"})
	r := tr.run(".")
	if got, want := found(r), "a/x.py:1:1:LEAK"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := told(r), "passed a/back a link, which is not followed; passed a/y.py a link, which is not followed; passed a/z.py a link that leads nowhere"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := found(tr.run("a/y.py")), "a/y.py:1:1:LEAK"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnread: what cannot be read is told, and the rest is checked.
func TestUnread(t *testing.T) {
	tr := newTree(t, map[string]string{
		"a.py": "LEAK", "bad.py": "x = '\xff'\n", "large.py": strings.Repeat("#", 10_001), "refused.py": "REFUSED", "zero.py": "a\x00",
		"nb.ipynb": "{", "data.json": "\x00", "large.json": strings.Repeat("1", 10_001), "broken.py": "LEAK\nBROKEN",
	})
	r := tr.run(".")
	if got, want := found(r), "a.py:1:1:LEAK broken.py:1:1:LEAK"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := strings.Join([]string{
		"unread bad.py byte 0xff is not UTF-8, and no other encoding is declared",
		"broken broken.py from here, something cannot be read: what is wrong there is not told",
		"passed data.json has a zero byte; Python sources are text",
		"passed large.json has more than 10000 bytes, which is the most that is read",
		"unread large.py has more than 10000 bytes, which is the most that is read",
		"unread nb.ipynb is not a notebook: unexpected end of JSON input",
		"unread refused.py is refused",
		"unread zero.py has a zero byte; Python sources are text",
	}, "; ")
	if got := told(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Files != 2 {
		t.Errorf("%d files were checked", r.Files)
	}
	if got := told(tr.run("data.json")); !strings.HasPrefix(got, "unread data.json") {
		t.Errorf("a file of data that was named: %s", got)
	}
}

func TestStdin(t *testing.T) {
	tr := newTree(t, map[string]string{"pyproject.toml": "[tool.ullage.lint]\nignore = ['peak']\n"})
	tr.opt.Stdin = []byte("LEAK\nPEAK")
	if got := found(tr.run("-")); got != "-:1:1:LEAK" {
		t.Errorf("got %s", got)
	}
	tr.opt.StdinName = filepath.Join("sub", "test_x.py")
	r := tr.run("-")
	if got := found(r); got != "" || r.Hidden.Level != 1 {
		t.Errorf("a test: %s, %+v", got, r.Hidden)
	}
}

// TestCancelled: nothing is told of a run that was ended.
func TestCancelled(t *testing.T) {
	tr := newTree(t, map[string]string{"a.py": "LEAK"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr.opt.Paths = []string{"a.py"}
	if r, err := Run(ctx, tr.opt); r != nil || err != context.Canceled {
		t.Errorf("%v, %v", r, err)
	}
}

// TestProject: the same project from wherever it is looked at.
func TestProject(t *testing.T) {
	tr := newTree(t, map[string]string{"repo/.git/HEAD": "", "repo/sub/a.py": "", "plain/a.py": ""})
	for paths, want := range map[string]string{
		"repo": "repo", "repo/sub/a.py plain": "repo", "- repo/sub": "repo", "plain/a.py": "plain", "plain": "plain", "-": ".",
	} {
		opt := tr.opt
		opt.Paths = strings.Fields(paths)
		if got := opt.Project(); got != filepath.Join(tr.dir, want) {
			t.Errorf("%s: %s", paths, got)
		}
	}
}
