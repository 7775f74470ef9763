package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func env(pairs ...string) Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestColor(t *testing.T) {
	tty := Terminal{IsTerminal: true, ANSI: true, UTF8: true}
	pipe := Terminal{UTF8: true}
	tests := []struct {
		name string
		on   Terminal
		mode ColorMode
		env  Lookup
		want bool
	}{
		{"terminal", tty, ColorAuto, env(), true},
		{"pipe", pipe, ColorAuto, env(), false},
		{"console without escape sequences", Terminal{IsTerminal: true}, ColorAuto, env(), false},
		{"always beats all", pipe, ColorAlways, env("NO_COLOR", "1", "TERM", "dumb"), true},
		{"never beats all", tty, ColorNever, env("FORCE_COLOR", "1"), false},
		{"NO_COLOR, any value", tty, ColorAuto, env("NO_COLOR", "0"), false},
		{"NO_COLOR empty", tty, ColorAuto, env("NO_COLOR", ""), true},
		{"NO_COLOR beats force", pipe, ColorAuto, env("NO_COLOR", "x", "CLICOLOR_FORCE", "1"), false},
		{"CLICOLOR_FORCE", pipe, ColorAuto, env("CLICOLOR_FORCE", "1"), true},
		{"CLICOLOR_FORCE=0", pipe, ColorAuto, env("CLICOLOR_FORCE", "0"), false},
		{"FORCE_COLOR beats dumb", tty, ColorAuto, env("FORCE_COLOR", "true", "TERM", "dumb"), true},
		{"dumb", tty, ColorAuto, env("TERM", "dumb"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewLook(tt.on, tt.mode, tt.env).Color; got != tt.want {
				t.Errorf("Color = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLook(t *testing.T) {
	tests := []struct {
		name string
		on   Terminal
		env  Lookup
		want Look
	}{
		{"pipe", Terminal{UTF8: true}, env(), Look{Unicode: true}},
		{"terminal", Terminal{IsTerminal: true, Width: 120, UTF8: true}, env(), Look{Terminal: true, Width: 120, Unicode: true}},
		{"terminal of unknown width", Terminal{IsTerminal: true, UTF8: true}, env(), Look{Terminal: true, Width: 80, Unicode: true}},
		{"pipe on Windows", Terminal{}, env(), Look{}},
		{"C locale", Terminal{UTF8: true}, env("LC_ALL", "C", "LANG", "en_GB.UTF-8"), Look{}},
		{"C.UTF-8", Terminal{UTF8: true}, env("LANG", "C.UTF-8"), Look{Unicode: true}},
		{"LC_CTYPE before LANG", Terminal{UTF8: true}, env("LC_CTYPE", "de_DE.ISO-8859-1@euro", "LANG", "de_DE.UTF-8"), Look{}},
		{"an empty variable is unset", Terminal{UTF8: true}, env("LC_ALL", "", "LANG", "POSIX"), Look{}},
		{"bare language", Terminal{UTF8: true}, env("LANG", "de_DE"), Look{Unicode: true}},
		{"utf8 with a modifier", Terminal{UTF8: true}, env("LANG", "de_DE.utf8@euro"), Look{Unicode: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewLook(tt.on, ColorAuto, tt.env); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestProbe: a buffer and a file are no terminals.
func TestProbe(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, stream := range []any{&bytes.Buffer{}, f, nil} {
		if got := Probe(stream); got.IsTerminal || got.Width != 0 {
			t.Errorf("Probe(%T) = %+v", stream, got)
		}
	}
}

func TestPaint(t *testing.T) {
	if got := (Look{}).Paint(Red, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	if got := (Look{Color: true}).Paint(Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
	if got := (Look{Color: true}).Paint(Red, ""); got != "" {
		t.Errorf("nothing to paint: %q", got)
	}
}

func TestColorMode(t *testing.T) {
	for _, s := range []string{"auto", "always", "never"} {
		var m ColorMode
		if err := m.Set(s); err != nil || m.String() != s {
			t.Errorf("Set(%q): %v, %v", s, m, err)
		}
	}
	var m ColorMode
	if err := m.Set("yes"); err == nil {
		t.Error("Set(yes) is no error")
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "模型": 4, "ﾓﾃﾙ": 3, "👩‍👩‍👧": 2, "…": 1, "█▏": 2, "├─": 2, "µs": 2,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"train.py:12":      "train.py:12",
		"模型.py":            "模型.py",
		"\x1b[2Jgone":      `\x1b[2Jgone`,
		"a\nb":             "a; b",
		"bell\a tab\t":     `bell\x07 tab\x09`,
		"c1 \u009b31m":     `c1 \x9b31m`,
		"bad \xff\xfe":     `bad \xff\xfe`,
		"kept \uFFFD":      "kept \uFFFD",
		"gpj.\u202eyp.exe": `gpj.\u202eyp.exe`,
		"e\u0301":          "e\u0301",
	} {
		if got := Clean(s); got != want {
			t.Errorf("Clean(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "\x1b[0m", "\xff", "\u202e", "模\n型", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Clean(%q) = %q is no UTF-8", s, got)
		}
		if i := strings.IndexFunc(got, isHarmful); i >= 0 {
			t.Fatalf("Clean(%q) = %q keeps what is at %d", s, got, i)
		}
		if Clean(got) != got {
			t.Fatalf("Clean(%q) = %q is not clean", s, got)
		}
	})
}

func TestCut(t *testing.T) {
	u, a := Look{Unicode: true}, Look{}
	tests := []struct{ got, want string }{
		{u.CutEnd("abcdef", 6), "abcdef"},
		{u.CutEnd("abcdef", 4), "abc…"},
		{a.CutEnd("abcdef", 4), "a..."},
		{u.CutEnd("模型模型", 6), "模型…"}, // a half of a wide character is not shown
		{u.CutEnd("abc", 1), "…"},
		{u.CutEnd("abc", 0), ""},
		{a.CutEnd("abcdef", 2), ""},
		{u.CutStart("/a/long/path.py", 8), "…path.py"},
		{a.CutStart("/a/long/path.py", 10), "...path.py"},
		{u.CutStart("模型ab", 4), "…ab"},
		{u.CutStart("abc", 3), "abc"},
		{u.CutStart("abc", 0), ""},
	}
	for i, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%d: got %q, want %q", i, tt.got, tt.want)
		}
	}
}

// TestCutFits: what is cut takes no more columns than it may, and keeps an end of the text.
func TestCutFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(rapid.StringOf(rapid.SampledFrom([]rune("ab模é\u0301👧…"))).Draw(t, "s"))
		l := Look{Unicode: rapid.Bool().Draw(t, "unicode")}
		width := rapid.IntRange(0, 20).Draw(t, "width")
		for _, got := range []string{l.CutEnd(s, width), l.CutStart(s, width)} {
			if Width(got) > width {
				t.Fatalf("%q cut to %d is %q", s, width, got)
			}
		}
		if got := l.CutEnd(s, width); !strings.HasPrefix(s, strings.TrimSuffix(got, l.ellipsis())) {
			t.Fatalf("%q cut at the end is %q", s, got)
		}
		if got := l.CutStart(s, width); !strings.HasSuffix(s, strings.TrimPrefix(got, l.ellipsis())) {
			t.Fatalf("%q cut at the start is %q", s, got)
		}
	})
}
