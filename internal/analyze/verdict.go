package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// VerdictKind is the verdict in a word.
type VerdictKind string

// Verdicts, the most serious first.
const (
	OutOfMemory VerdictKind = "out-of-memory"
	Leaking     VerdictKind = "leak"
	Wasting     VerdictKind = "fragmentation"
	Healthy     VerdictKind = "healthy"
	Unclear     VerdictKind = "unclear" // the recording shows too little
)

// Verdict is the answer in one or two sentences.
type Verdict struct {
	Kind VerdictKind
	Text string
}

// judge gives the verdict on what was found.
func (x *Explanation) judge() Verdict {
	leak := x.worstLeak()
	switch {
	case x.OOMs.Fatal != nil:
		return Verdict{OutOfMemory, x.oomVerdict(x.OOMs.Fatal)}
	case leak != nil:
		return Verdict{Leaking, x.leakVerdict(leak)}
	}
	if text := x.doubt(); text != "" {
		return Verdict{Unclear, text}
	}
	if f := x.wasteFinding(); f != nil {
		return Verdict{Wasting, fmt.Sprintf("%s, but memory is wasted: %s. %s", x.noLeakText(), f.Title, x.levelText())}
	}
	if x.Coverage.Allocs == 0 {
		return Verdict{Unclear, fmt.Sprintf("Nothing was allocated while this was recorded. At its end %s was allocated, from before, of %s reserved.", units.FormatBytes(x.TL.End.Allocated), units.FormatBytes(x.TL.End.Reserved)) + x.cutText()}
	}
	return Verdict{Healthy, "Healthy: " + x.healthText()}
}

// doubt says why no verdict on the level of memory would be sound; or nothing.
func (x *Explanation) doubt() string {
	end := fmt.Sprintf("%s was allocated of %s reserved.", units.FormatBytes(x.TL.End.Allocated), units.FormatBytes(x.TL.End.Reserved))
	c := &x.Coverage
	switch {
	case c.Begins == NoEvents && x.TL.Dev.Cut:
		return "The file breaks off before the history begins. In what could be read of the state at the dump, " + end
	case c.Begins == NoEvents:
		return "No history was recorded. At the dump " + end
	case x.TL.Replay.Guessed:
		return fmt.Sprintf("The file breaks off, and recording began while memory was in use: how much was in use then cannot be told. As far as it goes, at most %s was allocated and %s reserved.", units.FormatBytes(x.Peak.Allocated.Bytes), units.FormatBytes(x.Peak.Reserved.Bytes))
	case c.doubtful():
		return fmt.Sprintf("The recording does not fit together: %s. No verdict on it would be sound. %s", strings.Join(OddTexts(c.Odd), "; "), x.levelText())
	}
	return ""
}

// worstLeak returns the largest growth that is worth a warning, or nil.
func (x *Explanation) worstLeak() *GrowingSite {
	for i := range x.Leaks.Growing {
		if g := &x.Leaks.Growing[i]; g.Severity >= rules.Warning {
			return g
		}
	}
	return nil
}

// littleGain is the share of reserved memory below which what fragmentation keeps from a
// request would not have taken the run much further.
const littleGain = 0.02

func (x *Explanation) oomVerdict(o *OOM) string {
	var b strings.Builder
	within := ""
	if o.Cap.Kind == FractionCap {
		within = fmt.Sprintf(" within a limit of %s", o.Cap.text())
		if o.Cap.LeaseBytes > 0 {
			within = fmt.Sprintf(" within the %s that its lease of %s left it", o.Cap.text(), units.FormatBytes(o.Cap.LeaseBytes))
		}
	}
	if leak := x.leakBehind(o); leak != nil {
		fmt.Fprintf(&b, "Out of memory%s because of a leak: %s a step stay behind at %s, %s by the end.", within,
			units.FormatBytes(int64(leak.BytesPerStep)), x.Sites.Display(leak.Stack), units.FormatBytes(leak.LiveBytes))
		fmt.Fprintf(&b, " The last request, %s, failed: %s.", units.FormatBytes(o.RequestBytes), causeText(o))
		return b.String()
	}
	name := map[OOMCause]string{TrueShortage: "by true shortage", Fragmentation: "by fragmentation", Stranded: "with free memory stranded", PendingFree: "with freed memory still in use", OtherProcess: "because of other processes"}[o.Cause]
	fmt.Fprintf(&b, "Out of memory %s%s: %s asked for at %s did not fit; %s.", name, within, units.FormatBytes(o.RequestBytes), x.Sites.Display(o.Stack), causeText(o))
	if o.Cause == Fragmentation && float64(o.SameFreeBytes) < littleGain*float64(o.Now.Reserved) {
		fmt.Fprintf(&b, " That is %s of what is reserved: in one piece it would not have lasted long.", units.FormatShare(o.SameFreeBytes, o.Now.Reserved))
	}
	if o.Cause == TrueShortage && len(x.Holders.Categories) > 0 {
		c := x.Holders.Categories[0]
		fmt.Fprintf(&b, " Most of the peak of %s is %s (%s).", units.FormatBytes(x.Holders.AllocatedBytes), c.Category, units.FormatShare(c.Bytes, x.Holders.AllocatedBytes))
	}
	return b.String()
}

