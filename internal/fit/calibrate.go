package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile makes a card of what was measured. What was not stands as it is known of the
// card, or of the one most like it, and is marked.
func (m *Measurements) Profile(now time.Time, plan []ConvCase) (*Profile, error) {
	if m.seconds == 0 {
		return nil, errors.New("the measurements break off: what was to measure did not come to its end")
	}
	c := &m.card
	known, isKnown := likeCard(c)
	p := &Profile{
		Version: profileVersion, Name: nameOf(c.Name, known, isKnown), Device: c.Name, Origin: Measured, TotalBytes: c.TotalBytes, Major: c.Major, Minor: c.Minor,
		Multiprocessors: c.Multiprocessors, MaxThreads: c.MaxThreads, Context: known.Context,
	}
	cal := &Calibration{
		Date: now.UTC().Format(time.DateOnly), Seconds: m.seconds, Torch: m.torch.Torch, CUDA: m.torch.CUDA, CuDNN: m.torch.CuDNN, NCCL: m.torch.NCCL, Driver: c.Driver,
		NVMLTotalBytes: c.NVMLTotalBytes, L2Bytes: c.L2Bytes, SharedBytes: c.SharedBytes,
	}
	p.Calibration = cal
	p.Source = strings.Join(nonEmpty("ullage fit --calibrate", "torch "+cal.Torch, "CUDA "+cal.CUDA, "cuDNN "+CuDNNVersion(cal.CuDNN), "driver "+cal.Driver), ", ")
	stand := standIn{known, isKnown}
	cal.Terms = append(cal.Terms, m.context(&p.Context, stand)...)
	cal.Terms = append(cal.Terms, m.communicators(&p.Context.NCCL, stand), m.workspaces(cal))
	if err := m.convolutions(p, plan); err != nil {
		return nil, err
	}
	if m.torch.Torch != "" {
		terms, err := m.checkTerms(p)
		if err != nil {
			return nil, err
		}
		cal.Terms = append(cal.Terms, terms...)
	}
	return p, p.check()
}

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" || strings.HasSuffix(s, " ") })
}

// likeCard returns what is known of the card, or of the one of its generation that is
// nearest in multiprocessors, or of the nearest of all.
func likeCard(c *cardLine) (p *Profile, same bool) {
	if p, err := FindProfile(c.Name); err == nil {
		return p, true
	}
	distance := func(p *Profile) int {
		return 1000*max(p.Major-c.Major, c.Major-p.Major) + max(p.Multiprocessors-c.Multiprocessors, c.Multiprocessors-p.Multiprocessors)
	}
	return slices.MinFunc(Profiles(), func(a, b *Profile) int { return distance(a) - distance(b) }), false
}

func nameOf(device string, known *Profile, isKnown bool) string {
	if isKnown {
		return known.Name
	}
	words := strings.Fields(strings.ToLower(device))
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "nvidia" || w == "geforce" || w == "tesla" }), "-")
}

// standIn is the card whose numbers stand for what was not measured.
type standIn struct {
	card *Profile
	same bool
}

// left is a term that was not measured, with the reason.
func (s standIn) left(name, why string) CalibratedTerm {
	switch {
	case s.same && s.card.Origin == Measured:
		return CalibratedTerm{Name: name, Origin: Assumed, Text: "not measured (" + why + "): as on another " + s.card.Device}
	case s.same:
		return CalibratedTerm{Name: name, Origin: Published, Text: "not measured (" + why + "): from " + s.card.Source}
	}
	return CalibratedTerm{Name: name, Origin: Assumed, Text: "not measured (" + why + "): as of " + s.card.Name}
}

// Steps of the context's measurement, as the companion names them, in order.
var contextSteps = []string{"init", "kernels", "bias", "cublas", "thread", "cudnn", "training"}

// spreadLeast is how far the context of 111 training jobs was off on an H200, and noiseBytes
// how far two measurements may differ without being called noisy.
const (
	spreadLeast = 24 << 20
	noiseBytes  = 4 << 20
)

// context fills in what a process takes, from the one measurement or the larger of two.
func (m *Measurements) context(c *Context, stand standIn) []CalibratedTerm {
	first, apart := m.steps(1)
	second, _ := m.steps(2)
	if len(first) < len(contextSteps) {
		first, second = second, first
	}
	if len(first) < len(contextSteps) {
		why := m.whyLeft("context")
		if why == "" {
			why = "the driver does not tell how much memory is in use"
		}
		return []CalibratedTerm{stand.left("context", why)}
	}
	difference := int64(0)
	if len(second) == len(first) {
		for i := range first {
			difference = max(difference, first[i]-second[i], second[i]-first[i])
			first[i] = max(first[i], second[i])
		}
	}
	of := func(step string) int64 { return first[slices.Index(contextSteps, step)] }
	c.CuBLASBytes, c.CuBLASMoreBytes = max(0, of("cublas")-of("kernels")), max(0, of("thread")-of("cublas"))
	c.CuDNNBytes = max(0, of("cudnn")-of("thread"))
	c.BaseBytes = max(0, of("training")-c.CuBLASBytes-c.CuBLASMoreBytes-c.CuDNNBytes)
	c.SpreadBytes = max(spreadLeast, 2*difference)
	t := CalibratedTerm{Name: "context", Origin: Measured, Noisy: difference > noiseBytes || !apart && m.shared()}
	t.Text = contextText(first, apart, len(second) == len(first), difference)
	if t.Noisy && !apart {
		t.Text += "; other processes used the card meanwhile"
	}
	return []CalibratedTerm{t}
}

