// Package rules is the catalogue of what Ullage can find: symptoms, seen in a
// recording, a log or a live run, and causes, seen in source. One id each, shared
// by explain, lint and the live side; and the Finding, in which every analysis ends.
package rules

import "github.com/ullage-dev/ullage/snapshot"

// Severity is how much a finding matters to the run.
type Severity uint8

// Severities.
const (
	Info    Severity = iota // worth knowing
	Warning                 // costs memory, or will
	Error                   // ended the run, or will
)

// Confidence is how sure a finding is, apart from how much it matters.
type Confidence uint8

// Confidences.
const (
	Low Confidence = iota
	Medium
	High
)

// Finding is one answer: what was found, on which evidence, and what to do.
type Finding struct {
	Rule       string // id in the catalogue
	Severity   Severity
	Confidence Confidence
	Title      string           // one line, with numbers
	Evidence   []string         // what in the data says so, a line each
	Bytes      int64            // what it costs; 0 where that has no meaning
	Event      int              // ordinal of the event to look at; -1 for none
	Stack      []snapshot.Frame // whole, innermost first
	Causes     []string         // ids of causes that fit a symptom, likeliest first
	Remedies   []Remedy         // best first
	Named      []Named          // mistakes in the source that it may come from, likeliest first
	Unnamed    string           // why none is named though the source was looked at; else empty
}

// Remedy is something to change, with the effect that was computed for it.
type Remedy struct {
	Do     string // what to change, as an instruction
	Effect string // what that changes, with numbers; empty where nothing could be computed
	Bytes  int64  // memory that it saves, where computed; else 0
}

// String returns the severity as JSON has it.
func (s Severity) String() string { return [...]string{"info", "warning", "error"}[s] }

// String returns the confidence as JSON has it.
func (c Confidence) String() string { return [...]string{"low", "medium", "high"}[c] }

// MarshalText writes the confidence as JSON shows it.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
