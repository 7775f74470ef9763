package places

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/rules"
)

// Check returns the mistakes in a file, by place. A file that is no well-formed one of its
// kind is read as far as it goes.
func Check(kind Kind, name string, text []byte) []rules.Mistake {
	if len(text) > MaxBytes || !concerns(text) {
		return nil
	}
	f := &file{text: string(text), release: releaseIn(string(text))}
	switch kind {
	case Shell:
		f.shell()
	case Batch:
		f.batch()
	case PowerShell:
		f.powershell()
	case Dockerfile:
		f.dockerfile()
	case Dotenv:
		f.dotenv()
	case YAML:
		plain, template := withoutActions(f.text)
		f.template = template
		f.config(readYAML(plain))
	case JSON:
		f.config(readJSON(f.text))
	case TOML:
		f.config(readTOML(name, f.text))
	}
	slices.SortStableFunc(f.found, func(a, b rules.Mistake) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Severity, a.Severity))
	})
	return f.found
}

// words are what a file has to have one of to say anything about the memory of a GPU.
var words = [][]byte{[]byte("cuda"), []byte("nvidia"), []byte("alloc"), []byte("gpu"), []byte("nproc"), []byte("xla_")}

// concerns tells whether it pays to read a file: most have nothing to do with GPUs.
func concerns(text []byte) bool {
	lower := bytes.ToLower(text)
	return slices.ContainsFunc(words, func(w []byte) bool { return bytes.Contains(lower, w) })
}

// file is one file that is looked at.
type file struct {
	text    string
	release *allocator.Version // of PyTorch that the file names, or nil
	// template: the file is filled in before it is used, so that only what is there counts,
	// not what is missing or stands beside it.
	template bool
	found    []rules.Mistake
}

// setting is a variable of the environment that a file sets.
type setting struct {
	name, value string
	unknown     bool // the value is made when the file is run
	at          span // the whole of it
	valueAt     span // the value's own bytes, where the file has them unchanged
}

// place puts a fault of a setting where it stands.
func (s *setting) place(f *Fault) span {
	if f.End > f.Start && s.valueAt.end-s.valueAt.start == len(s.value) {
		return span{s.valueAt.start + f.Start, s.valueAt.start + f.End}
	}
	return s.at
}

// variable judges a setting by itself.
func (f *file) variable(s *setting) {
	if s.unknown {
		return
	}
	faults := Variable(s.name, s.value)
	if IsAllocator(s.name) {
		faults = append(confAt(s.value, f.release), f.nameByRelease(s)...)
	}
	for _, fault := range faults {
		f.found = append(f.found, fault.mistake(s.place(&fault)))
	}
}

// nameByRelease finds the new name where the release in use does not heed it.
func (f *file) nameByRelease(s *setting) (found faults) {
	if f.release == nil || s.name != "PYTORCH_ALLOC_CONF" {
		return nil
	}
	switch old := !f.release.AtLeast(2, 9); {
	case old:
		found.add("conf/ignored-variable", rules.Warning, rules.High, "PyTorch %v does not read PYTORCH_ALLOC_CONF: it is known from 2.9 on", f.release).
			because("this file names PyTorch %v", f.release).do("write PYTORCH_CUDA_ALLOC_CONF")
	case !f.release.AtLeast(2, 10) && strings.Contains(s.value, "expandable_segments:True"):
		found.add("conf/expandable-off", rules.Warning, rules.High, "PyTorch 2.9 passes over expandable_segments in PYTORCH_ALLOC_CONF").
			because("this file names PyTorch %v; see pytorch#183387", f.release).do("write PYTORCH_CUDA_ALLOC_CONF")
	}
	return found
}

// pinned are the ways in which a file names the release of PyTorch that it is for.
var pinned = regexp.MustCompile(`(?:\btorch==|\bpytorch==|/pytorch:)(2\.[0-9]+)\b(?:\.[0-9]+)?(\+cpu)?`)

// releaseIn returns the release of PyTorch that a file names, or nil where it names none
// that is known, or several, or one without CUDA.
func releaseIn(text string) *allocator.Version {
	var release *allocator.Version
	for _, m := range pinned.FindAllStringSubmatch(text, -1) {
		v, err := allocator.ParseVersion(m[1])
		if err != nil || m[2] != "" || release != nil && *release != v || v.AtLeast(allocator.Newest.Major, allocator.Newest.Minor+1) {
			return nil
		}
		release = &v
	}
	return release
}

// report adds a mistake that is no fault of a value.
func (f *file) report(at span, fault *Fault) *rules.Mistake {
	f.found = append(f.found, fault.mistake(at))
	return &f.found[len(f.found)-1]
}

// byLine judges a file that sets a variable a line: each by its name and value, by what is special
// to such files, and all of them together.
func (f *file) byLine(read func(line string, at int) (setting, bool), special func(*setting)) {
	var all []setting
	at := 0
	for line := range strings.Lines(f.text) {
		if s, ok := read(line, at); ok {
			all = append(all, s)
			f.variable(&s)
			special(&s)
		}
		at += len(line)
	}
	f.alone(all)
}