func contextText(steps []int64, apart, twice bool, difference int64) string {
	var parts []string
	for i, name := range contextSteps {
		parts = append(parts, fmt.Sprintf("%s %d", name, steps[i]>>20))
	}
	text := "MiB of a process by step: " + strings.Join(parts, ", ")
	switch {
	case !twice:
		text += "; measured once"
	default:
		text += fmt.Sprintf("; measured twice, %.0f MiB apart", float64(difference)/(1<<20))
	}
	if !apart {
		text += "; from what is in use on the whole card: the driver does not tell processes apart here"
	}
	return text
}

// steps returns what a process took after each step, what PyTorch reserved apart; and
// whether the driver told processes apart.
func (m *Measurements) steps(run int) (bytes []int64, apart bool) {
	var before *processLine
	for i := range m.processes {
		l := &m.processes[i]
		switch {
		case l.Run != run:
		case l.What == "before":
			before = l
		case len(bytes) == len(contextSteps) || l.What != contextSteps[len(bytes)]:
			return nil, false
		case l.Mine != nil:
			bytes, apart = append(bytes, *l.Mine-l.Reserved), true
		case l.Device != nil && before != nil && before.Device != nil && !apart:
			bytes = append(bytes, *l.Device-*before.Device-l.Reserved)
		default:
			return nil, false
		}
	}
	return bytes, apart
}

// shared tells whether other processes were on the card.
func (m *Measurements) shared() bool {
	return slices.ContainsFunc(m.processes, func(l processLine) bool { return l.What == "before" && l.Others > 0 })
}

// workspaces fills in what cuBLAS and cuBLASLt keep for a handle and stream.
func (m *Measurements) workspaces(cal *Calibration) CalibratedTerm {
	kept := map[string][]int64{}
	steady := true
	for _, p := range m.products {
		if was, met := kept[p.What]; met && !slices.Equal(was, p.Kept) {
			steady = false
		}
		kept[p.What] = p.Kept
	}
	t := CalibratedTerm{Name: CuBLAS.String(), Origin: Computed, Text: "by PyTorch's code; not measured: " + m.orUnclear("kernels")}
	plain, biased := kept["mm"], kept["addmm"]
	if _, met := kept["addmm"]; len(plain) != 1 || !met || !steady {
		return t
	}
	cal.CuBLASWorkspace = plain[0]
	rest := slices.Clone(biased)
	if i := slices.Index(rest, plain[0]); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
	}
	for _, n := range rest {
		cal.CuBLASLtWorkspace += n
	}
	t.Origin = Measured
	t.Text = fmt.Sprintf("%.1f MiB for a handle and stream, %.1f MiB more for cuBLASLt", float64(cal.CuBLASWorkspace)/(1<<20), float64(cal.CuBLASLtWorkspace)/(1<<20))
	if !slices.Equal(kept["stream"], plain) {
		t.Noisy = true
		t.Text += fmt.Sprintf("; on another stream %v bytes, where as much was expected", kept["stream"])
	}
	return t
}

func (m *Measurements) orUnclear(part string) string {
	if why := m.whyLeft(part); why != "" {
		return why
	}
	return "the products did not show it"
}

// convolutions takes over the measured ones, and compares them with the H200's.
func (m *Measurements) convolutions(p *Profile, plan []ConvCase) error {
	out := &p.Calibration.Convolutions
	h200 := measuredConvs()
	measured := 0
	for i := range plan {
		workspace, ok := m.convs[i]
		if !ok {
			continue
		}
		v := plan[i].shape
		if v.mode == convTF32 && p.Major < 8 {
			v.mode = convF32 // the card has no TF32, and runs the kernels of float32
		}
		if v.ownKernel() {
			continue
		}
		for d, ws := range workspace {
			if ws < 0 {
				continue
			}
			measured++
			if w := h200.estimate(v, convDir(d)); w.exact {
				out.Compared++
				if w.bytes == ws {
					out.Equal++
				}
			}
		}
		out.Rows = append(out.Rows, formatConv(&v, workspace))
	}
	p.Calibration.Terms = append(p.Calibration.Terms, m.convTerm(out, measured, len(plan)))
	return out.index()
}

func (m *Measurements) convTerm(out *ConvMeasurements, measured, planned int) CalibratedTerm {
	t := CalibratedTerm{Name: Convolution.String(), Origin: Measured}
	if measured == 0 {
		t.Origin, t.Text = Assumed, "not measured ("+m.orUnclear("kernels")+"): as of h200"
		return t
	}
	t.Text = fmt.Sprintf("%d workspaces of %d layers in heuristic mode; there was time for %d of %d cases. Of %d that were measured on an H200 too, %d are the same: ",
		measured, len(out.Rows), m.tried, planned, out.Compared, out.Equal)
	if m.lost > 0 {
		t.Text = fmt.Sprintf("%d cases were not found in the allocator's history. ", m.lost) + t.Text
	}
	switch {
	case out.share() >= sameShare:
		t.Text += "what was not measured here is taken from there"
	case out.share() >= alikeShare:
		t.Text += "what was not measured here is taken from there, as an estimate"
	case out.Compared < comparedLeast:
		t.Text += "too few to tell; what was not measured here is taken from there, as an estimate"
	default:
		t.Text += "what was not measured here is estimated from what was"
	}
	return t
}
