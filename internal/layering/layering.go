// Package layering holds the house rules of docs/architecture.md as code: which room
// stands on which floor, and what a room may reach for. Its test runs them over the
// real tree on every system; a finding says which rule is broken and why it is there.
//
// The check itself is a pure function of a list of packages, so that it can be tested
// against trees that break each rule.
package layering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Module is the path that all packages of the house begin with.
const Module = "github.com/ullage-dev/ullage"

// Package is what the rules look at: one package, without its tests.
type Package struct {
	Path     string   // import path
	Standard bool     // of Go's standard library
	Imports  []string // import paths
	Uses     []string // names from the standard library, as "time.Now"; own packages only
	Cgo      bool     // has files that import "C", or a package that does
}

// power is something that a room has to be granted before it may reach for it.
type power uint8

const (
	linkC      power = 1 << iota // cgo
	spawn                        // start processes
	listen                       // accept connections
	useStreams                   // write to the process's own streams
	beProcess                    // read the environment and the arguments, exit, catch signals
)

// room is a folder of the module with all folders below it.
type room struct {
	path   string
	floor  int   // imports go to lower floors only
	pure   bool  // no I/O, no clock
	plain  bool  // the standard library only, with what extra allows
	powers power // granted
	extra  []string
}

// house lists the rooms from the ground up. A new room gets a line here and in
// docs/architecture.md.
func house() []room {
	return []room{
		{path: "docs", floor: 0, plain: true, pure: true},
		{path: "python", floor: 0, plain: true, pure: true},
		{path: "web", floor: 0, plain: true, pure: true},
		{path: "internal/column", floor: 0, plain: true, pure: true},
		{path: "internal/layering", floor: 0, plain: true, pure: true},
		{path: "internal/units", floor: 0, plain: true, pure: true},
		{path: "internal/value", floor: 0, plain: true, pure: true},
		{path: "internal/manpage", floor: 1, pure: true},
		{path: "internal/message", floor: 1, plain: true, pure: true},
		{path: "internal/pickle", floor: 1, plain: true, pure: true},
		{path: "internal/syntax", floor: 1},
		{path: "internal/tomlfile", floor: 1, pure: true},
		{path: "internal/term", floor: 1, powers: useStreams},
		{path: "internal/gpu", floor: 2, powers: linkC | spawn},
		{path: "internal/pyscope", floor: 2, pure: true},
		{path: "snapshot", floor: 2, plain: true, extra: []string{"github.com/klauspost/compress", "github.com/xi2/xz"}},
		{path: "allocator", floor: 3, plain: true, pure: true},
		{path: "internal/holder", floor: 3},
		{path: "internal/conf", floor: 4, plain: true, pure: true},
		{path: "internal/lease", floor: 4, plain: true, pure: true},
		{path: "internal/made", floor: 4, plain: true, pure: true},
		{path: "internal/rules", floor: 4, pure: true},
		{path: "internal/timeline", floor: 4, pure: true},
		{path: "internal/analyze", floor: 5, pure: true},
		{path: "internal/fit", floor: 5, pure: true},
		{path: "internal/lint/places", floor: 5, pure: true},
		{path: "internal/lint/code", floor: 5, pure: true},
		{path: "internal/lod", floor: 5, pure: true},
		{path: "internal/triage", floor: 5, pure: true},
		{path: "internal/tune", floor: 5, pure: true},
		{path: "internal/child", floor: 5, powers: spawn},
		{path: "internal/client", floor: 5},
		{path: "internal/enforce", floor: 5, pure: true},
		{path: "internal/ledger", floor: 5},
		{path: "internal/settings", floor: 5},
		{path: "internal/doctor", floor: 6, pure: true},
		{path: "internal/lint", floor: 6},
		{path: "internal/metrics", floor: 6},
		{path: "internal/origin", floor: 6, pure: true},
		{path: "internal/table", floor: 6, pure: true},
		{path: "internal/node", floor: 7, powers: listen},
		{path: "internal/report", floor: 7},
		{path: "internal/tui", floor: 7},
		{path: "internal/viewer", floor: 8, powers: listen},
		{path: "internal/cli", floor: 9, powers: spawn | useStreams},
		{path: "cmd/ullage", floor: 10, powers: useStreams | beProcess},
		{path: "examples/churn", floor: 10, powers: useStreams | beProcess},
	}
}

