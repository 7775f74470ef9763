package doctor

import (
	"encoding/json"
	"strings"
)

// Answers is what a Python interpreter says to the questions of doctor_ask.py, one line of
// JSON a step. A step that was not reached is nil.
type Answers struct {
	About    *AboutPython
	Inject   *Injected
	Files    *TorchFiles
	Torch    *TorchBuild
	CUDA     *TorchCUDA
	Settings *TorchSettings
}

// AboutPython is the interpreter itself.
type AboutPython struct {
	Version       string  `json:"version"`
	Executable    string  `json:"executable"`
	Prefix        string  `json:"prefix"`
	Isolated      bool    `json:"isolated"` // it ignores PYTHONPATH
	NoSite        bool    `json:"no_site"`  // it imports no sitecustomize
	SiteCustomize *string `json:"sitecustomize"`
	CPUs          int     `json:"cpus"`
}

// Injected is whether a Python started as `ullage run` does found the companion.
type Injected struct {
	Works bool   `json:"works"`
	Said  string `json:"said"`
}

// TorchFiles is PyTorch on disk, before it was imported.
type TorchFiles struct {
	Found   bool    `json:"found"`
	Origin  string  `json:"origin"`
	Version string  `json:"version"`
	CUDA    *string `json:"cuda"`
	HIP     *string `json:"hip"`
	Error   string  `json:"error"`
}

// TorchBuild is PyTorch once imported.
type TorchBuild struct {
	Version string   `json:"version"`
	CUDA    *string  `json:"cuda"`
	HIP     *string  `json:"hip"`
	Archs   []string `json:"archs"`
	Error   string   `json:"error"`
}

// TorchCUDA is what PyTorch finds once it has begun to use CUDA.
type TorchCUDA struct {
	Devices []TorchDevice `json:"devices"`
	Error   string        `json:"error"`
}

// TorchDevice is a device as PyTorch numbers it.
type TorchDevice struct {
	Name       string `json:"name"`
	Capability string `json:"capability"`
	TotalBytes int64  `json:"total_bytes"`
	UUID       string `json:"uuid"` // without its prefix; empty before 2.4
	Integrated bool   `json:"integrated"`
}

// TorchSettings is the allocator's settings as they are in force.
type TorchSettings struct {
	Backend  string         `json:"backend"`
	Settings *InForceValues `json:"settings"` // nil where the release does not tell
	Error    string         `json:"error"`
}

// InForceValues are the settings that a snapshot carries.
type InForceValues struct {
	Conf          string  `json:"PYTORCH_CUDA_ALLOC_CONF"`
	MaxSplitBytes int64   `json:"max_split_size"`
	GCThreshold   float64 `json:"garbage_collection_threshold"`
	Expandable    bool    `json:"expandable_segments"`
}

const answerMark = "ullage-doctor "

// maxAnswer bounds one line of an answer.
const maxAnswer = 1 << 20

// ParseAnswers reads what the interpreter printed. Lines that are no answer are others':
// modules that print when they are imported. last is the step of the last answer, "end"
// where it got through.
func ParseAnswers(out string) (a Answers, last string) {
	for line := range strings.Lines(out) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), answerMark)
		if !ok || len(text) > maxAnswer {
			continue
		}
		var step struct{ Step string }
		if json.Unmarshal([]byte(text), &step) != nil {
			continue
		}
		if a.read(step.Step, text) {
			last = step.Step
		}
	}
	return a, last
}

// read takes one answer in, and tells whether it is one.
func (a *Answers) read(step, text string) bool {
	switch step {
	case "python":
		return decode(text, &a.About)
	case "inject":
		return decode(text, &a.Inject)
	case "torch-files":
		return decode(text, &a.Files)
	case "torch":
		return decode(text, &a.Torch)
	case "cuda":
		return decode(text, &a.CUDA)
	case "settings":
		return decode(text, &a.Settings)
	}
	return step == "end"
}

func decode[T any](text string, to **T) bool {
	value := new(T)
	if json.Unmarshal([]byte(text), value) != nil {
		return false
	}
	*to = value
	return true
}

// version is PyTorch's, imported or not; empty where there is none.
func (p *Python) version() string {
	switch {
	case p.Torch != nil && p.Torch.Version != "":
		return p.Torch.Version
	case p.Files != nil:
		return p.Files.Version
	}
	return ""
}

// cuda is the release of CUDA that PyTorch was built for; empty where for none.
func (p *Python) cuda() string { return p.built(func(b TorchBuild) *string { return b.CUDA }) }

// hip is the release of ROCm that it was built for.
func (p *Python) hip() string { return p.built(func(b TorchBuild) *string { return b.HIP }) }

func (p *Python) built(which func(TorchBuild) *string) string {
	var b TorchBuild
	switch {
	case p.Torch != nil && p.Torch.Error == "":
		b = *p.Torch
	case p.Files != nil:
		b = TorchBuild{CUDA: p.Files.CUDA, HIP: p.Files.HIP}
	}
	if v := which(b); v != nil {
		return *v
	}
	return ""
}

// asked tells whether the interpreter was asked, and began to answer.
func (p *Python) asked() bool { return p.About != nil }
