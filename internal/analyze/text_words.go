package analyze

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// oomGroup is messages that say the same of several processes.
type oomGroup struct {
	first *TextOOM
	from  []message.Source
	count int
}

// oomFindings makes one finding for each group of messages, and those that go with
// it. Ranks of one job fail alike; a finding for each would bury the rest.
func (t *textAnalysis) oomFindings() {
	var order []string
	groups := map[string]*oomGroup{}
	for i := range t.res.OOMs {
		o := &t.res.OOMs[i]
		key := fmt.Sprint(o.Cause, o.Cap, o.Confidence, o.Message.Form, userLine(o.Message), o.Message.Tried.Text)
		g := groups[key]
		if g == nil {
			g = &oomGroup{first: o}
			groups[key] = g
			order = append(order, key)
		}
		g.from = append(g.from, o.Message.Source)
		g.count += o.Message.Count
	}
	for _, key := range order {
		t.oomFinding(groups[key])
	}
	t.hintUseless()
	t.firstToFail()
}

// firstToFail names the process that failed first where several did.
func (t *textAnalysis) firstToFail() {
	var from []message.Source
	for _, o := range t.res.OOMs {
		from = append(from, o.Message.Source)
	}
	all := textSources(from)
	if len(from) < 2 || all == "" || all == textSources(from[:1]) {
		return
	}
	t.note("%s ran out of memory; the first in the text is %s, line %d", all, textSources(from[:1]), t.res.OOMs[0].Message.Line)
}

