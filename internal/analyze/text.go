package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// TextResult is what can be concluded from a text, and no more.
type TextResult struct {
	Verdict  string          // one or two sentences
	OOMs     []TextOOM       // one for each message, in the order of the text
	Findings []rules.Finding // the most severe first
	Notes    []string        // facts that are no finding: who is on the GPU, what a line does not mean
	Unknown  []string        // what the text cannot say
	Next     []string        // what to run to know more, a line each
}

// Text draws conclusions from what was found in a log or a message.
func Text(r *message.Report) *TextResult {
	t := &textAnalysis{rep: r, res: &TextResult{}}
	for i := range r.OOMs {
		t.res.OOMs = append(t.res.OOMs, judgeText(&r.OOMs[i]))
	}
	t.oomFindings()
	t.clueFindings()
	t.tableFindings()
	t.finish()
	return t.res
}

// textAnalysis collects the conclusions.
type textAnalysis struct {
	rep   *message.Report
	res   *TextResult
	found []textFinding

	counted int64 // out-of-memory errors that statistics count
}

// textFinding is a finding with the line of the text that it comes from.
type textFinding struct {
	rules.Finding
	line  int
	hedge bool // the title claims what may not be: the verdict says so
}

func (t *textAnalysis) add(line int, f rules.Finding) {
	f.Event = -1
	t.found = append(t.found, textFinding{Finding: f, line: line})
}

func (t *textAnalysis) note(format string, args ...any) {
	if len(t.res.Notes) < 100 {
		t.res.Notes = append(t.res.Notes, fmt.Sprintf(format, args...))
	}
}

func (t *textAnalysis) finish() {
	slices.SortStableFunc(t.found, func(a, b textFinding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.doubt(), a.doubt()), cmp.Compare(a.line, b.line))
	})
	set := settingsInText(t.rep.Settings)
	for _, f := range t.found {
		whole := rules.Complete(f.Finding)
		set.adapt(&whole)
		t.res.Findings = append(t.res.Findings, whole)
	}
	t.res.Verdict = t.verdict()
	t.limits()
}

// doubt orders findings that may be nothing after those that are something. Among
// the others the first in the text counts: what follows is often its consequence.
func (f *textFinding) doubt() int {
	if f.hedge {
		return -1
	}
	return 0
}

// verdict is the first finding in a sentence, with the limit that was met.
func (t *textAnalysis) verdict() string {
	if t.rep.Empty() {
		return "Nothing about memory was found in this text."
	}
	if len(t.found) == 0 && t.counted > 0 {
		return fmt.Sprintf("This text counts %s, but not the message, which would tell more.", units.FormatPlural(int(t.counted), "out-of-memory error", "out-of-memory errors"))
	}
	if len(t.found) == 0 {
		return "This text shows how memory was used; it shows no failure."
	}
	first := t.found[0]
	v := sentence(first.Title)
	if first.hedge {
		v = "Perhaps " + first.Title + "."
	}
	for _, f := range t.found[1:] {
		if f.Rule == "oom/fraction-cap" && first.Rule != f.Rule && f.line == first.line {
			return v + " " + sentence(f.Title)
		}
	}
	return v
}

// sentence makes one of a title. Names such as cuBLAS stay as they are.
func sentence(s string) string {
	if word, _, _ := strings.Cut(s, " "); strings.ToLower(word) != word {
		return s + "."
	}
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] + "."
}

// limits says what the text leaves open and how to find out.
func (t *textAnalysis) limits() {
	if len(t.rep.OOMs) == 0 && !t.gpuClue() {
		return
	}
	t.res.Unknown = []string{
		"which tensors hold the memory, and where they were allocated",
		"whether the free memory was in one piece, on the stream of the request, or waiting for another stream",
		"whether memory grew over the steps before",
	}
	t.res.Next = t.next()
}

