package analyze

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// counters are the statistics of one device, out of a table or a dictionary.
type counters struct {
	what string // "memory_summary of device 0, line 12"
	line int
	get  func(metric, pool string, column int) (span, bool)
	text func(metric string, column int) string // of all pools, the number that the table has

	ooms, retries int64
}

// tableFindings draws conclusions from statistics and from nvidia-smi.
func (t *textAnalysis) tableFindings() {
	for i := range t.rep.Summaries {
		s := &t.rep.Summaries[i]
		t.counterFindings(&counters{
			what: fmt.Sprintf("memory_summary of device %d, line %d", s.Device, s.Line), line: s.Line, ooms: int64(s.OOMs), retries: int64(s.Retries),
			get: func(metric, pool string, column int) (span, bool) {
				v, ok := s.Get(metric, pool, column)
				return spanOf(v), ok && v.Known()
			},
			text: func(metric string, column int) string {
				v, _ := s.Get(metric, "all", column)
				return units.FormatBytes(v.Bytes) // the number itself, not the middle of what it may stand for
			},
		})
	}
	for i := range t.rep.Stats {
		s := &t.rep.Stats[i]
		t.counterFindings(&counters{
			what: fmt.Sprintf("memory_stats, line %d", s.Line), line: s.Line, ooms: s.Values["num_ooms"], retries: s.Values["num_alloc_retries"],
			get: func(metric, pool string, column int) (span, bool) {
				v, ok := s.Values[metric+"."+pool+"."+[]string{"current", "peak", "allocated", "freed"}[column]]
				return span{v, v, true}, ok && v >= 0
			},
			text: func(metric string, column int) string {
				return units.FormatBytes(s.Values[metric+".all."+[]string{"current", "peak", "allocated", "freed"}[column]])
			},
		})
	}
	for i := range t.rep.SMI {
		t.smiNotes(&t.rep.SMI[i])
	}
}

// Shares from which statistics are worth a finding.
const (
	pinnedShare   = 5            // a fifth of reserved
	pinnedBytes   = minFragBytes // as in a recording
	roundingShare = 10           // a tenth of allocated
	manyRetries   = 10
)

func (t *textAnalysis) counterFindings(c *counters) {
	t.counted = max(t.counted, c.ooms)
	allocated, ok1 := c.get("allocated_bytes", "all", message.Current)
	reserved, ok2 := c.get("reserved_bytes", "all", message.Current)
	_, ok3 := c.get("reserved_bytes", "all", message.Peak)
	if ok1 && ok2 {
		line := fmt.Sprintf("%s: allocated %s, reserved %s", c.what, c.text("allocated_bytes", message.Current), c.text("reserved_bytes", message.Current))
		if ok3 {
			line += fmt.Sprintf(" (peak %s)", c.text("reserved_bytes", message.Peak))
		}
		t.note("%s; %s, %s after flushing the cache", line, units.FormatPlural(int(c.ooms), "out-of-memory error", "out-of-memory errors"), units.FormatPlural(int(c.retries), "retry", "retries"))
	}
	t.pinned(c, reserved, ok2)
	t.rounding(c, allocated, ok1)
	if c.retries >= manyRetries {
		t.add(c.line, rules.Finding{
			Rule: "frag/segment-churn", Severity: rules.Warning, Confidence: rules.Low,
			Title:    fmt.Sprintf("the allocator flushed its cache and asked the driver again %d times", c.retries),
			Evidence: []string{c.what, "each such retry waits for the device and gives back what will be asked for again"},
		})
	}
}

// pinned looks for memory that is free in segments which can't be given back.
func (t *textAnalysis) pinned(c *counters, reserved span, ok bool) {
	split, has := c.get("inactive_split_bytes", "all", message.Current)
	if !ok || !has || split.lo < pinnedBytes || split.lo < reserved.hi/pinnedShare {
		return
	}
	t.add(c.line, rules.Finding{
		Rule: "frag/pinned-segment", Severity: rules.Warning, Confidence: rules.Medium, Bytes: split.mid(),
		Title: fmt.Sprintf("%s of %s reserved is free, but in segments that live blocks keep", c.text("inactive_split_bytes", message.Current), c.text("reserved_bytes", message.Current)),
		Evidence: []string{
			c.what + `: "non-releasable" (inactive_split_bytes)`,
			"expandable segments are not in this number",
		},
	})
}

// rounding compares what programs asked for with what they got.
func (t *textAnalysis) rounding(c *counters, allocated span, ok bool) {
	requested, has := c.get("requested_bytes", "all", message.Current)
	waste := allocated.minus(requested)
	if !ok || !has || waste.lo < pinnedBytes || waste.lo < allocated.hi/roundingShare {
		return
	}
	t.add(c.line, rules.Finding{
		Rule: "frag/rounding", Severity: rules.Warning, Confidence: rules.High, Bytes: waste.mid(),
		Title:    fmt.Sprintf("%s of %s allocated is rounding", units.FormatBytes(waste.mid()), c.text("allocated_bytes", message.Current)),
		Evidence: []string{c.what},
	})
}

// smiNotes says who is on the GPUs. nvidia-smi counts GPUs as the machine does, a
// message as CUDA_VISIBLE_DEVICES lets it, so that the two are not matched here.
func (t *textAnalysis) smiNotes(s *message.SMI) {
	for _, g := range s.GPUs {
		if !g.Total.Known() {
			continue
		}
		name := g.Name
		if g.Index >= 0 {
			name = strings.TrimSpace(fmt.Sprintf("GPU %d %s", g.Index, g.Name))
		}
		by := ""
		if !g.MIG { // of slices the table of processes names the instance, not the device
			by = smiProcesses(s, g.Index)
		}
		t.note("nvidia-smi, line %d: %s: %s of %s in use%s", s.Line, name, g.Used.Text, g.Total.Text, by)
	}
	if s.NoProcesses {
		t.note("nvidia-smi lists no process: in a container it shows only those of the container")
	}
	if len(s.GPUs) == 0 && len(s.Processes) > 0 {
		t.note("nvidia-smi, line %d:%s", s.Line, strings.TrimPrefix(smiProcesses(s, -1), ","))
	}
}

// smiProcesses lists up to six processes of a GPU.
func smiProcesses(s *message.SMI, gpu int) string {
	var names []string
	more := 0
	for _, p := range s.Processes {
		if p.GPU != gpu || p.Used.Known() && p.Used.Bytes < 16*units.MiB {
			continue
		}
		if len(names) == 6 {
			more++
			continue
		}
		used := p.Used.Text
		if !p.Used.Known() {
			used = "an unknown amount"
		}
		names = append(names, fmt.Sprintf("%d %s %s", p.PID, p.Name, used))
	}
	if len(names) == 0 {
		return ""
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return ", by " + strings.Join(names, "; ")
}
