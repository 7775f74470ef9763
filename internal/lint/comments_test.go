package lint

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// TestComments: what is hidden, and what is told of comments.
func TestComments(t *testing.T) {
	tests := []struct{ name, text, found, told string }{
		{"on the line", "LEAK  # ullage: ignore[leak/loss-with-graph] reset below\nLEAK", "a.py:2:1:LEAK", ""},
		{"family", "LEAK  # ullage: ignore[leak] why", "", ""},
		{"several", "LEAK PEAK  # ullage: ignore[leak, peak/autocast-cache] why", "", ""},
		{"other rule", "LEAK  # ullage: ignore[peak] why", "a.py:1:1:LEAK", "stale a.py ignore[peak] hides nothing here"},
		{"above", "# ullage: ignore[leak] why\n\n# more of why\nLEAK\nLEAK", "a.py:5:1:LEAK", ""},
		{"whole file", "LEAK\n# ullage: ignore-file[leak] why\nLEAK PEAK", "a.py:3:6:PEAK", ""},
		{"behind another", "LEAK  # noqa: E501  # ullage: ignore[leak] why", "", ""},
		{"without blanks", "LEAK #ullage:ignore[leak]why", "", ""},
		{"no reason", "LEAK  # ullage: ignore[leak]", "", "stale a.py ignore[leak] has no reason"},
		{"no rule", "LEAK  # ullage: ignore", "a.py:1:1:LEAK", "comment a.py this comment has no effect: ignore names no rule: expected ignore[rule] and the reason"},
		{"empty", "LEAK  # ullage: ignore[]", "a.py:1:1:LEAK", "comment a.py this comment has no effect: ignore names no rule between its brackets"},
		{"open", "LEAK  # ullage: ignore-file[leak", "a.py:1:1:LEAK", `comment a.py this comment has no effect: ignore-file has no "]"`},
		{"half a name", "LEAK  # ullage: ignore[lea] why", "a.py:1:1:LEAK", `comment a.py this comment has no effect: ignore "lea" is no rule and no family; 'ullage rules' lists them`},
		{"a sentence", "LEAK  # ullage: ignored here, see ullage: x", "a.py:1:1:LEAK", ""},
		{"of nothing", "# ullage: ignore[leak] why\n", "", "stale a.py ignore[leak] hides nothing here"},
		{"in a string", "x = '# ullage: ignore[leak] why'; LEAK", "a.py:1:35:LEAK", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTree(t, map[string]string{"a.py": tt.text}).run("a.py")
			if got := found(r); got != tt.found {
				t.Errorf("found %s, want %s", got, tt.found)
			}
			if got := told(r); got != tt.told {
				t.Errorf("told %s, want %s", got, tt.told)
			}
		})
	}
}

func TestHashComments(t *testing.T) {
	tests := []struct{ text, want string }{
		{"export A=1 # ullage: ignore[conf] x\nb", "# ullage: ignore[conf] x"},
		{"# ullage: ignore[conf] x", "# ullage: ignore[conf] x"},
		{"a: 'b # ullage: c'", ""},
		{"a: don't # ullage: ignore[conf] x", "# ullage: ignore[conf] x"},
		{"a: \"b\" # ullage: ignore[conf] it's", "# ullage: ignore[conf] it's"},
		{"a#ullage: b", ""},
		{"ullage: a # b", ""},
		{"a # b", ""},
	}
	for _, tt := range tests {
		var got string
		for _, c := range HashComments([]byte(tt.text)) {
			got += tt.text[c.Start:c.End]
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestPythonComments: only comments of Python are comments.
func TestPythonComments(t *testing.T) {
	text := "# ullage: ignore-file[peak] a\nx = '''\n# ullage: ignore[leak] b\n'''\ny = 1  # ullage: ignore[leak] c\n"
	src, err := syntax.Read("a.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPython("")
	defer func() { _ = p.Close(t.Context()) }()
	checked, err := p.Check(t.Context(), src, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range checked.Comments {
		got = append(got, text[c.Start:c.End])
	}
	if want := "# ullage: ignore-file[peak] a|# ullage: ignore[leak] c"; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

func FuzzComments(f *testing.F) {
	for _, seed := range []string{"# ullage: ignore[leak] x", "a  # ullage: ignore-file[", "'# ullage:", "# ullage: ignore[a,]\n\n#\nb", "#ullage:ignore"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src, err := syntax.Read("a.py", []byte(text))
		if err != nil {
			return
		}
		comments := HashComments(src.Text)
		for _, d := range directives(src, comments) {
			if d.wrong == "" && len(d.rules) == 0 {
				t.Fatalf("%q hides nothing, and it is not said why", text)
			}
			if d.line < 0 || d.line > src.LineCount() {
				t.Fatalf("%q: line %d", text, d.line)
			}
		}
	})
}