func userLine(m *message.OOM) string {
	if m.UserFrame < 0 || m.UserFrame >= len(m.Traceback) {
		return ""
	}
	f := m.Traceback[m.UserFrame]
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// oomRules are the pages of the causes.
var oomRules = map[OOMCause]string{
	TrueShortage: "oom/true-shortage", Fragmentation: "oom/fragmentation", OtherProcess: "oom/other-process", Undetermined: "oom/undetermined",
}

func (t *textAnalysis) oomFinding(g *oomGroup) {
	o := g.first
	f := rules.Finding{
		Rule: oomRules[o.Cause], Severity: rules.Error, Confidence: o.Confidence,
		Title:    "out of memory" + where(g) + ": " + o.reason(),
		Evidence: o.evidence(g),
		Bytes:    max(o.Account.RequestBytes, 0),
		Stack:    textFrames(o.Message.Traceback),
	}
	switch {
	case o.Cause == OtherProcess:
		f.Causes = o.foreignCauses()
	case o.Message.Form == message.FormHuge: // no memory and no setting would do
		f.Causes = []string{}
		f.Remedies = []rules.Remedy{{Do: "print the shape that is asked for at this line: a dimension is negative, garbage, or multiplied where it should not be", Effect: "the size becomes what was meant"}}
	case o.Cause == Fragmentation && (o.Message.Form == message.FormReserved || o.Message.Form == message.FormCached):
		f.Evidence = append(f.Evidence, "expandable segments came with PyTorch 2.1: before it, max_split_size_mb (since 1.10) is what there is")
	}
	t.add(o.Message.Line, f)
	if o.Cap == FractionCap && o.Message.Form != message.FormMPS {
		t.capFinding(g)
	}
	if o.Cause != OtherProcess && o.Account.OthersBytes > o.Account.CapacityBytes/10 && o.Account.CapacityBytes > 0 {
		t.add(o.Message.Line, rules.Finding{
			Rule: "oom/other-process", Severity: rules.Warning, Confidence: rules.High,
			Title:    fmt.Sprintf("other processes hold %s of this GPU's %s", units.FormatBytes(o.Account.OthersBytes), o.Message.Capacity.Text),
			Evidence: []string{o.processes()}, Bytes: o.Account.OthersBytes,
		})
	}
}

// where names the GPU and the processes: " on GPU 0 of ranks 0 to 7".
func where(g *oomGroup) string {
	m := g.first.Message
	s := ""
	if m.GPU >= 0 {
		s = fmt.Sprintf(" on GPU %d", m.GPU)
	}
	if names := textSources(g.from); names != "" {
		if len(g.from) > 1 { // each counts its own GPUs
			return " in " + names
		}
		if s == "" {
			return " in " + names
		}
		return s + " of " + names
	}
	return s
}

// reason is the cause in words, with the numbers as printed.
func (o *TextOOM) reason() string {
	m, a := o.Message, o.Account
	cached := units.FormatBytes(a.CachedBytes)
	switch {
	case m.Form == message.FormHuge:
		return "more than an exbibyte was asked for: a size was computed wrongly (a negative or garbage dimension)"
	case m.Form == message.FormBare && !m.Tried.Known():
		return "the message has no numbers"
	case o.Cause == TrueShortage && m.Capacity.Known() && m.Tried.Low > m.Capacity.High:
		return fmt.Sprintf("%s was needed in one piece, more than the whole device has (%s)", m.Tried.Text, m.Capacity.Text)
	case o.Cause == TrueShortage && m.Form == message.FormMPS:
		return fmt.Sprintf("%s was needed and %s of %s allowed were taken", units.FormatBytes(a.RequestBytes), units.FormatBytes(a.ReservedBytes), units.FormatBytes(a.LimitBytes))
	case o.Cause == TrueShortage && o.Cap == FractionCap:
		return fmt.Sprintf("%s was needed under a limit of %s, of which %s were reserved and %s of that free in pieces", m.Tried.Text, m.Allowed.Text, units.FormatBytes(a.ReservedBytes), cached)
	case o.Cause == TrueShortage && a.CachedBytes >= 0:
		return fmt.Sprintf("%s was needed; %s was free on the device and %s in PyTorch's cache, together too little", m.Tried.Text, freeText(m), cached)
	case o.Cause == TrueShortage:
		return fmt.Sprintf("%s was needed and %s was free on the device", m.Tried.Text, freeText(m))
	case o.Cause == Fragmentation && a.CachedBytes < a.RequestBytes:
		return fmt.Sprintf("%s was needed; PyTorch's cache (%s, in pieces) and the device (%s) had that much together, not either alone", m.Tried.Text, cached, freeText(m))
	case o.Cause == Fragmentation && o.Confidence == rules.Low:
		return fmt.Sprintf("%s was needed and PyTorch held %s free, but not in one usable piece; fragmentation, though little would be gained", m.Tried.Text, cached)
	case o.Cause == Fragmentation:
		return fmt.Sprintf("%s was needed and PyTorch held %s free, but not in one usable piece: fragmentation, most likely", m.Tried.Text, cached)
	case o.Cause == OtherProcess:
		return o.foreignReason()
	case o.Cap == FractionCap:
		return fmt.Sprintf("%s was refused although %s was free on the device", m.Tried.Text, freeText(m))
	}
	return "its numbers do not tell why"
}

func freeText(m *message.OOM) string {
	if m.Free.Known() {
		return m.Free.Text
	}
	return "an unknown amount"
}

func (o *TextOOM) foreignReason() string {
	m, a := o.Message, o.Account
	need := fmt.Sprintf("%s was needed and would have fitted, but ", m.Tried.Text)
	switch {
	case a.OthersBytes >= a.UnexplainedBytes && a.OthersBytes >= a.OutsideBytes:
		return need + fmt.Sprintf("other processes hold %s of the GPU's %s", units.FormatBytes(a.OthersBytes), m.Capacity.Text)
	case a.OwnBytes >= 0 && a.OutsideBytes >= a.UnexplainedBytes:
		return need + fmt.Sprintf("this process holds %s outside PyTorch (context, NCCL, another library)", units.FormatBytes(a.OutsideBytes))
	}
	return need + fmt.Sprintf("%s of the GPU's %s are held by neither PyTorch nor anything the message names", units.FormatBytes(a.UnexplainedBytes), m.Capacity.Text)
}

// foreignCauses are the causes that fit who holds the memory, likeliest first.
func (o *TextOOM) foreignCauses() []string {
	a := o.Account
	switch {
	case a.OwnBytes >= 0 && a.OutsideBytes > max(a.OthersBytes, a.UnexplainedBytes):
		return []string{"third/nccl-buffers", "third/jax-preallocation", "third/context"}
	case smallEqualProcesses(o.Message.Others):
		return []string{"dist/no-set-device", "dist/worker-context", "dist/load-on-gpu0"}
	}
	return []string{"third/zombie-process", "dist/no-set-device", "dist/load-on-gpu0", "third/jax-preallocation"}
}

// smallEqualProcesses reports whether several processes hold about a context each:
// ranks or workers that opened this GPU beside their own.
func smallEqualProcesses(list []message.Process) bool {
	small := 0
	for _, p := range list {
		if p.Used.Known() && p.Used.Bytes < contextBytes {
			small++
		}
	}
	return small >= 2 && small*2 > len(list)
}

// evidence is what the message says, in the order in which an expert would read it.
func (o *TextOOM) evidence(g *oomGroup) []string {
	var e []string
	add := func(s string) {
		if s != "" {
			e = append(e, s)
		}
	}
	add(o.place(g))
	add(o.request())
	add(o.device())
	add(o.processes())
	add(o.pytorch())
	add(o.margin())
	add(o.privatePools())
	for _, s := range o.Odd {
		add(s)
	}
	if o.Message.Versions != "" {
		add("worded as PyTorch " + o.Message.Versions + " does")
	}
	return e
}

func (o *TextOOM) place(g *oomGroup) string {
	m := o.Message
	s := fmt.Sprintf("line %d", m.Line)
	if g.count > 1 {
		s += fmt.Sprintf(", %d times", g.count)
	}
	if m.UserFrame >= 0 && m.UserFrame < len(m.Traceback) {
		f := m.Traceback[m.UserFrame]
		s += fmt.Sprintf(": raised under %s:%d", f.File, f.Line)
		if f.Func != "" {
			s += " in " + f.Func
		}
	}
	return s
}

// request says what the printed size means: the allocator prints the segment that
// it asked the driver for, not what the program wanted.
func (o *TextOOM) request() string {
	m := o.Message
	if !m.Tried.Known() {
		return ""
	}
	switch m.Form {
	case message.FormMPS: // which calls 2^20 bytes MB until 2.6
		return units.FormatBytes(m.Tried.Bytes) + " is the request itself"
	case message.FormAsync:
		return m.Tried.Text + " is the request itself"
	}
	t := m.Tried.Text
	switch {
	case t == "2.00 MiB":
		return "2.00 MiB stands for any request of up to 1 MiB: the allocator gets 2 MiB at a time for these"
	case t == "20.00 MiB":
		return fmt.Sprintf("20.00 MiB stands for any request between 1 and 10 MiB, which the allocator serves from segments of 20 MiB%s, or for one of 18 to 20 MiB", segmentSetting(m.Versions))
	case m.Tried.Bytes < 10*units.MiB || !holdsMultiple(m.Tried, 2*units.MiB):
		return fmt.Sprintf("%s is not a multiple of 2 MiB: a release that prints the request, or a segment size that was set", t)
	}
	return fmt.Sprintf("%s is the request rounded up to a multiple of 2 MiB", t)
}

// segmentSetting names what sets the size of segments, where the message may be of a
// release that has it.
func segmentSetting(versions string) string {
	if versions != "" && !strings.HasSuffix(versions, " or newer") {
		return "" // "2.2 to 2.4"
	}
	return " (large_segment_size_mb, since 2.11)"
}

func holdsMultiple(s message.Size, of int64) bool { return s.High/of*of >= s.Low }

func (o *TextOOM) device() string {
	m := o.Message
	if !m.Capacity.Known() {
		return ""
	}
	s := fmt.Sprintf("the device has %s", m.Capacity.Text)
	if m.Free.Known() {
		s += fmt.Sprintf(", of which %s was free", m.Free.Text)
	}
	return s
}

func (o *TextOOM) processes() string {
	m, a := o.Message, o.Account
	var parts []string
	if a.OwnBytes >= 0 {
		own := fmt.Sprintf("this process %s", units.FormatBytes(a.OwnBytes))
		if a.OwnInferred {
			own += " (listed under its number on the host, as in a container; it holds about what PyTorch reserved)"
		}
		if a.ReservedBytes >= 0 && a.OutsideBytes > 0 {
			own += fmt.Sprintf(", %s of it outside PyTorch: CUDA context, NCCL, cuBLAS and other libraries", units.FormatBytes(a.OutsideBytes))
		}
		parts = append(parts, own)
	}
	if a.OthersBytes >= 0 {
		parts = append(parts, fmt.Sprintf("other processes %s%s", units.FormatBytes(a.OthersBytes), topProcesses(m, a)))
	}
	if a.UnexplainedBytes > contextBytes {
		parts = append(parts, fmt.Sprintf("not accounted for %s (processes that the driver does not show here, or libraries)", units.FormatBytes(a.UnexplainedBytes)))
	}
	return strings.Join(parts, "; ")
}

// topProcesses names up to four of the listed processes.
func topProcesses(m *message.OOM, a TextAccount) string {
	var names []string
	for _, p := range m.Others {
		if !p.Used.Known() || a.OwnInferred && p.Used.Bytes == a.OwnBytes {
			continue
		}
		if names = append(names, fmt.Sprintf("process %d %s", p.PID, p.Used.Text)); len(names) == 4 {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (o *TextOOM) pytorch() string {
	a := o.Account
	if a.ReservedBytes < 0 || o.Message.Form == message.FormMPS {
		if a.AllocatedBytes < 0 {
			return ""
		}
		return fmt.Sprintf("PyTorch had allocated %s", units.FormatBytes(a.AllocatedBytes))
	}
	return fmt.Sprintf("PyTorch had reserved %s: %s allocated, %s free in its cache after everything that could be given back was given back",
		units.FormatBytes(a.ReservedBytes), units.FormatBytes(a.AllocatedBytes), units.FormatBytes(a.CachedBytes))
}

// margin tells how much packing everything tightly would have gained.
func (o *TextOOM) margin() string {
	a := o.Account
	if o.Cause != Fragmentation || a.CachedBytes < 0 {
		return ""
	}
	left := a.CachedBytes + max(a.FreeBytes, 0) - a.RequestBytes
	if o.Cap == FractionCap {
		left = a.CachedBytes - a.RequestBytes
	}
	if a.CapacityBytes <= 0 || left < 0 {
		return ""
	}
	return fmt.Sprintf("with everything free in one piece, the request would have fitted with %s to spare, %s of the device", units.FormatBytes(left), units.FormatShare(left, a.CapacityBytes))
}

// privatePools warns of what the message counts as allocated and is not.
func (o *TextOOM) privatePools() string {
	m := o.Message
	if m.PrivatePool.Known() {
		return fmt.Sprintf("%s of what it calls allocated is free memory cached in private pools (CUDA graphs, MemPool): only their own graphs can use it", m.PrivatePool.Text)
	}
	return ""
}

// capFinding tells of a limit below the device's size.
func (t *textAnalysis) capFinding(g *oomGroup) {
	o, m := g.first, g.first.Message
	f := rules.Finding{Rule: "oom/fraction-cap", Severity: rules.Error, Confidence: rules.High, Stack: textFrames(m.Traceback)}
	if o.CapSure {
		f.Title = fmt.Sprintf("a memory fraction allows this process %s", m.Allowed.Text)
		if m.Capacity.Known() && m.Capacity.Bytes > 0 {
			f.Title += fmt.Sprintf(" of the device's %s (a fraction of about %.2f)", m.Capacity.Text, float64(m.Allowed.Bytes)/float64(m.Capacity.Bytes))
		}
		f.Evidence = []string{fmt.Sprintf("reserved %s and the request %s exceed %s", units.FormatBytes(o.Account.ReservedBytes), m.Tried.Text, m.Allowed.Text)}
	} else {
		f.Severity, f.Confidence = rules.Warning, rules.Medium
		f.Title = "the device had room: a limit below its size refused, most likely a memory fraction"
		f.Evidence = []string{
			"releases 2.1 to about 2.4 do not print a fraction that is set (pytorch#111363)",
			"else: memory that another process freed after the refusal; a driver or hypervisor that grants less (Windows, WSL, vGPU, ROCm); address space that ran out",
		}
	}
	t.add(m.Line, f)
}

// hintUseless tells where the message's advice is in force already.
func (t *textAnalysis) hintUseless() {
	on := ""
	for _, s := range t.rep.Settings {
		if asksForExpandable(s) {
			on = s
		}
	}
	for _, o := range t.res.OOMs {
		if on != "" && strings.Contains(o.Message.Hint, "expandable_segments:True") {
			t.add(o.Message.Line, rules.Finding{
				Rule: "oom/hint-useless", Severity: rules.Info, Confidence: rules.Medium,
				Title:    "the message advises expandable_segments:True, which the text shows as set",
				Evidence: []string{on, "PyTorch prints the advice whatever is set (pytorch#173049)"},
			})
			return
		}
	}
}
