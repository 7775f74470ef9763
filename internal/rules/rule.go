package rules

import "strings"

// Kind tells what is seen from what brings it about.
type Kind string

// Kinds of rule.
const (
	Symptom Kind = "symptom" // seen in memory: in a recording, a log or a live run
	Cause   Kind = "cause"   // done in code, in a setting or by something outside, and can be undone there
)

// Root is the way in which memory stays taken, common to many causes.
type Root string

// Roots. Most causes are one of the first five; a cause that fits none says NoRoot.
const (
	NoRoot       Root = "none"
	References   Root = "references kept"               // an object that should be gone still names the tensor
	Graphs       Root = "graphs kept"                   // autograd's graph keeps what it saved for backward
	AsyncFrees   Root = "asynchronous frees"            // freed, but another stream may still be using it
	Replicas     Root = "replicas of data parallelism"  // a copy on the wrong GPU, or one copy too many
	ThirdParties Root = "third parties holding tensors" // a library, a cache or another process
)

// Signal is a kind of evidence that can show a rule. It says what can be known
// from it, not what Ullage reads today: FoundBy says that.
type Signal string

// Signals.
const (
	Static    Signal = "static"    // the source code
	Recording Signal = "recording" // a snapshot of memory with its history
	Text      Signal = "text"      // an error message, a log, memory_summary
	Live      Signal = "live"      // a running process, or the driver's view of the GPU
)

// Rule is a page of the catalogue. Text fields are Markdown.
type Rule struct {
	ID      string // family/name
	Kind    Kind
	Title   string
	Summary string // one sentence or two
	Root    Root
	Signals []Signal
	FoundBy []string // commands that report it today, as a finding or a likely cause; empty for knowledge only
	Applies string   // releases or systems to which it is limited; empty for all

	Shows   string // how it shows
	Why     string // why it happens
	Confirm string // how to confirm it
	Change  string // what to change, with code

	Remedies []Remedy // the list in Change
	Causes   []string // of a symptom: ids of the causes that it fits, likeliest first
	Fits     string   // the same with remarks
	Sources  []string
}

// Family returns the part of the id before the slash.
func (r *Rule) Family() string {
	family, _, _ := strings.Cut(r.ID, "/")
	return family
}

// Doc returns the path of the rule's page, from the root of the repository, with slashes.
func (r *Rule) Doc() string { return "docs/rules/" + r.ID + ".md" }
