package analyze

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// oomFindings puts the failed allocations into words.
func (x *Explanation) oomFindings() []rules.Finding {
	var list []rules.Finding
	if o := x.OOMs.Fatal; o != nil {
		list = append(list, x.fatalFinding(o))
		if o.Cap.Kind == FractionCap {
			list = append(list, x.capFinding(o))
		}
	}
	if n := x.OOMs.Survived; n > 0 {
		list = append(list, rules.Finding{
			Rule: "oom/survived", Severity: rules.Info, Confidence: rules.High, Event: -1,
			Title:    fmt.Sprintf("%s failed and the program went on", units.FormatPlural(n, "allocation", "allocations")),
			Evidence: []string{"each time the cache was emptied first, which stops the GPU; libraries such as cuDNN do so to try a smaller workspace"},
		})
	}
	return list
}

func (x *Explanation) fatalFinding(o *OOM) rules.Finding {
	f := rules.Finding{
		Rule: "oom/" + string(o.Cause), Severity: rules.Error, Confidence: rules.High,
		Bytes: o.RequestBytes, Event: o.Event, Stack: x.stack(o.Stack),
		Title:    fmt.Sprintf("%s asked for at %s did not fit: %s", units.FormatBytes(o.RequestBytes), x.Sites.Display(o.Stack), causeText(o)),
		Evidence: x.fatalEvidence(o),
	}
	if !o.Certain {
		f.Confidence = rules.Medium
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s follow, taken for clean-up: the run is taken to have ended here", units.FormatPlural(o.AllocsAfter, "allocation", "allocations")))
	}
	f.Causes = x.oomCauses(o)
	f.Remedies = x.oomRemedies(o)
	return f
}

// oomCauses are the causes that the catalogue names for such a failure, less those that
// were looked for and not found.
func (x *Explanation) oomCauses(o *OOM) []string {
	rule, err := rules.Get("oom/" + string(o.Cause))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rule.Causes), func(id string) bool {
		switch {
		case id == "leak/growing-site":
			return x.leakBehind(o) == nil
		case id == "conf/max-split-expandable":
			return !x.expandable() || o.MaxSplitBytes == 0
		case id == "conf/expandable-off":
			return x.expandable()
		}
		return false
	})
}

// causeText says in half a sentence what made the request fail.
func causeText(o *OOM) string {
	switch o.Cause {
	case Fragmentation:
		if o.SameLargestBytes >= o.RequestBytes {
			return unusedText(o)
		}
		return fmt.Sprintf("%s was free for it, but in pieces of at most %s", units.FormatBytes(o.SameFreeBytes), units.FormatBytes(o.SameLargestBytes))
	case Stranded:
		return fmt.Sprintf("%s was free for it, and %s %s, which cannot serve it", units.FormatBytes(o.SameFreeBytes), units.FormatBytes(o.OtherStreamBytes+o.OtherPoolBytes), o.elsewhere())
	case PendingFree:
		return fmt.Sprintf("%s was freed already, but still in use on a stream", units.FormatBytes(o.PendingBytes))
	case OtherProcess:
		return fmt.Sprintf("other processes hold %s of the device", units.FormatBytes(o.MarginBytes))
	}
	return fmt.Sprintf("with all free memory taken together, %s was missing", units.FormatBytes(o.MarginBytes))
}

// unusedText speaks of a free block that would have held the request and did not.
func unusedText(o *OOM) string {
	if o.MaxSplitBytes > 0 && o.SameLargestBytes >= o.MaxSplitBytes {
		return fmt.Sprintf("a piece of %s was free, but under max_split_size_mb a block of %s or more serves no smaller request", units.FormatBytes(o.SameLargestBytes), units.FormatBytes(o.MaxSplitBytes))
	}
	return fmt.Sprintf("a piece of %s was free for it, and nothing in the recording tells why it did not serve", units.FormatBytes(o.SameLargestBytes))
}

// elsewhere tells where the free memory is that cannot serve the request.
func (o *OOM) elsewhere() string {
	switch {
	case o.OtherPoolBytes == 0:
		return "on other streams"
	case o.OtherStreamBytes == 0:
		return "in other pools and size classes"
	}
	return "on other streams and in other pools"
}

