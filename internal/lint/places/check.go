package places

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Check returns the mistakes in a file, by place. A file that is no well-formed one of its
// kind is read as far as it goes.
func Check(kind Kind, name string, text []byte) []rules.Mistake {
	if len(text) > MaxBytes || !concerns(text) {
		return nil
	}
	f := &file{name: name, text: string(text)}
	switch kind {
	case Dotenv:
		f.dotenv()
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
	name  string
	text  string
	found []rules.Mistake
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
	for _, fault := range Variable(s.name, s.value) {
		f.found = append(f.found, fault.mistake(s.place(&fault)))
	}
}

// report adds a mistake that is no fault of a value.
func (f *file) report(at span, fault *Fault) *rules.Mistake {
	f.found = append(f.found, fault.mistake(at))
	return &f.found[len(f.found)-1]
}