// Check returns what is wrong, sorted, a sentence each; nothing is the good answer.
func Check(packages []Package) []string {
	byPath := map[string]Package{}
	for _, p := range packages {
		byPath[p.Path] = p
	}
	var wrong []string
	for _, p := range packages {
		rel, own := strings.CutPrefix(p.Path, Module+"/")
		if !own {
			continue
		}
		r, ok := roomOf(rel)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s stands in no room: give it a floor in internal/layering and a line in docs/architecture.md", rel))
			continue
		}
		wrong = append(wrong, checkFloors(r, rel, p)...)
		wrong = append(wrong, checkPlain(r, rel, byPath)...)
		wrong = append(wrong, checkPure(r, rel, p)...)
		wrong = append(wrong, checkPowers(r, rel, p)...)
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// roomOf finds the room of a package by its path below the module: the longest that fits.
func roomOf(rel string) (room, bool) {
	fits := slices.DeleteFunc(house(), func(r room) bool {
		return rel != r.path && !strings.HasPrefix(rel, r.path+"/")
	})
	if len(fits) == 0 {
		return room{}, false
	}
	return slices.MaxFunc(fits, func(a, b room) int { return cmp.Compare(len(a.path), len(b.path)) }), true
}

// checkFloors: an import points down, never up or sideways. Within a room packages may
// import each other as they like; Go itself forbids cycles.
func checkFloors(r room, rel string, p Package) (wrong []string) {
	for _, imp := range p.Imports {
		to, own := strings.CutPrefix(imp, Module+"/")
		if !own {
			continue
		}
		if target, ok := roomOf(to); ok && target.path != r.path && target.floor >= r.floor {
			wrong = append(wrong, fmt.Sprintf("%s (floor %d) imports %s (floor %d): imports go down only, so that every room can be understood and tested without those above it; compose the two further up",
				rel, r.floor, to, target.floor))
		}
	}
	return wrong
}

// checkPlain is rule 1: who imports the readers and the simulator gets the standard
// library and the decompressors, nothing else, through however many packages.
func checkPlain(r room, rel string, byPath map[string]Package) (wrong []string) {
	if !r.plain {
		return nil
	}
	for _, dep := range closure(Module+"/"+rel, byPath) {
		if dep.Standard || strings.HasPrefix(dep.Path, Module+"/") || allowed(dep.Path, r.extra) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s reaches %s: this room keeps to the standard library, so that other programs can use it without our dependencies", rel, dep.Path))
	}
	return wrong
}

func allowed(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// closure returns all packages that start imports, itself apart, stopping at the
// standard library, whose insides are its own.
func closure(start string, byPath map[string]Package) []Package {
	seen := map[string]bool{start: true}
	queue := []string{start}
	var all []Package
	for len(queue) > 0 {
		p := byPath[queue[0]]
		queue = queue[1:]
		for _, imp := range p.Imports {
			dep, ok := byPath[imp]
			if !ok || seen[imp] {
				continue
			}
			seen[imp] = true
			all = append(all, dep)
			if !dep.Standard {
				queue = append(queue, imp)
			}
		}
	}
	return all
}

// checkPure is rule 2. What the import list cannot show, a goroutine that outlives its
// call, is left to review.
func checkPure(r room, rel string, p Package) (wrong []string) {
	if !r.pure {
		return nil
	}
	for _, imp := range p.Imports {
		if root, _, _ := strings.Cut(imp, "/"); root == "os" || root == "net" || root == "syscall" || root == "log" || imp == "io/ioutil" {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: this room does no I/O, so that the same input gives the same answer everywhere; take what it needs as a value or an interface", rel, imp))
		}
	}
	for _, use := range p.Uses {
		if slices.Contains(clockNames, use) {
			wrong = append(wrong, fmt.Sprintf("%s uses %s: this room reads no clock; have the time passed in", rel, use))
		}
	}
	return wrong
}

// clockNames are what package time offers beside plain values.
var clockNames = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
	"time.Tick", "time.NewTimer", "time.NewTicker",
}

// checkPowers is rules 3 to 5: what only a few rooms may do.
func checkPowers(r room, rel string, p Package) (wrong []string) {
	lacks := func(need power, what, why string) {
		if r.powers&need == 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s", rel, what, why))
		}
	}
	if p.Cgo {
		lacks(linkC, "takes cgo", "C stays in the GPU probe, so that the program builds with CGO_ENABLED=0 on every system")
	}
	if slices.Contains(p.Imports, "os/exec") {
		lacks(spawn, "imports os/exec", "only a few rooms start processes; pass the work in as an interface")
	}
	for _, use := range p.Uses {
		if need, ok := powerOf(use); ok {
			lacks(need.power, "uses "+use, need.why)
		}
	}
	return wrong
}

type need struct {
	power power
	why   string
}

// powerOf tells which power a name of the standard library takes.
func powerOf(use string) (need, bool) {
	switch use {
	case "net.Listen", "net.ListenTCP", "net.ListenUDP", "net.ListenUnix", "net.ListenPacket", "net.ListenConfig",
		"tls.Listen", "http.ListenAndServe", "http.ListenAndServeTLS", "http.Serve", "http.ServeTLS", "http.Server":
		return need{listen, "only the viewer and the node agent accept connections"}, true
	case "os.Stdin", "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "print", "println":
		return need{useStreams, "only the command line and the terminal rooms write to a terminal; take an io.Writer"}, true
	case "os.Args", "os.Exit", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Setenv", "signal.Notify", "signal.NotifyContext":
		return need{beProcess, "what belongs to the process comes in through cli.App, so that tests run commands in-process"}, true
	}
	return need{}, false
}