func (x *Explanation) leakVerdict(g *GrowingSite) string {
	leaks := "Leaks"
	if g.Confidence < rules.High {
		leaks = "Probably leaks"
	}
	text := fmt.Sprintf("%s %s a step at %s, %s by the end.", leaks, units.FormatBytes(int64(g.BytesPerStep)), x.Sites.Display(g.Stack), units.FormatBytes(g.LiveBytes))
	if g.FillsAtStep >= 0 {
		text += fmt.Sprintf(" At this rate memory is full in step %d.", g.FillsAtStep)
	} else if x.overCap() {
		text += fmt.Sprintf(" When memory is full cannot be told: %s was reserved, more than the %s that the device is said to have.", units.FormatBytes(x.Peak.Reserved.Bytes), units.FormatBytes(x.capBytes))
	}
	return text
}

// overCap tells whether the recording reserved more than the device is said to have.
func (x *Explanation) overCap() bool { return x.capBytes > 0 && x.Peak.Reserved.Bytes > x.capBytes }

// wastingSettings are the rules about settings that reserve what is not used.
var wastingSettings = []string{"conf/max-split-expandable", "conf/max-split-waste", "conf/roundup-trap"}

// wasteFinding returns the first warning about memory that is reserved and not used,
// or about a setting that makes it so; or nil. A setting that PyTorch refuses wastes
// nothing by itself: that is something to look at.
func (x *Explanation) wasteFinding() *rules.Finding {
	for i := range x.Findings {
		f := &x.Findings[i]
		if f.Severity >= rules.Warning && (strings.HasPrefix(f.Rule, "frag/") || slices.Contains(wastingSettings, f.Rule)) {
			return f
		}
	}
	return nil
}

// noLeakText says of leaks what the steps allow.
func (x *Explanation) noLeakText() string {
	if x.Leaks.Judged < minBirths || x.has("leak/too-short-to-tell") {
		return "Whether anything leaks cannot be told"
	}
	if x.Leaks.SwellingBytesPerStep > 0 {
		return "No block is left behind"
	}
	return "Nothing leaks"
}

// warning returns the first finding that is a warning, or nil.
func (x *Explanation) warning() *rules.Finding {
	for i := range x.Findings {
		if f := &x.Findings[i]; f.Severity >= rules.Warning {
			return f
		}
	}
	return nil
}

func (x *Explanation) levelText() string {
	return fmt.Sprintf("The peak is %s allocated, %s reserved.", units.FormatBytes(x.Peak.Allocated.Bytes), units.FormatBytes(x.Peak.Reserved.Bytes))
}

func (x *Explanation) healthText() string {
	text := fmt.Sprintf("at most %s allocated and %s reserved", units.FormatBytes(x.Peak.Allocated.Bytes), units.FormatBytes(x.Peak.Reserved.Bytes))
	switch n := x.Leaks.Judged; {
	case n >= minBirths && !x.has("leak/too-short-to-tell"):
		text += fmt.Sprintf("; nothing%s grows over %s.", x.butLittle(), units.FormatPlural(n, "step", "steps"))
	case n > 0:
		text += fmt.Sprintf("; %s too few to tell whether anything grows.", units.FormatPlural(n, "step is", "steps are"))
	default:
		text += "; no steps were found, so that growth from step to step was not looked for."
	}
	text += x.idleText()
	if f := x.warning(); f != nil {
		text += fmt.Sprintf(" One thing to look at: %s.", strings.TrimSuffix(f.Title, "."))
	}
	return text + x.cutText()
}

// has tells whether a rule is among the findings.
func (x *Explanation) has(rule string) bool {
	return slices.ContainsFunc(x.Findings, func(f rules.Finding) bool { return f.Rule == rule })
}

// butLittle keeps the verdict in line with a growth too small for a warning, or of
// blocks that are replaced.
func (x *Explanation) butLittle() string {
	rate := x.Leaks.SwellingBytesPerStep
	if len(x.Leaks.Growing) > 0 {
		rate = max(rate, x.Leaks.Growing[0].BytesPerStep)
	}
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(" but %s a step", bytesText(rate))
}

// idleText says how much of what is reserved was never in use, where that is much.
func (x *Explanation) idleText() string {
	idle := x.Peak.Reserved.Bytes - x.Peak.Allocated.Bytes
	if idle < minFragBytes || float64(idle) < fragWarn*float64(x.Peak.Reserved.Bytes) {
		return ""
	}
	if x.Coverage.Begins != FromFirst {
		return fmt.Sprintf(" %s of what is reserved was never used in this part of the run: what used it came before.", units.FormatBytes(idle))
	}
	return fmt.Sprintf(" Reserved lies %s above the most ever allocated: free pieces do not fit what is asked for next. That costs nothing while the device has room; 'ullage tune' tells what other settings would reserve.", units.FormatBytes(idle))
}

// cutText says where the history breaks off, if it does.
func (x *Explanation) cutText() string {
	if !x.TL.Dev.Cut {
		return ""
	}
	return fmt.Sprintf(" The file breaks off after event e%d: what came then is not known.", x.Coverage.Events-1)
}