func (x *Explanation) fatalEvidence(o *OOM) []string {
	class := "large"
	if o.Small {
		class = "small"
	}
	list := []string{
		fmt.Sprintf("event e%d: the request is %s; the error text names the segment that was asked of the driver, %s", o.Event, units.FormatBytes(o.RequestBytes), units.FormatBytes(o.SegmentBytes)),
		fmt.Sprintf("allocated %s, reserved %s; on the device %s was free", units.FormatBytes(o.Now.Allocated), units.FormatBytes(o.Now.Reserved), units.FormatBytes(o.DeviceFreeBytes)),
		fmt.Sprintf("free for such a request (same stream, %s pool): %s, largest piece %s", class, units.FormatBytes(o.SameFreeBytes), units.FormatBytes(o.SameLargestBytes)),
	}
	if o.OtherStreamBytes+o.OtherPoolBytes+o.PendingBytes > 0 {
		list = append(list, fmt.Sprintf("free elsewhere: %s on other streams, %s in other pools and size classes; pending free: %s",
			units.FormatBytes(o.OtherStreamBytes), units.FormatBytes(o.OtherPoolBytes), units.FormatBytes(o.PendingBytes)))
	}
	if o.Cause == Fragmentation {
		list = append(list, fmt.Sprintf("in one piece, what was free would have held the request with %s to spare", units.FormatBytes(o.MarginBytes)))
		list = append(list, x.obstacles(o)...)
	}
	return list
}

// capFinding tells of a limit below the device's size.
func (x *Explanation) capFinding(o *OOM) rules.Finding {
	who := "the allocator refused although the driver had room: a memory fraction (set_per_process_memory_fraction or per_process_memory_fraction), or a guard that answers for the driver"
	if o.Cap.LimitBytes > 0 {
		who = "the limit is known from the file beside the recording: 'ullage run --limit' or the program set it as a memory fraction"
	}
	if o.Cap.LeaseBytes > 0 {
		return x.leaseFinding(o)
	}
	return rules.Finding{
		Rule: "oom/fraction-cap", Severity: rules.Info, Confidence: rules.High, Event: o.Event,
		Title: fmt.Sprintf("a limit of %s was in force, while the device had %s free", o.Cap.text(), units.FormatBytes(o.DeviceFreeBytes)),
		Bytes: o.Cap.allowed(),
		Evidence: []string{
			fmt.Sprintf("reserved memory reached %s and was never let above it; the failed requests would have taken it to %s", units.FormatBytes(o.Cap.LowBytes), units.FormatBytes(o.Cap.HighBytes)),
			who,
		},
	}
}

// leaseFinding tells of a limit that the process's lease was.
func (x *Explanation) leaseFinding(o *OOM) rules.Finding {
	besides := o.Cap.LeaseBytes - o.Cap.LimitBytes
	return rules.Finding{
		Rule: "oom/fraction-cap", Severity: rules.Info, Confidence: rules.High, Event: o.Event,
		Title: fmt.Sprintf("the lease was the limit: of its %s it left this process's PyTorch %s, while the device had %s free",
			units.FormatBytes(o.Cap.LeaseBytes), units.FormatBytes(o.Cap.LimitBytes), units.FormatBytes(o.DeviceFreeBytes)),
		Bytes: o.Cap.allowed(),
		Evidence: []string{
			fmt.Sprintf("reserved memory reached %s and was never let above it; the failed requests would have taken it to %s", units.FormatBytes(o.Cap.LowBytes), units.FormatBytes(o.Cap.HighBytes)),
			fmt.Sprintf("a lease is for all that a job takes on the device: %s of it were for CUDA contexts, other libraries and the job's other processes", units.FormatBytes(besides)),
		},
	}
}

// text names a cap as far as it is known.
func (c Cap) text() string {
	if c.LimitBytes > 0 {
		return units.FormatBytes(c.LimitBytes)
	}
	if c.HighBytes == 0 || units.FormatBytes(c.LowBytes) == units.FormatBytes(c.HighBytes) {
		return units.FormatBytes(c.LowBytes)
	}
	return fmt.Sprintf("%s to %s", units.FormatBytes(c.LowBytes), units.FormatBytes(c.HighBytes))
}

