package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/tomlfile"
)

// Config is what a project says. Each file obeys the nearest that is above it, and nothing is
// merged: what is in force for a file can be read in one place.
type Config struct {
	file string // absolute; empty: there is none
	dir  string // that its paths are relative to

	choice   choice
	exclude  patterns
	tests    patterns
	perFile  []fileRule
	failOn   Threshold
	baseline string // absolute path; empty: none
}

// fileRule is a line of per-file-ignores.
type fileRule struct {
	files  patterns
	ignore []string
}

// defaultTests are the names that pytest and unittest look for.
var defaultTests = []string{"tests/", "test/", "test_*.py", "*_test.py", "conftest.py"}

func defaultConfig() *Config {
	return &Config{failOn: DefaultThreshold, tests: parsePatterns(defaultTests)}
}

// ConfigError is all that is wrong with a configuration.
type ConfigError struct{ Faults []tomlfile.Fault }

func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// configs finds the configuration of each folder, and reads each once.
type configs struct {
	files Files
	base  string // names in messages are relative to it
	byDir map[string]*Config
}

// of returns the configuration for what is in a folder.
func (c *configs) of(dir string) (*Config, error) {
	if known, ok := c.byDir[dir]; ok {
		return known, nil
	}
	found, err := c.in(dir)
	if err != nil {
		return nil, err
	}
	if parent := filepath.Dir(dir); found == nil && parent != dir {
		if found, err = c.of(parent); err != nil {
			return nil, err
		}
	}
	if found == nil {
		found = defaultConfig()
	}
	c.byDir[dir] = found
	return found, nil
}

// configNames are files that may have a configuration, the first before the second, and where
// in them it is.
var configNames = []struct {
	name  string
	table []string
}{{"ullage.toml", []string{"lint"}}, {"pyproject.toml", []string{"tool", "ullage", "lint"}}}

// in reads the configuration in a folder; nil where it has none.
func (c *configs) in(dir string) (*Config, error) {
	for _, form := range configNames {
		name := filepath.Join(dir, form.name)
		text, err := readFile(c.files, name, tomlfile.MaxBytes+1)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) && c.closed(name) {
			continue
		}
		if err != nil {
			return nil, &ConfigError{[]tomlfile.Fault{{Place: shortName(c.base, name), Text: reason(err).Error()}}}
		}
		found, err := parseConfig(name, shortName(c.base, name), text, form.table)
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// closed tells whether a file cannot be reached, which is no fault of it: then the files beside it
// cannot be read either, and are told one by one.
func (c *configs) closed(name string) bool {
	_, err := c.files.Stat(name)
	return errors.Is(err, fs.ErrPermission)
}

var errFolder = errors.New("is a folder")

// readFile reads at most some bytes of a file.
func readFile(files Files, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errFolder
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// shortName is a path relative to a folder, where it is in it.
func shortName(base, name string) string {
	if rel, err := filepath.Rel(base, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return name
}

// parseConfig reads a file; nil where it says nothing to this program.
func parseConfig(name, shown string, text []byte, table []string) (*Config, error) {
	doc, fault := tomlfile.Read(shown, text)
	if fault != nil {
		return nil, &ConfigError{[]tomlfile.Fault{*fault}}
	}
	r := configReader{doc: doc, c: defaultConfig()}
	r.c.file, r.c.dir = name, filepath.Dir(name)
	values, ok := r.follow(table)
	if ok {
		r.read(strings.Join(table, "."), values)
	}
	if len(r.faults) > 0 {
		return nil, r.err()
	}
	if !ok {
		return nil, nil
	}
	return r.c, nil
}

// configReader reads the values of a file, and goes on after a fault.
type configReader struct {
	doc    *tomlfile.Document
	c      *Config
	faults []placedFault
}

type placedFault struct {
	offset int
	text   string
}

func (r *configReader) fault(path, format string, args ...any) {
	r.faults = append(r.faults, placedFault{r.doc.Offset(path), fmt.Sprintf(format, args...)})
}

// maxConfigFaults bounds how many faults of a file are told.
const maxConfigFaults = 20

// err tells the faults by place.
func (r *configReader) err() error {
	slices.SortStableFunc(r.faults, func(a, b placedFault) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), strings.Compare(a.text, b.text))
	})
	var e ConfigError
	for i, f := range r.faults {
		if i == maxConfigFaults {
			e.Faults = append(e.Faults, tomlfile.Fault{Place: r.doc.Name, Text: fmt.Sprintf("and %d more", len(r.faults)-i)})
			break
		}
		e.Faults = append(e.Faults, tomlfile.Fault{Place: r.doc.Place(f.offset), Text: f.text})
	}
	return &e
}

