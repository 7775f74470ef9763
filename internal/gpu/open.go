package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How long the probes may take. NVML answers in milliseconds. nvidia-smi loads the driver
// first where no one else holds it, which takes a second or two a device.
const (
	nvmlDeadline = 5 * time.Second
	smiDeadline  = 30 * time.Second
)

// probeNames are what Open takes beside file:PATH and fake:NAME.
var probeNames = []string{"auto", "nvml", "nvidia-smi", "meminfo"}

// ErrNoGPU tells that a machine has no GPU, or none that can be asked.
var ErrNoGPU = errors.New("no GPU was found")

// noGPUError says what was tried.
type noGPUError struct{ tried []error }

func (e *noGPUError) Is(target error) bool { return target == ErrNoGPU }

func (e *noGPUError) Error() string {
	var reasons []string
	for _, err := range e.tried {
		reasons = append(reasons, err.Error())
	}
	return fmt.Sprintf("%v: %s", ErrNoGPU, strings.Join(reasons, "; "))
}

func (e *noGPUError) Unwrap() []error { return e.tried }

// Hint says what to do.
func (e *noGPUError) Hint() string {
	return "in a container, have it started with its GPUs (docker run --gpus all); on a machine with an NVIDIA GPU, install the driver; to look around without one, take --probe fake:h200x2"
}

// SpecError tells of a probe that does not exist.
type SpecError struct{ Spec string }

func (e *SpecError) Error() string { return fmt.Sprintf("%.60q is not a probe", e.Spec) }

// Hint lists what there is.
func (e *SpecError) Hint() string {
	return "a probe is one of " + strings.Join(Specs(), ", ") + ", or file:PATH; fake:NAME@PATH loads a fake by a file"
}

// Specs lists all that Open takes, but for files.
func Specs() []string {
	specs := append([]string{}, probeNames...)
	for _, name := range fakeNames() {
		specs = append(specs, "fake:"+name)
	}
	return specs
}

// OfThisMachine tells whether a probe reads this machine, and not a file or a fake.
func OfThisMachine(spec string) bool {
	return spec == "" || slices.Contains(probeNames, spec)
}

// CheckSpec returns a *SpecError where Open knows no such probe. It asks none.
func CheckSpec(spec string) error {
	how, rest, _ := strings.Cut(spec, ":")
	name, path, loaded := strings.Cut(rest, "@")
	_, scene := scenes()[name]
	if OfThisMachine(spec) || how == "file" && rest != "" || how == "fake" && scene && loaded == (path != "") {
		return nil
	}
	return &SpecError{spec}
}

// Open returns the probe that spec names; see the package comment. "auto", or nothing, is the
// best of those that the machine has.
func Open(ctx context.Context, spec string, m Machine) (Probe, error) {
	how, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "" || spec == "auto":
		return openBest(ctx, m)
	case spec == "nvml":
		return lonely(opened(ctx, m, "NVML", nvmlDeadline, openPlainNVML))
	case spec == "nvidia-smi":
		return lonely(opened(ctx, m, "nvidia-smi", smiDeadline, openSMI))
	case spec == "meminfo":
		return lonely(openMeminfo(m))
	case how == "file" && rest != "":
		return openFile(rest, m)
	case how == "fake" && rest != "":
		return openFake(rest, m)
	}
	return nil, &SpecError{spec}
}

// lonely makes the failure of the only probe that was tried one of a machine without a GPU.
func lonely(p Probe, err error) (Probe, error) {
	if err != nil {
		return nil, &noGPUError{[]error{err}}
	}
	return p, nil
}

func openPlainNVML(_ context.Context, m Machine) (Probe, error) { return m.NVML(m) }

// opened opens a probe, and lets neither that nor a reading take longer than limit.
func opened(ctx context.Context, m Machine, what string, limit time.Duration, open func(context.Context, Machine) (Probe, error)) (Probe, error) {
	opening := lane[Probe]{what: what, limit: limit, clock: m.Clock}
	p, err := opening.do(ctx, func(ctx context.Context) (Probe, error) { return open(ctx, m) })
	if err != nil {
		return nil, err
	}
	return withDeadline(p, what, limit, m.Clock), nil
}

// openBest tries NVML, nvidia-smi and meminfo. What stood in the way of a better probe is a
// note on every reading of the one that works.
func openBest(ctx context.Context, m Machine) (Probe, error) {
	var tried []error
	for _, try := range []func() (Probe, error){
		func() (Probe, error) { return opened(ctx, m, "NVML", nvmlDeadline, openPlainNVML) },
		func() (Probe, error) { return opened(ctx, m, "nvidia-smi", smiDeadline, openSMI) },
		func() (Probe, error) { return openMeminfo(m) },
	} {
		p, err := try()
		if err == nil {
			return &noted{p, tried}, nil
		}
		if stuck := new(StuckError); ctx.Err() != nil || errors.As(err, &stuck) {
			return nil, err // a driver that hangs does so for whoever asks
		}
		tried = append(tried, err)
	}
	return nil, &noGPUError{tried}
}

// noted adds to each reading why it is not of a better probe.
type noted struct {
	Probe
	tried []error
}

func (n *noted) Read(ctx context.Context) (Reading, error) {
	r, err := n.Probe.Read(ctx)
	for _, t := range n.tried {
		r.Notes = append(r.Notes, fmt.Sprintf("read with %s, for %v", r.Source, t))
	}
	return r, err
}
