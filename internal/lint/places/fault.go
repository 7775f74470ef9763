// Package places finds what is wrong with settings where they live: in shell scripts and
// job scripts, Dockerfiles, compose files, Kubernetes manifests, .env files and
// configurations in YAML, TOML and JSON.
//
// Conf judges a settings string of PyTorch's allocator by itself, Variable any variable of
// the environment by itself, and Check a whole file: there it also matters whether the
// setting reaches the program, and what stands beside it. Only what is written is looked
// at; a value that is put together when the script runs is left alone.
package places

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Fault is something wrong with a value, wherever it stands.
type Fault struct {
	Rule       string // id in the catalogue
	Severity   rules.Severity
	Confidence rules.Confidence
	Start, End int      // the bytes of the value that are meant; both 0 for its name
	Message    string   // one line
	Evidence   []string // what says so, a line each
	Remedy     string   // what to change, as an instruction
}

// mistake puts a fault where it stands in a file.
func (f *Fault) mistake(s span) rules.Mistake {
	return rules.Mistake{
		Rule: f.Rule, Severity: f.Severity, Confidence: f.Confidence, Start: s.start, End: s.end,
		Message: f.Message, Evidence: f.Evidence, Remedy: f.Remedy,
	}
}

// span is a piece of a file's text.
type span struct{ start, end int }

// faults collects what is wrong with one value.
type faults []Fault

// add notes a fault; the rest is set on what it returns.
func (f *faults) add(rule string, severity rules.Severity, confidence rules.Confidence, format string, args ...any) *Fault {
	*f = append(*f, Fault{Rule: rule, Severity: severity, Confidence: confidence, Message: fmt.Sprintf(format, args...)})
	return &(*f)[len(*f)-1]
}

// because adds evidence.
func (f *Fault) because(format string, args ...any) *Fault {
	f.Evidence = append(f.Evidence, fmt.Sprintf(format, args...))
	return f
}

// at says which bytes of the value are meant.
func (f *Fault) at(start, end int) *Fault {
	f.Start, f.End = start, end
	return f
}

// do says what to change.
func (f *Fault) do(format string, args ...any) *Fault {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}