// oomRemedies lists what would have let the request succeed, the computed ones first.
func (x *Explanation) oomRemedies(o *OOM) []rules.Remedy {
	var list []rules.Remedy
	if leak := x.leakBehind(o); leak != nil {
		list = append(list, rules.Remedy{
			Do:     "mend the leak first: what grows at " + x.Sites.Display(leak.Stack),
			Effect: fmt.Sprintf("%s fewer allocated at the failure", units.FormatBytes(leak.LiveBytes)),
			Bytes:  leak.LiveBytes,
		})
	}
	switch o.Cause {
	case Fragmentation:
		if !x.expandable() {
			list = append(list, rules.Remedy{
				Do:     "set PYTORCH_ALLOC_CONF=expandable_segments:True before the program starts (PYTORCH_CUDA_ALLOC_CONF before torch 2.9)",
				Effect: fmt.Sprintf("free memory need no longer lie in one segment: %s was free for this request of %s", units.FormatBytes(o.SameFreeBytes), units.FormatBytes(o.RequestBytes)) + x.respite(o),
			})
		}
	case TrueShortage:
		switch {
		case o.Cap.LeaseBytes > 0:
			need := (o.Cap.LeaseBytes + o.MarginBytes + units.GiB - 1) / units.GiB
			list = append(list, rules.Remedy{Do: "ask for a larger lease", Effect: fmt.Sprintf("this request would have fitted in one of %d GiB", need)})
		case o.Cap.Kind == FractionCap:
			list = append(list, rules.Remedy{Do: "raise the memory fraction", Effect: fmt.Sprintf("the device had %s free", units.FormatBytes(o.DeviceFreeBytes)), Bytes: 0})
		}
		list = append(list, x.shrinkRemedies()...)
	}
	if rule, err := rules.Get("oom/" + string(o.Cause)); err == nil {
		list = append(list, withoutSetting(rule.Remedies, o.Cause == Fragmentation && !x.expandable())...)
	}
	return list
}

// respite says how long a leak takes to fill what was free, in words to append; "" where
// none is behind the failure.
func (x *Explanation) respite(o *OOM) string {
	leak := x.leakBehind(o)
	if leak == nil {
		return ""
	}
	steps := int(float64(o.SameFreeBytes) / leak.BytesPerStep)
	return ", which the leak fills in " + units.FormatPlural(steps, "step", "steps")
}

// withoutSetting drops the catalogue's own advice to set expandable_segments, where
// it was given with this run's numbers.
func withoutSetting(list []rules.Remedy, drop bool) []rules.Remedy {
	var rest []rules.Remedy
	for _, r := range list {
		if !drop || !asksForExpandable(r.Do) {
			rest = append(rest, r)
		}
	}
	return rest
}

// leakBehind returns the leak that explains a failure, or nil: one whose memory is
// more than what was missing.
func (x *Explanation) leakBehind(o *OOM) *GrowingSite {
	for i := range x.Leaks.Growing {
		if g := &x.Leaks.Growing[i]; g.Severity >= rules.Warning && g.LiveBytes >= o.RequestBytes {
			return g
		}
	}
	return nil
}

// shrinkRemedies names what can shrink, by the categories that hold the most.
func (x *Explanation) shrinkRemedies() []rules.Remedy {
	var list []rules.Remedy
	for _, c := range x.Holders.Categories {
		do := map[Category]string{
			Activations:    "use activation checkpointing, mixed precision or a smaller batch",
			OptimizerState: "shard or quantise the optimizer state (ZeRO, FSDP, 8-bit Adam)",
			Parameters:     "hold the parameters in bf16, or shard them (FSDP, tensor parallelism)",
			Gradients:      "accumulate in bf16, free gradients with zero_grad(set_to_none=True), or shard them",
		}[c.Category]
		if do == "" || c.Share < 0.1 {
			continue
		}
		list = append(list, rules.Remedy{Do: do, Effect: fmt.Sprintf("%s: %s of the %s allocated at the peak", c.Category.String(), units.FormatBytes(c.Bytes), units.FormatBytes(x.Holders.AllocatedBytes))})
	}
	return list
}
