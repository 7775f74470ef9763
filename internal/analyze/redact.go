package analyze

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// Redact returns rec without the paths and names of the program that made it: its
// files become user1.py, its functions f1, annotations and labels the like. Frames of
// libraries keep their path from the package on, so that what was called is still
// told. Sizes, times and line numbers stay.
func Redact(rec *snapshot.Recording) *snapshot.Recording {
	r := *rec
	n := redactor{names: make(map[string]string)}
	reader := newFrameReader(rec.Frames)
	r.Frames = make([]snapshot.Frame, len(rec.Frames))
	for i, f := range rec.Frames {
		r.Frames[i] = n.frame(f, reader.facts(f))
	}
	r.Labels = make([]string, len(rec.Labels))
	for i, l := range rec.Labels {
		r.Labels[i] = n.rename("label", l)
	}
	r.Annotations = make([]snapshot.Annotation, len(rec.Annotations))
	for i, a := range rec.Annotations {
		a.Name = n.scope(a.Name)
		r.Annotations[i] = a
	}
	return &r
}

// redactor gives each name another, always the same.
type redactor struct {
	names map[string]string
	count map[string]int
}

func (n *redactor) rename(kind, name string) string {
	if name == "" || name == "N/A" {
		return name
	}
	if r, ok := n.names[kind+name]; ok {
		return r
	}
	if n.count == nil {
		n.count = make(map[string]int)
	}
	n.count[kind]++
	r := fmt.Sprintf("%s%d", kind, n.count[kind])
	n.names[kind+name] = r
	return r
}

func (n *redactor) frame(f snapshot.Frame, facts frameFacts) snapshot.Frame {
	f.Fx = ""
	switch facts.whose {
	case Users:
		f.Filename, f.Name = n.rename("user", f.Filename)+".py", n.rename("f", f.Name)
	case Library:
		f.Filename = path.Join("site-packages", facts.rel)
		if facts.pkg == "python" {
			f.Filename = path.Join("lib/python3", facts.rel)
		}
	default:
		f.Filename = path.Base(slashes(f.Filename))
		if !publicSymbol(f.Name) {
			f.Name = n.rename("native", f.Name)
		}
	}
	return f
}

// scope renames an annotation. Those that torch makes by itself are kept, for steps
// are found by them; what follows the # of an optimizer's is the program's own class.
func (n *redactor) scope(name string) string {
	for _, prefix := range []string{"ProfilerStep#", "nccl:", "DistributedDataParallel.", "DataParallel.", "FSDP::"} {
		if strings.HasPrefix(name, prefix) {
			return name
		}
	}
	if head, rest, ok := strings.Cut(name, "#"); ok && strings.HasPrefix(head, "Optimizer.") {
		return head + "#" + n.rename("optimizer", rest)
	}
	return n.rename("scope", name)
}

// publicSymbol tells whether a C++ function is of PyTorch, CUDA, Python or the C++
// library, and not of an extension of the program's.
func publicSymbol(name string) bool {
	for _, part := range []string{"at::", "c10::", "torch::", "std::", "caffe2::"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, prefix := range []string{"_", "Py", "cu", "THP", "clone", "pthread"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// RedactCensus returns what a process said of what it held without the program's names:
// each keeper is told by its kind and a number. Nodes of autograd keep their names where
// PyTorch made them; those end in a digit, while a program's own end in Backward.
func RedactCensus(c *Census) *Census {
	if c == nil {
		return nil
	}
	r := &Census{Complete: c.Complete, Notes: c.Notes}
	count := make(map[string]int)
	for _, k := range c.Keepers {
		count[k.Kind]++
		k.Path, k.Where = fmt.Sprintf("%s %d", cmp.Or(keeperKinds[k.Kind], "holder"), count[k.Kind]), ""
		k.SavedBy = slices.DeleteFunc(slices.Clone(k.SavedBy), func(name string) bool {
			return name == "" || name[len(name)-1] < '0' || name[len(name)-1] > '9'
		})
		r.Keepers = append(r.Keepers, k)
	}
	return r
}

// keeperKinds are words for what the kinds of keepers are.
var keeperKinds = map[string]string{
	"python": "name", "grad": "gradient", "optimizer": "state of optimizer", "graph": "graph of name", "cycle": "garbage cycle", "native": "holder in C++",
}
