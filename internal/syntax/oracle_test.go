package syntax

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What CPython's parser makes of every file below its standard library: a line of the path,
// and whether it is accepted, for each; then a line of kind and place for every node of the
// kinds that the linter looks at. CPython counts columns in bytes of UTF-8, from 0.
const askCPython = `
import ast, os, sys
kinds = {"FunctionDef": "function_definition", "AsyncFunctionDef": "function_definition", "ClassDef": "class_definition",
    "Call": "call", "Attribute": "attribute", "For": "for_statement", "AsyncFor": "for_statement", "While": "while_statement",
    "With": "with_statement", "AsyncWith": "with_statement", "AugAssign": "augmented_assignment", "Try": "try_statement", "TryStar": "try_statement",
    "Import": "import_statement", "Lambda": "lambda", "Return": "return_statement", "Delete": "delete_statement"}
root = os.path.dirname(os.__file__)
for folder, subs, names in os.walk(root):
    subs[:] = sorted(s for s in subs if s not in ("site-packages", "__pycache__"))
    if os.path.basename(folder) == "test":  # 20 MB, of which these are about syntax
        subs[:] = []
        names = ["test_%s.py" % n for n in ("grammar patma fstring except_star contextlib compile type_params named_expressions "
            "unpack_ex syntax coroutines asyncgen decorators generators lambda positional_only_arg with").split()]
        names = [n for n in names if os.path.exists(os.path.join(folder, n))]
    for name in sorted(n for n in names if n.endswith(".py")):
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            data = f.read()
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError):
            print("no", path)
            continue
        print("yes", path)
        if b"\r" in data or b"\f" in data or b"coding" in data[:200]:
            continue
        tops = [n for n in ast.walk(tree) if isinstance(n, ast.JoinedStr)]
        tops += [n.pattern for n in ast.walk(tree) if type(n).__name__ == "match_case"]
        left_out = {id(n) for top in tops for n in ast.walk(top)}
        for n in ast.walk(tree):
            kind = kinds.get(type(n).__name__)
            if kind and id(n) not in left_out:
                print(kind, n.lineno, n.col_offset)
`

// accepted lists what CPython takes and the grammar does not, by the end of its path.
var accepted = []string{
	"test/test_compile.py", // \f\f between statements on lines of their own
}

// TestCPython compares with CPython's own parser over the standard library of the Python
// that is there: what it accepts, and where things begin.
func TestCPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		python, err = exec.LookPath("python")
	}
	if err != nil {
		t.Fatal("needs a Python on the path, to compare with its parser")
	}
	var errs bytes.Buffer
	cmd := exec.Command(python, "-W", "ignore", "-X", "utf8", "-c", askCPython)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	p := newParser(t)
	files := 0
	for block := range strings.SplitSeq("\n"+strings.ReplaceAll(string(out), "\r", ""), "\nyes ") {
		rows := slices.DeleteFunc(strings.Split(strings.TrimSpace(block), "\n"), func(s string) bool { return strings.HasPrefix(s, "no ") })
		if len(rows) == 0 || rows[0] == "" {
			continue
		}
		files++
		compareWithCPython(t, p, rows[0], rows[1:])
	}
	if files < 300 {
		t.Errorf("compared %d files only: is this a whole Python?", files)
	}
}

func compareWithCPython(t *testing.T, p *Parser, file string, want []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Read(file, data)
	if err != nil {
		if !bytes.Contains(data[:min(len(data), 200)], []byte("coding")) {
			t.Error(err)
		}
		return
	}
	tree, err := p.Parse(t.Context(), src)
	if err != nil {
		t.Error(err)
		return
	}
	if bad := tree.Errors(); len(bad) > 0 {
		known := slices.ContainsFunc(accepted, func(end string) bool { return strings.HasSuffix(filepath.ToSlash(file), end) })
		if !known {
			t.Errorf("%s:%v: CPython accepts it", file, bad[0].Position())
		}
		return
	}
	if len(want) == 0 {
		return
	}
	got := places(tree, want)
	want, got = withoutTypeCalls(tree, want), withoutTypeCalls(tree, got)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-CPython +ours):\n%.1500s", file, diff)
	}
}

// withoutTypeCalls leaves out lines on which the grammar is wrong: type(a).b = c is an
// assignment, and it makes an alias of it, as of type A = B.
func withoutTypeCalls(tree *Tree, rows []string) []string {
	wrong := map[string]bool{}
	for n := range tree.Root().Descendants() {
		if n.Is("type_alias_statement") && strings.HasPrefix(n.Text(), "type(") {
			wrong[strconv.Itoa(tree.Source.TextLine(n.Start()))] = true
		}
	}
	return slices.DeleteFunc(rows, func(row string) bool { return wrong[strings.Fields(row)[1]] })
}

// places lists what askCPython lists. An f-string's inside is left out, as it is there:
// before 3.12 CPython did not know where it was.
func places(tree *Tree, want []string) []string {
	asked := map[string]bool{}
	for _, row := range want {
		kind, _, _ := strings.Cut(row, " ")
		asked[kind] = true
	}
	var got []string
	for n := range tree.Root().Descendants() {
		if !asked[n.Kind()] || n.Enclosing("interpolation", "case_pattern").Ok() {
			continue
		}
		start := n.Start()
		if text := n.Text(); text[0] == '*' { // the grammar takes *a.b() among several as (*a).b()
			start += len(text) - len(strings.TrimLeft(text, "* "))
		}
		line := tree.Source.TextLine(start)
		got = append(got, n.Kind()+" "+strconv.Itoa(line)+" "+strconv.Itoa(start-tree.Source.lines[line-1]))
	}
	return got
}
