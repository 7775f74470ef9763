package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/tomlfile"
)

// Source is where settings come from.
type Source struct {
	File    string            // name of the file, for faults; empty: there is none
	Text    []byte            // what is in it
	Environ []string          // NAME=VALUE; those that begin with Prefix count
	Flags   map[string]string // by path: "probe", "log_level"
}

// Prefix is what names of variables begin with. The key follows in capitals, with _ for dots.
const Prefix = "ULLAGE_AGENT_"

// ConfigVariable names the file itself, which is no key of it.
const ConfigVariable = Prefix + "CONFIG"

// Fault is something in a source that cannot be.
type Fault struct {
	Place string // file:line:column, the name of a variable, or a flag
	Text  string
}

func (f Fault) String() string { return f.Place + ": " + f.Text }

// FaultsError is all that is wrong with the settings.
type FaultsError struct {
	Faults  []Fault
	OfFlags bool // nothing else is wrong but flags
}

func (e *FaultsError) Error() string {
	if len(e.Faults) == 1 {
		return e.Faults[0].String()
	}
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// loader collects faults.
type loader struct {
	s      *Settings
	faults []Fault
}

// Load returns base with what the sources say, or a *FaultsError.
func Load(base Settings, src Source) (Settings, error) {
	l := loader{s: &base}
	if src.File != "" {
		l.file(src.File, src.Text)
	}
	l.environ(src.Environ)
	before := len(l.faults)
	l.flags(src.Flags)
	if len(l.faults) > 0 {
		return base, &FaultsError{l.faults, before == 0}
	}
	return base, nil
}

// file reads the file, and tells its faults in the order of their places.
func (l *loader) file(name string, content []byte) {
	doc, wrong := tomlfile.Read(name, content)
	if wrong != nil {
		l.faults = append(l.faults, Fault(*wrong))
		return
	}
	r := fileReader{s: l.s, doc: doc}
	r.read()
	slices.SortStableFunc(r.faults, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), strings.Compare(a.text, b.text))
	})
	for i, f := range r.faults {
		if i == maxFaults {
			l.faults = append(l.faults, Fault{name, fmt.Sprintf("and %d more", len(r.faults)-i)})
			break
		}
		l.faults = append(l.faults, Fault{doc.Place(f.offset), f.text})
	}
}

// maxFaults bounds how many faults of a file are told.
const maxFaults = 50

// environ sets what variables say.
func (l *loader) environ(environ []string) {
	paths := map[string]target{}
	for _, t := range l.s.tables() {
		for _, k := range t.keys {
			paths[Variable(t.path(k))] = k.to
		}
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, Prefix) || name == ConfigVariable {
			continue
		}
		to, ok := paths[name]
		if !ok {
			l.faults = append(l.faults, Fault{name, "is no setting; expected one of " + strings.Join(slices.Sorted(maps.Keys(paths)), ", ")})
			continue
		}
		if err := to.parse(value); err != nil {
			l.faults = append(l.faults, Fault{name, err.Error()})
		}
	}
}

// Variable is the name of the variable for a key.
func Variable(path string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// flags sets what flags say. A path that no key has is a mistake in the program.
func (l *loader) flags(given map[string]string) {
	left := maps.Clone(given)
	for _, t := range l.s.tables() {
		for _, k := range t.keys {
			value, ok := left[t.path(k)]
			if !ok {
				continue
			}
			delete(left, t.path(k))
			if err := k.to.parse(value); err != nil {
				l.faults = append(l.faults, Fault{"--" + strings.NewReplacer("_", "-", ".", "-").Replace(t.path(k)), err.Error()})
			}
		}
	}
	if len(left) > 0 {
		panic(fmt.Sprintf("flags for settings that do not exist: %v", left))
	}
}
