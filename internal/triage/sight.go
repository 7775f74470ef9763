package triage

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Sight is what was seen somewhere: a finding of a recording, of a log, of a source or of
// the machine.
type Sight struct {
	Rule       string
	Confidence rules.Confidence
	Severity   rules.Severity
	Source     string   // where, as "run.pickle" or "train.py:12"
	Text       string   // what, in a line
	Causes     []string // of a symptom: the causes that it fits here, likeliest first
	Code       bool     // seen in the program's source
	Tied       bool     // in the source, where a recording shows that it does harm
	Here       bool     // seen on this machine, where it may be another program's: it answers nothing
}

// weighty tells whether what was seen is probably so, and does harm.
func (s *Sight) weighty() bool { return s.Confidence >= rules.Medium && s.Severity >= rules.Warning }

// Known is an answer that was seen, and need not be asked for.
type Known struct {
	Key, Value string
	Source     string // of the sight
	Rule       string // that says so
}

// told are the answers that a symptom gives by itself. What comes first in the tree comes
// first in importance: the first sight to answer a question counts.
var told = map[string]Answers{
	"oom/true-shortage":     {Root: "oom", "error": "torch", "message": "full"},
	"oom/fragmentation":     {Root: "oom", "error": "torch", "message": "pieces"},
	"oom/stranded":          {Root: "oom", "error": "torch", "message": "pieces"},
	"oom/pending-free":      {Root: "oom", "error": "torch", "message": "pieces", "pieces": "streams"},
	"oom/other-process":     {Root: "oom", "error": "torch", "message": "others"},
	"oom/fraction-cap":      {Root: "oom", "error": "torch", "message": "limit"},
	"oom/undetermined":      {Root: "oom", "error": "torch"},
	"oom/hidden":            {Root: "oom", "error": "library"},
	"oom/nvml-assert":       {Root: "oom", "error": "assert"},
	"oom/host-pinned":       {Root: "oom", "error": "pinned"},
	"oom/host-killed":       {Root: "killed"},
	"leak/growing-site":     {Root: "grows", "when": "later", "what": "allocated"},
	"leak/cycle-bursts":     {Root: "grows", "when": "later", "what": "allocated", "where": "bursts"},
	"frag/reserved-growth":  {Root: "grows", "what": "reserved"},
	"frag/stranded-stream":  {"pieces": "streams"},
	"frag/pending-free":     {"pieces": "streams"},
	"frag/stranded-pool":    {"pieces": "graphs"},
	"ranks/context-on-gpu0": {Root: "uneven", "parallel": "processes", "surplus": "contexts"},
	"ranks/odd-one-out":     {Root: "uneven"},
	"peak/grad-copies":      {"first": "ddp"},
	"peak/logits-fp32":      {"first": "vocabulary"},
}

// libraries are the beginnings of titles of oom/hidden, which name what failed.
var libraries = []struct{ title, value string }{
	{"cuBLAS", "cublas"}, {"cuDNN", "cudnn"}, {"cuFFT", "cufft"}, {"NCCL", "nccl"}, {"the CUDA", "driver"},
}

// libraryIn is the library that a hidden error names, as an answer.
func libraryIn(s Sight) Answers {
	for _, l := range libraries {
		if s.Rule == "oom/hidden" && strings.HasPrefix(s.Text, l.title) {
			return Answers{"library": l.value}
		}
	}
	return nil
}

// readable are the questions that a source answers: where a rule is broken in it that comes
// first at one of the answers, that is the answer.
var readable = []string{"loop", "grad"}

// Read returns what sights answer, the most telling sight first: those of what went wrong
// come before those of what is merely there.
func Read(sights []Sight) []Known {
	var all []Known
	sorted := slices.Clone(sights)
	slices.SortStableFunc(sorted, func(a, b Sight) int { return int(b.Severity) - int(a.Severity) })
	for _, s := range sorted {
		if s.Here || s.Confidence < rules.Medium {
			continue
		}
		all = addKnown(all, s, told[s.Rule])
		all = addKnown(all, s, libraryIn(s))
	}
	for _, key := range readable {
		if k, ok := readInCode(sorted, key); ok {
			all = append(all, k)
		}
	}
	return all
}

// addKnown adds what a sight tells to what is known, in the order of the tree.
func addKnown(all []Known, s Sight, tells Answers) []Known {
	for i := range tree {
		key := tree[i].Key
		value, ok := tells[key]
		if key == Root && s.Severity < rules.Warning {
			continue // what is worth a remark only is not what people come with
		}
		if ok && !slices.ContainsFunc(all, func(k Known) bool { return k.Key == key }) {
			all = append(all, Known{key, value, s.Source, s.Rule})
		}
	}
	return all
}

// readInCode answers a question from the source, if one answer alone fits what was seen.
func readInCode(sights []Sight, key string) (found Known, ok bool) {
	for _, o := range byKey[key].Options {
		for _, s := range sights {
			if !s.Code || !s.weighty() || len(o.Leaf) == 0 || o.Leaf[0].Rule != s.Rule {
				continue
			}
			if ok && found.Value != o.Value {
				return Known{}, false
			}
			found, ok = Known{key, o.Value, s.Source, s.Rule}, true
		}
	}
	return found, ok
}