// follow goes along the names of tables. In tables that are this program's, other names are
// faults: a misspelt one would be passed over in silence.
func (r *configReader) follow(table []string) (map[string]any, bool) {
	at := r.doc.Root
	for i, name := range table {
		path := strings.Join(table[:i], ".")
		if own := table[0] == "lint" || i == 2; own {
			for other := range at {
				if other != name {
					r.fault(tomlfile.Join(path, other), "%.40q is no table of ullage; expected %s", other, name)
				}
			}
		}
		v, ok := at[name]
		if !ok {
			return nil, false
		}
		if at, ok = v.(map[string]any); !ok {
			if table[0] == "lint" || i > 0 { // "tool" alone is others' concern
				r.fault(tomlfile.Join(path, name), "%s: expected a table, found %s", name, tomlfile.TypeOf(v))
			}
			return nil, false
		}
	}
	return at, true
}

// keys are what a configuration may say.
func (r *configReader) keys() map[string]func(path string, v any) {
	return map[string]func(string, any){
		"select":           func(path string, v any) { r.c.choice.selected = r.ruleIDs(path, v) },
		"ignore":           func(path string, v any) { r.c.choice.ignored = r.ruleIDs(path, v) },
		"exclude":          func(path string, v any) { r.c.exclude = parsePatterns(r.texts(path, v)) },
		"tests":            func(path string, v any) { r.c.tests = parsePatterns(r.texts(path, v)) },
		"per-file-ignores": r.perFile,
		"fail-on":          r.failOn,
		"baseline":         r.baseline,
	}
}

func (r *configReader) read(table string, values map[string]any) {
	keys := r.keys()
	for name, v := range values {
		path := tomlfile.Join(table, name)
		read, ok := keys[name]
		if !ok {
			r.fault(path, "%.40q is no setting here; expected one of baseline, exclude, fail-on, ignore, per-file-ignores, select, tests", name)
			continue
		}
		read(path, v)
	}
}

// texts reads a list of texts.
func (r *configReader) texts(path string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		r.fault(path, `expected a list, as ["…"], found %s`, tomlfile.TypeOf(v))
		return nil
	}
	var all []string
	for i, v := range list {
		if text, ok := r.text(tomlfile.Row(path, i), v); ok {
			all = append(all, text)
		}
	}
	return all
}

func (r *configReader) text(path string, v any) (string, bool) {
	text, ok := v.(string)
	if !ok || text == "" {
		r.fault(path, "expected a text in quotes, found %s", tomlfile.TypeOf(v))
		return "", false
	}
	return text, true
}

// ruleIDs reads a list of beginnings of rules.
func (r *configReader) ruleIDs(path string, v any) []string {
	all := r.texts(path, v)
	for i, id := range all {
		if err := CheckRule(id); err != nil {
			r.fault(tomlfile.Row(path, i), "%v", err)
		}
	}
	return all
}

// CheckRule tells what is wrong with the beginning of an id.
func CheckRule(id string) error {
	if len(rules.Match(id)) == 0 {
		return fmt.Errorf("no rule's id begins with %.40q; 'ullage rules' lists them", id)
	}
	return nil
}

func (r *configReader) perFile(path string, v any) {
	table, ok := v.(map[string]any)
	if !ok {
		r.fault(path, "expected a table of paths, found %s", tomlfile.TypeOf(v))
		return
	}
	for files, ids := range table {
		r.c.perFile = append(r.c.perFile, fileRule{parsePatterns([]string{files}), r.ruleIDs(tomlfile.Join(path, files), ids)})
	}
}

func (r *configReader) failOn(path string, v any) {
	word, ok := r.text(path, v)
	if !ok {
		return
	}
	var err error
	if r.c.failOn, err = ParseThreshold(word); err != nil {
		r.fault(path, "%v", err)
	}
}

func (r *configReader) baseline(path string, v any) {
	name, ok := r.text(path, v)
	if ok && filepath.IsAbs(name) {
		r.fault(path, "%.80q: expected a path relative to this file", name)
		return
	}
	r.c.baseline = filepath.Join(r.c.dir, filepath.FromSlash(name))
}

// below is the path of a file relative to the configuration, with slashes; relative to the
// project where there is none.
func (c *Config) below(f *file) string {
	if c.dir == "" {
		return f.path
	}
	return relSlash(c.dir, f.abs)
}

// relSlash is a path relative to a folder, with slashes; as it is where there is no way.
func relSlash(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		rel = name
	}
	return filepath.ToSlash(rel)
}
