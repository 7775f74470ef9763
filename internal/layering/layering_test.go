package layering

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHouse holds the real tree to the rules, as each system builds it.
func TestHouse(t *testing.T) {
	root := moduleRoot(t)
	listed := map[string]bool{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			packages := load(t, root, goos)
			for _, p := range packages {
				listed[strings.TrimPrefix(p.Path, Module+"/")] = true
			}
			for _, w := range Check(packages) {
				t.Error(w)
			}
		})
	}
	for _, dir := range sourceFolders(t, root) {
		if !listed[dir] {
			t.Errorf("%s has Go files but no system builds them", dir)
		}
	}
}

// TestNoEmptyRooms keeps the table true to the tree.
func TestNoEmptyRooms(t *testing.T) {
	folders := sourceFolders(t, moduleRoot(t))
	for _, r := range house() {
		if !slices.ContainsFunc(folders, func(dir string) bool {
			found, _ := roomOf(dir)
			return found.path == r.path
		}) {
			t.Errorf("the room %s is in the table, but not in the tree", r.path)
		}
	}
}

// TestDocumented keeps docs/architecture.md true to the table: each room is there, on its
// floor.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range house() {
		if row := fmt.Sprintf("\n| %d | `%s` | ", r.floor, r.path); !strings.Contains(string(page), row) {
			t.Errorf("docs/architecture.md has no row that begins with %q", row[1:])
		}
	}
}

// TestCheck breaks each rule once, and shows that what is allowed stays allowed.
func TestCheck(t *testing.T) {
	std := []Package{{Path: "os", Standard: true}, {Path: "fmt", Standard: true, Imports: []string{"os"}}, {Path: "os/exec", Standard: true}, {Path: "time", Standard: true}}
	tests := []struct {
		name     string
		packages []Package
		want     []string // how each finding begins
	}{
		{"down is fine", []Package{own("internal/report", "internal/analyze"), own("internal/analyze", "snapshot"), own("snapshot", "internal/pickle"), own("internal/pickle")}, nil},
		{"up", []Package{own("snapshot", "internal/analyze"), own("internal/analyze")}, []string{"snapshot (floor 2) imports internal/analyze (floor 5): imports go down only"}},
		{"sideways", []Package{own("internal/timeline", "internal/rules"), own("internal/rules")}, []string{"internal/timeline (floor 4) imports internal/rules (floor 4)"}},
		{"within a room", []Package{own("snapshot", "snapshot/sub"), own("snapshot/sub")}, nil},
		{"a folder below a room", []Package{own("internal/pickle/x", "internal/cli"), own("internal/cli")}, []string{"internal/pickle/x (floor 1) imports internal/cli (floor 9)"}},
		{"a name that only begins like a room", []Package{own("snapshots")}, []string{"snapshots stands in no room"}},
		{"no room", []Package{own("internal/new")}, []string{"internal/new stands in no room"}},
		{"outside the module", []Package{{Path: "example.com/x", Imports: []string{"os/exec"}}}, nil},

		{"a dependency", []Package{own("internal/pickle", "!example.com/x"), {Path: "example.com/x"}}, []string{"internal/pickle reaches example.com/x: this room keeps to the standard library"}},
		{"a dependency's dependency", []Package{own("snapshot", "!github.com/xi2/xz/sub"), {Path: "github.com/xi2/xz/sub", Imports: []string{"example.com/x"}}, {Path: "example.com/x"}}, []string{"snapshot reaches example.com/x"}},
		{"a decompressor", []Package{own("snapshot", "!github.com/klauspost/compress/zstd"), {Path: "github.com/klauspost/compress/zstd"}}, nil},
		{"a decompressor elsewhere", []Package{own("allocator", "!github.com/xi2/xz"), {Path: "github.com/xi2/xz"}}, []string{"allocator reaches github.com/xi2/xz"}},
		{"a name that only begins like a decompressor", []Package{own("snapshot", "!github.com/xi2/xzz"), {Path: "github.com/xi2/xzz"}}, []string{"snapshot reaches github.com/xi2/xzz"}},

		{"I/O in a pure room", []Package{own("internal/analyze", "!os")}, []string{"internal/analyze imports os: this room does no I/O"}},
		{"network in a pure room", []Package{own("allocator", "!net/http")}, []string{"allocator imports net/http: this room does no I/O"}},
		{"fmt in a pure room", []Package{own("internal/analyze", "!fmt")}, nil},
		{"files in the reader", []Package{own("snapshot", "!os")}, nil},
		{"a clock", []Package{using("internal/timeline", "time.Now")}, []string{"internal/timeline uses time.Now: this room reads no clock"}},
		{"a duration", []Package{using("internal/timeline", "time.Duration")}, nil},

		{"cgo", []Package{{Path: Module + "/internal/cli", Cgo: true}}, []string{"internal/cli takes cgo: C stays in the GPU probe"}},
		{"a process", []Package{own("internal/report", "!os/exec")}, []string{"internal/report imports os/exec"}},
		{"a process from the command line", []Package{own("internal/cli", "!os/exec")}, nil},
		{"a listener", []Package{using("internal/cli", "net.Listen")}, []string{"internal/cli uses net.Listen: only the viewer"}},
		{"printing", []Package{using("internal/report", "fmt.Println")}, []string{"internal/report uses fmt.Println: only the command line"}},
		{"printing to a writer", []Package{using("internal/report", "fmt.Fprintln")}, nil},
		{"the environment", []Package{using("internal/cli", "os.Getenv")}, []string{"internal/cli uses os.Getenv: what belongs to the process"}},
		{"the environment in main", []Package{using("cmd/ullage", "os.LookupEnv", "os.Exit")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Check(append(slices.Clone(std), tt.packages...))
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %d findings: %q", got, len(tt.want), tt.want)
			}
			for i, w := range tt.want {
				if !strings.HasPrefix(got[i], w) {
					t.Errorf("got %q, want it to begin with %q", got[i], w)
				}
			}
		})
	}
}

// own is a package of the house that imports others of it; a leading ! marks a whole
// import path.
func own(rel string, imports ...string) Package {
	p := Package{Path: Module + "/" + rel}
	for _, imp := range imports {
		if whole, ok := strings.CutPrefix(imp, "!"); ok {
			p.Imports = append(p.Imports, whole)
		} else {
			p.Imports = append(p.Imports, Module+"/"+imp)
		}
	}
	return p
}

func using(rel string, uses ...string) Package {
	return Package{Path: Module + "/" + rel, Uses: uses}
}

// TestUses finds names through renamed imports, and is not fooled by fields.
func TestUses(t *testing.T) {
	const source = `package p
import ("os"; clock "time"; "net/http")
type s struct{ time struct{ Now int } }
func f(v s) { _ = v.time.Now; _ = os.Args; clock.Now(); http.ListenAndServe("", nil); println() }`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"os.Args", "time.Now", "http.ListenAndServe", "println"}
	if diff := cmp.Diff(want, usesOf(f)); diff != "" {
		t.Errorf("usesOf (-want +got):\n%s", diff)
	}
}
