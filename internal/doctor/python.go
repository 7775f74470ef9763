package doctor

import (
	"fmt"
	"strings"
)

// python tells which interpreter programs get, which PyTorch it has, and whether `ullage
// run` can watch what it runs.
func python(f *Facts) []Check {
	checks := []Check{f.pythonCheck()}
	if !f.Python.asked() || tooOld(&f.Python) {
		return checks
	}
	if c, ok := f.injectCheck(); ok {
		checks = append(checks, c)
	}
	return append(checks, f.torchCheck())
}

// Oldest releases of Python: that the companion runs in, and that doctor_ask.py goes on in.
const (
	oldestWatched = "3.9"
	oldestAsked   = "3.5"
)

func (f *Facts) pythonCheck() Check {
	const id = "torch/python"
	p := &f.Python
	switch {
	case p.Program == "":
		return unknown(id, "Python was not asked")
	case !p.asked() && strings.Contains(p.Err, "not installed"):
		return found(id, Note, "there is no Python by the name of "+p.Program,
			"Nothing can be told of PyTorch.", "name the interpreter of your programs: ullage doctor --python PATH")
	case !p.asked():
		return found(id, Problem, fmt.Sprintf("%s does not run: %s", p.Program, p.Err),
			"Nothing can be told of PyTorch.", "see what it says: "+p.Program+" -c pass", "or name another: ullage doctor --python PATH")
	case tooOld(p):
		return found(id, Warning, fmt.Sprintf("%s is Python %s, too old to be asked for more", p.About.Executable, p.About.Version),
			"No PyTorch that is known here runs in it.", "name the interpreter of your programs: ullage doctor --python PATH")
	}
	if p.Program == p.About.Executable {
		return ok(id, "%s is Python %s", p.Program, p.About.Version)
	}
	return ok(id, "%s is Python %s at %s", p.Program, p.About.Version, p.About.Executable)
}

func tooOld(p *Python) bool {
	return parseRelease(p.About.Version).before(parseRelease(oldestAsked))
}

// injectCheck tells whether a Python that is started as `ullage run` starts programs finds
// the companion. That was tried, since much can stand in the way.
func (f *Facts) injectCheck() (Check, bool) {
	const id = "run/inject"
	p := &f.Python
	const means = "'ullage run' can start programs of this Python, but watches nothing in them."
	switch {
	case parseRelease(p.About.Version).before(parseRelease(oldestWatched)):
		return found(id, Warning, "Python "+p.About.Version+" is too old for 'ullage run' to watch programs of", means,
			"use Python "+oldestWatched+" or newer"), true
	case p.NoFolder != "":
		return found(id, Warning, "'ullage run' has no folder to work in: "+p.NoFolder, means,
			"set HOME, XDG_CACHE_HOME or TMPDIR to a folder that only you can write to"), true
	case p.Inject == nil:
		return Check{}, false
	case p.Inject.Works && p.About.SiteCustomize != nil:
		return ok(id, "'ullage run' can watch programs of this Python (tried), and runs its own sitecustomize too: %s", *p.About.SiteCustomize), true
	case p.Inject.Works:
		return ok(id, "'ullage run' can watch programs of this Python (tried), unless their command line has -I, -E or -S"), true
	}
	do := []string{"call the interpreter without -I, -E and -S, and not through a program that adds them"}
	if p.About.Isolated {
		do = []string{"this interpreter ignores PYTHONPATH (it is called with -I or -E, or built so): use the one of a virtual environment"}
	}
	seen := "'ullage run' cannot watch programs of this Python: it did not import what was put on its path"
	if said := strings.TrimSpace(p.Inject.Said); said != "" {
		seen += ", and said: " + lastLine(said)
	}
	return found(id, Warning, seen, means, do...), true
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// oldestTorch is the first release of PyTorch that records its memory.
const oldestTorch = "2.0"

const buildID = "torch/build"

func (f *Facts) torchCheck() Check {
	const id = buildID
	p := &f.Python
	version := p.version()
	switch {
	case p.Torch != nil && p.Torch.Error != "":
		return found(id, Problem, fmt.Sprintf("PyTorch %s cannot be imported: %s", version, p.Torch.Error), "No program of this Python can use it.",
			"install it anew in an environment of its own, and look for a file or folder named torch beside the program")
	case p.Files != nil && p.Files.Found && p.Torch == nil && !p.Stopped:
		return found(id, Problem, fmt.Sprintf("Python ends when PyTorch %s is imported: %s", version, p.Err), "No program of this Python can use it.",
			"see what it says: "+p.Program+" -c 'import torch'")
	case p.Files == nil || p.Files.Found && p.Torch == nil:
		return found(id, Warning, fmt.Sprintf("what PyTorch this Python has is not known: %s", firstOf(p.Err, "it did not say")),
			"It did not come to an end when torch was to be imported.", "give it more time: ullage doctor --timeout 5m",
			"see what takes so long: python -X importtime -c 'import torch'")
	case !p.Files.Found:
		return found(id, Note, "this Python has no PyTorch", "Whether driver, CUDA and PyTorch fit together cannot be told.",
			"name the interpreter of your programs: ullage doctor --python PATH")
	case p.hip() != "":
		return found(id, Note, fmt.Sprintf("PyTorch %s is built for ROCm %s", version, p.hip()),
			"Recordings of it can be read. The checks of driver and GPUs are for NVIDIA's.")
	case p.cuda() == "" && f.Probe.Reading != nil:
		return found(id, Problem, fmt.Sprintf("PyTorch %s is built without CUDA", version),
			"torch.cuda.is_available() is False whatever the driver is. pip installs such a build on some systems unless told otherwise.",
			"install a build for CUDA: see https://pytorch.org/get-started/locally")
	case p.cuda() == "":
		return found(id, Note, fmt.Sprintf("PyTorch %s is built without CUDA", version), "It runs on the processor alone.")
	case parseRelease(version).before(parseRelease(oldestTorch)):
		return found(id, Warning, fmt.Sprintf("PyTorch %s records no history of its memory", version), "'ullage run' can write no recording of it.",
			"use PyTorch "+oldestTorch+" or newer")
	}
	return ok(id, "PyTorch %s is built for CUDA %s", version, p.cuda())
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
