package analyze

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/message"
)

// RedactText returns what was found in a text without the paths and names of the
// program, as Redact does for a recording: frames of its own become user1.py and f1,
// hosts and processes the like, and of a quoted line the words of CUDA's and
// PyTorch's own stay. Sizes, ranks, process numbers and line numbers stay.
func RedactText(rep *message.Report) *message.Report {
	r := *rep
	n := redactor{names: make(map[string]string)}
	r.OOMs = slices.Clone(rep.OOMs)
	for i := range r.OOMs {
		o := &r.OOMs[i]
		o.Source = n.source(o.Source)
		o.Traceback = n.traceback(o.Traceback)
	}
	r.Clues = slices.Clone(rep.Clues)
	for i := range r.Clues {
		c := &r.Clues[i]
		c.Source = n.source(c.Source)
		c.Frames = n.traceback(c.Frames)
		c.Process = n.rename("program", c.Process)
		c.Text = publicWords(c.Text)
	}
	r.Summaries = slices.Clone(rep.Summaries)
	for i := range r.Summaries {
		r.Summaries[i].Source = n.source(r.Summaries[i].Source)
	}
	r.Stats = slices.Clone(rep.Stats)
	for i := range r.Stats {
		r.Stats[i].Source = n.source(r.Stats[i].Source)
	}
	r.SMI = slices.Clone(rep.SMI)
	for i := range r.SMI {
		r.SMI[i].Processes = slices.Clone(r.SMI[i].Processes)
		for j := range r.SMI[i].Processes {
			p := &r.SMI[i].Processes[j]
			p.Name = n.rename("program", p.Name)
		}
	}
	return &r
}

func (n *redactor) source(s message.Source) message.Source {
	s.Host = n.rename("host", s.Host)
	if s.Rank < 0 {
		s.Label = n.rename("process", s.Label)
	} else {
		s.Label = ""
	}
	return s
}

func (n *redactor) traceback(list []message.Frame) []message.Frame {
	frames := textFrames(list)
	reader := newFrameReader(frames)
	out := make([]message.Frame, len(list))
	for i, f := range frames {
		g := n.frame(f, reader.facts(f))
		out[i] = message.Frame{File: g.Filename, Line: f.Line, Func: g.Name}
	}
	return out
}

// publicWord is what of a quoted line is sure to be no name of the program's.
var publicWord = regexp.MustCompile(`(?i:out of memory|oom[-_ ]killed|killed by signal)|\b(?:CUBLAS|CUDNN|CUFFT|CUSOLVER|CUSPARSE|CUDA|HIP|NCCL|NVML|RESOURCE)_[A-Z_]+\b`)

// publicWords are those in a line, each once.
func publicWords(line string) string {
	var words []string
	for _, w := range publicWord.FindAllString(line, -1) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
