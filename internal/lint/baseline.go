package lint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A baseline is a file with findings that are known and not to be told again, so that a
// project with a hundred of them can ask for no new ones. It is JSON, sorted, an entry a
// line, for people to review and git to merge.
type baseline struct {
	name  string // of the file, absolute
	known map[string]*baselineEntry
}

// baselineFile is what the file has.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

// baselineEntry is a known finding. Text is there for people.
type baselineEntry struct {
	File        string `json:"file"`
	Rule        string `json:"rule"`
	Text        string `json:"text"`
	Fingerprint string `json:"fingerprint"`
	used        bool
}

const (
	baselineVersion  = 1
	maxBaselineBytes = 64 << 20
)

// baselines reads each file of known findings once.
type baselines struct {
	opt    *Options
	byName map[string]*baseline
}

func newBaselines(opt *Options) *baselines {
	return &baselines{opt: opt, byName: map[string]*baseline{}}
}

// of returns the baseline that is in force under a configuration; nil for none.
func (b *baselines) of(conf *Config) (*baseline, error) {
	name := conf.baseline
	if b.opt.Baseline != "" {
		name = b.opt.Baseline
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.opt.Dir, name)
		}
	}
	if name == "" {
		return nil, nil
	}
	if known, ok := b.byName[name]; ok {
		return known, nil
	}
	read, err := b.read(name)
	b.byName[name] = read
	return read, err
}

func (b *baselines) read(name string) (*baseline, error) {
	base := &baseline{name: name, known: map[string]*baselineEntry{}}
	shown := shortName(b.opt.Dir, name)
	text, err := readFile(b.opt.Files, name, maxBaselineBytes+1)
	var file baselineFile
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.opt.NoBaseline:
		return base, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &BaselineError{shown, "there is no such file"}
	case err != nil:
		return nil, &BaselineError{shown, err.Error()}
	case len(text) > maxBaselineBytes:
		return nil, &BaselineError{shown, fmt.Sprintf("has more than %d bytes", maxBaselineBytes)}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, &BaselineError{shown, "is no baseline: " + err.Error()}
	}
	if file.Version != baselineVersion {
		return nil, &BaselineError{shown, fmt.Sprintf("has version %d; this program reads version %d", file.Version, baselineVersion)}
	}
	for i := range file.Findings {
		base.known[file.Findings[i].Fingerprint] = &file.Findings[i]
	}
	return base, nil
}

// BaselineError is a baseline that cannot be read.
type BaselineError struct{ Name, What string }

func (e *BaselineError) Error() string { return e.Name + ": " + e.What }

// Hint says how one is made.
func (e *BaselineError) Hint() string { return "--update-baseline writes it" }

// has tells whether a finding is known. A nil baseline knows none.
func (b *baseline) has(fingerprint string) bool {
	if b == nil {
		return false
	}
	e, ok := b.known[fingerprint]
	if ok {
		e.used = true
	}
	return ok
}

// Baselines returns the text of each baseline that the files of a result are under, by path,
// with the findings of the result in it. What it has of files that were not looked at stays.
func (r *Result) Baselines() map[string][]byte {
	entries := map[*baseline][]baselineEntry{}
	checked, under := map[string]bool{}, map[string]*baseline{}
	for _, f := range r.files {
		checked[f.path], under[f.name] = true, f.known
		if f.known != nil && entries[f.known] == nil {
			entries[f.known] = []baselineEntry{}
		}
	}
	for _, f := range r.Findings {
		if base := under[f.File]; base != nil {
			entries[base] = append(entries[base], baselineEntry{File: f.Path, Rule: f.Rule, Text: strings.TrimSpace(f.Line), Fingerprint: f.Fingerprint})
		}
	}
	out := map[string][]byte{}
	for base, list := range entries {
		for _, e := range base.known {
			if !checked[e.File] {
				list = append(list, *e)
			}
		}
		out[base.name] = printBaseline(list)
	}
	return out
}

func printBaseline(list []baselineEntry) []byte {
	slices.SortFunc(list, func(a, b baselineEntry) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\": %d,\n  \"findings\": [", baselineVersion)
	for i, e := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		b.Write(compactJSON(e))
	}
	if len(list) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("]\n}\n")
	return b.Bytes()
}

func compactJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // texts can be written
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// gone tells what the baselines have of checked files that is not there any more.
func (r *Result) gone(dir string) []Notice {
	checked, seen := map[string]bool{}, map[*baseline]bool{}
	for _, f := range r.files {
		checked[f.path] = true
	}
	var all []Notice
	for _, f := range r.files {
		if f.known == nil || seen[f.known] {
			continue
		}
		seen[f.known] = true
		n := 0
		for _, e := range f.known.known {
			if !e.used && checked[e.File] {
				n++
			}
		}
		if n > 0 {
			all = append(all, Notice{Kind: Stale, File: shortName(dir, f.known.name), Text: fmt.Sprintf("%d of its findings are gone", n), Hint: "--update-baseline takes them out"})
		}
	}
	return all
}