// next says how to record what the text leaves open, on the platform that it is about.
func (t *textAnalysis) next() []string {
	switch t.platform() {
	case "", "CUDA", "HIP": // ROCm has the names of CUDA
		return []string{
			"ullage run -- python train.py  # your command: it is recorded when memory runs out, and explained; or by hand:",
			"torch.cuda.memory._record_memory_history(max_entries=100000)  # before the model is built",
			`torch.cuda.memory._dump_snapshot("oom.pickle")  # in an except torch.OutOfMemoryError, or torch.cuda.OutOfMemoryError before 2.5`,
			"ullage explain oom.pickle",
		}
	case "XPU":
		return []string{
			"torch.xpu.memory._record_memory_history(max_entries=100000)  # before the model is built; PyTorch 2.11 or newer",
			`torch.xpu.memory._dump_snapshot("oom.pickle")  # in an except torch.OutOfMemoryError`,
			"ullage explain oom.pickle",
		}
	case "MPS": // PyTorch keeps no history there
		return []string{"print(torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory())  # after each step: tells growth; MPS has no recordings"}
	case platformXLA:
		return []string{`jax.profiler.save_device_memory_profile("memory.prof")  # where it is JAX: who holds the memory, for pprof`}
	}
	return nil // of NPU, MUSA and others no way is known that every release has
}

// platformXLA stands for allocators of JAX and TensorFlow.
const platformXLA = "XLA"

// platform is what the first message names, or "" where that is open.
func (t *textAnalysis) platform() string {
	for i := range t.rep.OOMs {
		if p := t.rep.OOMs[i].Platform; p != "" {
			return p
		}
	}
	other := func(c message.Clue) bool { return c.Kind != message.XLAExhausted && !c.Kind.Host() }
	if len(t.rep.OOMs) == 0 && !slices.ContainsFunc(t.rep.Clues, other) {
		return platformXLA
	}
	return ""
}

func (t *textAnalysis) gpuClue() bool {
	return slices.ContainsFunc(t.rep.Clues, func(c message.Clue) bool { return !c.Kind.Host() && c.Kind != message.KernelShared })
}

// textFrames turns the frames of a traceback into those of a finding.
func textFrames(list []message.Frame) []snapshot.Frame {
	var frames []snapshot.Frame
	for _, f := range list {
		frames = append(frames, snapshot.Frame{Name: f.Func, Filename: f.File, Line: f.Line})
	}
	return frames
}

// textSources names processes: "rank 3", "ranks 0 to 7", or by their prefix.
func textSources(list []message.Source) string {
	var ranks []int
	var labels []string
	for _, s := range list {
		switch {
		case s.Rank >= 0:
			ranks = append(ranks, s.Rank)
		case s.Label != "":
			labels = append(labels, s.Label)
		case s.Host != "":
			labels = append(labels, s.Host)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	slices.Sort(labels)
	labels = slices.Compact(labels)
	parts := rankWords(ranks)
	if len(labels) > 4 {
		labels = append(labels[:3], fmt.Sprintf("%d more", len(labels)-3))
	}
	return strings.Join(append(parts, labels...), ", ")
}

func rankWords(ranks []int) []string {
	n := len(ranks)
	switch {
	case n == 0:
		return nil
	case n == 1:
		return []string{fmt.Sprintf("rank %d", ranks[0])}
	case n == 2:
		return []string{fmt.Sprintf("ranks %d and %d", ranks[0], ranks[1])}
	case ranks[n-1]-ranks[0] == n-1:
		return []string{fmt.Sprintf("ranks %d to %d", ranks[0], ranks[n-1])}
	case n > 8:
		return []string{fmt.Sprintf("%d ranks from %d to %d", n, ranks[0], ranks[n-1])}
	}
	words := make([]string, n)
	for i, r := range ranks {
		words[i] = fmt.Sprint(r)
	}
	return []string{"ranks " + strings.Join(words, ", ")}
}
