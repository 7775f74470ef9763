package message

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// anchors are where an out-of-memory message can be told apart, in text without
// white space; the first that is found counts.
const (
	triedAnchor = "Triedtoallocate"
	asyncAnchor = "wouldexceedallowedmemory"
	mpsAnchor   = "MPSbackendoutofmemory"
	totalAnchor = "hasatotalcapac" // "capacty" in 2.1
	bareAnchor  = "outofmemory"
)

// maxMessageLines is how many lines a message may be wrapped into. The longest seen
// has ten processes on one GPU, at 80 columns: 14 lines.
const maxMessageLines = 40

// torch reads an out-of-memory message that begins in line i.
func (s *scanner) torch(v *view, i int) int {
	j := v.join(i, maxMessageLines, mayGoOn)
	o, begin, end := parseOOM(j.text)
	if o == nil || j.row(begin) != i {
		return 0
	}
	last := j.row(end - 1)
	s.addOOM(v, i, o)
	return last - i + 1
}

// minWrapped is the width of a line that may go on in the next: panels of 60 columns
// were seen, and the last word may be long.
const minWrapped = 44

// mayGoOn reports whether a message may go on after line e: the line is as wide as
// what terminals and panels wrap, and the text so far looks like one. The message of
// cudaMallocAsync is a table of short lines.
func mayGoOn(j *joined, e *entry) bool {
	if !anchored(j.text) && (len(j.ends) > 2 || !mayAnchor(j.text)) {
		return false
	}
	return e.width >= minWrapped && e.width < maxTerminal || bytes.Contains(j.text, []byte(asyncAnchor))
}

var anchors = [][]byte{[]byte(triedAnchor), []byte(asyncAnchor), []byte(mpsAnchor), []byte(totalAnchor), []byte(bareAnchor)}

// anchored reports whether t has an anchor.
func anchored(t []byte) bool {
	for _, a := range anchors {
		if bytes.Contains(t, a) {
			return true
		}
	}
	return false
}

// mayAnchor reports whether the end of t may be the start of an anchor.
func mayAnchor(t []byte) bool {
	for _, a := range anchors {
		for n := len(a) - 1; n > 0; n-- {
			if bytes.HasSuffix(t, a[:n]) {
				return true
			}
		}
	}
	for _, p := range platforms {
		if bytes.HasSuffix(t, []byte(p)) {
			return true
		}
	}
	return false
}

// platforms stand before "out of memory".
var platforms = []string{"CUDA", "HIP", "XPU", "NPU", "MPS", "MUSA", "MLU", "HPU", "GCU", "MTIA"}

// parseOOM finds the first message in text without white space. begin is where its
// words begin, end where what was understood of it ends.
func parseOOM(t []byte) (o *OOM, begin, end int) {
	switch at := bytes.Index(t, []byte(mpsAnchor)); {
	case at >= 0:
		return parseMPS(t, at)
	}
	if at := bytes.Index(t, []byte(asyncAnchor)); at >= 0 {
		return parseAsync(t, at)
	}
	if at := bytes.Index(t, []byte(triedAnchor)); at >= 0 {
		return parseNative(t, at)
	}
	if at := bytes.Index(t, []byte(totalAnchor)); at >= 0 {
		if begin := bytes.LastIndex(t[:at], []byte("GPU")); begin >= 0 && at-begin < 8 {
			return parseCut(t, begin)
		}
	}
	return parseBare(t)
}

// cursor reads text without white space.
type cursor struct {
	b []byte
	i int
}

// lit takes a literal.
func (c *cursor) lit(s string) bool {
	if bytes.HasPrefix(c.b[c.i:], []byte(s)) {
		c.i += len(s)
		return true
	}
	return false
}

// size takes a size.
func (c *cursor) size() (Size, bool) {
	s, n := parseSize(c.b[c.i:], nearest)
	c.i += n
	return s, n > 0
}

// labelled takes a size and the words after it, or nothing.
func (c *cursor) labelled(dst *Size, label string) bool {
	start := c.i
	if s, ok := c.size(); ok && c.lit(label) {
		*dst = s
		return true
	}
	c.i = start
	return false
}

// integer takes a number without sign.
func (c *cursor) integer() (int, bool) {
	n := c.i
	for n < len(c.b) && n-c.i < 10 && isDigit(c.b[n]) {
		n++
	}
	v, err := strconv.Atoi(string(c.b[c.i:n]))
	if err != nil {
		return 0, false
	}
	c.i = n
	return v, true
}

// until skips to after s, if that comes within limit bytes.
func (c *cursor) until(s string, limit int) bool {
	n := bytes.Index(c.b[c.i:min(len(c.b), c.i+limit)], []byte(s))
	if n < 0 {
		return false
	}
	c.i += n + len(s)
	return true
}

// parseNative reads the messages of the native allocator, of all releases and
// platforms, from "Tried to allocate" on.
func parseNative(t []byte, at int) (*OOM, int, int) {
	o := &OOM{GPU: -1}
	begin := o.head(t, at)
	c := &cursor{b: t, i: at + len(triedAnchor)}
	if c.lit("morethan1EBmemory") {
		o.Form = FormHuge
		c.lit(".")
		return o, begin, c.i
	}
	tried, ok := c.size()
	if !ok {
		return nil, 0, 0
	}
	o.Tried, o.Form = tried, FormBare
	c.body(o)
	o.Versions = o.versions()
	return o, begin, c.i
}

// parseCut reads a message whose start is missing, from "GPU d has a total" on.
func parseCut(t []byte, begin int) (*OOM, int, int) {
	o := &OOM{GPU: -1}
	c := &cursor{b: t, i: begin}
	c.body(o)
	if !o.Capacity.Known() {
		return nil, 0, 0
	}
	o.Versions = o.versions()
	return o, begin, c.i
}

// head reads what stands before offset at: the platform and the exception's class.
// It returns where they begin.
func (o *OOM) head(t []byte, at int) int {
	before := bytes.TrimSuffix(t[:at], []byte("."))
	rest, ok := bytes.CutSuffix(before, []byte(bareAnchor))
	if !ok {
		return at
	}
	n := len(rest)
	for n > 0 && rest[n-1]-'A' < 26 {
		n--
	}
	if o.Platform = string(rest[n:]); !slices.Contains(platforms, o.Platform) {
		o.Platform = ""
		return len(rest)
	}
	o.Class, n = className(rest, n)
	return n
}

// className reads "torch.OutOfMemoryError:" backwards from offset n.
func className(t []byte, n int) (string, int) {
	if n == 0 || t[n-1] != ':' {
		return "", n
	}
	end := n - 1
	start := end
	for start > 0 && (isWord(t[start-1]) || t[start-1] == '.') {
		start--
	}
	name := string(t[start:end])
	if !strings.HasSuffix(name, "Error") && !strings.HasSuffix(name, "Exception") {
		return "", n
	}
	return trimRun(name), start
}

// trimRun cuts off what ran into a name when white space was removed, as in
// "(OutOfMemoryError)…" or "ERRORtorch.OutOfMemoryError".
func trimRun(name string) string {
	for _, known := range []string{"torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError", "torch._C.OutOfMemoryError", "torch.AcceleratorError", "RuntimeError"} {
		if strings.HasSuffix(name, known) {
			return known
		}
	}
	return name
}

func isWord(c byte) bool { return c == '_' || isDigit(c) || lower(c)-'a' < 26 }

// body reads the clauses of a message in any order and skips what it does not
// know, as long as a clause that it knows follows closely.
func (c *cursor) body(o *OOM) {
	for {
		start := c.i
		for c.lit(".") || c.lit(";") || c.lit(",") {
		}
		if !c.clause(o) && !c.skipUnknown() {
			c.i = start
			if c.lit(".") && c.i == len(c.b) {
				return
			}
			return
		}
	}
}

// skipUnknown moves to the next clause that is known, if it is near and belongs to
// the same message.
func (c *cursor) skipUnknown() bool {
	near := c.b[c.i:min(len(c.b), c.i+400)]
	if next := bytes.Index(near, []byte("outofmemory")); next >= 0 {
		near = near[:next]
	}
	for _, head := range []string{"hasatotalcapac", "Includingnon-PyTorch", "Oftheallocatedmemory", "Ifreserved"} {
		n := bytes.Index(near, []byte(head))
		if head == "hasatotalcapac" && n > 0 {
			n = bytes.LastIndex(near[:n], []byte("GPU"))
		}
		if n > 0 {
			c.i += n
			return true
		}
	}
	return false
}

// clause reads one clause.
func (c *cursor) clause(o *OOM) bool {
	return c.list(o) || c.capacity(o) || c.process(o) || c.ofAllocated(o) || c.hint(o) ||
		c.labelled(&o.Allowed, "allowed") || c.repeated(o)
}

// list reads "(GPU 0; SZ total capacity; …)" of PyTorch before 2.1, and of NPUs.
func (c *cursor) list(o *OOM) bool {
	start := c.i
	if !c.lit("(") {
		return false
	}
	n := bytes.IndexByte(c.b[c.i:min(len(c.b), c.i+24)], ';')
	if n < 0 {
		c.i = start
		return false
	}
	name := strings.TrimRight(string(c.b[c.i:c.i+n]), "0123456789")
	gpu, err := strconv.Atoi(string(c.b[c.i+len(name) : c.i+n]))
	if err != nil || name == "" {
		c.i = start
		return false
	}
	o.GPU, o.Form = gpu, FormReserved
	if o.Platform == "" && name != "GPU" {
		o.Platform = name
	}
	c.i += n + 1
	for c.item(o) {
		c.lit(";")
	}
	return c.lit(")") || true
}

func (c *cursor) item(o *OOM) bool {
	if c.labelled(&o.Unallocated, "cached") {
		o.Form = FormCached
		return true
	}
	return c.labelled(&o.Capacity, "totalcapacity") || c.labelled(&o.Allocated, "alreadyallocated") ||
		c.labelled(&o.Active, "currentactive") || c.labelled(&o.Free, "free") ||
		c.labelled(&o.Allowed, "allowed") || c.labelled(&o.Reserved, "reservedintotalbyPyTorch")
}

// capacity reads "GPU 0 has a total capacity of SZ of which SZ is free".
func (c *cursor) capacity(o *OOM) bool {
	start := c.i
	if !c.lit("GPU") {
		return false
	}
	gpu, ok := c.integer()
	if !ok || !c.lit("hasatotalcapac") {
		c.i = start
		return false
	}
	typo := c.lit("tyof")
	if !typo && !c.lit("ityof") {
		c.i = start
		return false
	}
	o.GPU, o.Form = gpu, FormSentence
	if typo {
		o.Versions = "2.1"
	}
	o.Capacity, _ = c.size()
	if c.lit("ofwhich") {
		c.labelled(&o.Free, "isfree")
	}
	return true
}

// maxProcesses bounds a list that hostile text could make long.
const maxProcesses = 1024

// process reads "Process P has SZ memory in use" and the clause on this process.
func (c *cursor) process(o *OOM) bool {
	start := c.i
	if c.lit("Includingnon-PyTorchmemory,thisprocesshas") {
		return c.labelled(&o.ThisProcess, "memoryinuse")
	}
	if !c.lit("Process") {
		return false
	}
	p := Process{}
	var ok bool
	if p.PID, ok = c.integer(); ok && c.lit("has") && c.labelled(&p.Used, "memoryinuse") && len(o.Others) < maxProcesses {
		o.Others = append(o.Others, p)
		return true
	}
	c.i = start
	return false
}

// ofAllocated reads "Of the allocated memory SZ is allocated by PyTorch, with SZ
// allocated in private pools (e.g., CUDA Graphs), and SZ is reserved by PyTorch but
// unallocated".
func (c *cursor) ofAllocated(o *OOM) bool {
	if !c.lit("Oftheallocatedmemory") {
		return false
	}
	c.labelled(&o.Allocated, "isallocatedbyPyTorch")
	c.lit(",")
	if c.lit("with") && c.labelled(&o.PrivatePool, "allocatedinprivatepools") {
		c.until("),", 40)
	}
	c.lit("and")
	c.labelled(&o.Unallocated, "isreservedbyPyTorchbutunallocated")
	return true
}

// hint reads the advice, of which the setting is kept.
func (c *cursor) hint(o *OOM) bool {
	start := c.i
	switch {
	case c.lit("Ifreserved"):
		if !c.until("trysetting", 60) {
			c.i = start
			return false
		}
		n := c.i
		if c.until("toavoidfragmentation", 120) {
			o.Hint = string(c.b[n : c.i-len("toavoidfragmentation")])
		}
		return true
	case c.lit("SeedocumentationforMemoryManagement"):
		c.documentation()
		return true
	case c.lit("Pleaseuse`empty_cache`torelease"):
		o.Hint = "empty_cache"
		c.until("cachedmemory", 60)
		c.lit(".")
		return true
	}
	return false
}

// documentation skips what follows "See documentation for Memory Management".
func (c *cursor) documentation() {
	if c.lit("andPYTORCH_") {
		c.until("ALLOC_CONF", 40)
	}
	if c.lit("(http") {
		c.until(")", 200)
	}
}

// repeated reads what Ray adds to a line: "[repeated 3x across cluster]".
func (c *cursor) repeated(o *OOM) bool {
	start := c.i
	if c.lit("[repeated") {
		if n, ok := c.integer(); ok && c.lit("xacrosscluster]") {
			o.Count = max(o.Count, n)
			return true
		}
	}
	c.i = start
	return false
}

// parseMPS reads Apple's form.
func parseMPS(t []byte, at int) (*OOM, int, int) {
	o := &OOM{GPU: -1, Form: FormMPS, Platform: "MPS"}
	begin := at
	o.Class, begin = className(t, at)
	c := &cursor{b: t, i: at + len(mpsAnchor)}
	if c.lit("(MPSallocated:") {
		o.Allocated, _ = c.size()
		if c.lit(",otherallocations:") {
			o.OtherAllocs, _ = c.size()
		}
		if c.lit(",maxallowed:") {
			o.Allowed, _ = c.size()
		}
		c.lit(")")
	}
	c.lit(".")
	if c.lit(triedAnchor) {
		o.Tried, _ = c.size()
	}
	if c.lit("onprivatepool") {
		o.Pool = "private"
	} else if c.lit("onsharedpool") {
		o.Pool = "shared"
	}
	c.lit(".")
	if c.lit("UsePYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0") {
		o.Hint = "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"
		c.until("(maycausesystemfailure)", 120)
		c.lit(".")
	}
	return o, begin, c.i
}

// parseAsync reads the message of the back end cudaMallocAsync: a sentence, and a
// table below it.
func parseAsync(t []byte, at int) (*OOM, int, int) {
	o := &OOM{GPU: -1, Form: FormAsync, Platform: "CUDA"}
	begin := at
	if n := bytes.LastIndex(t[:at], []byte("Allocationondevice")); n >= 0 {
		begin = n
		o.GPU, _ = strconv.Atoi(string(t[n+len("Allocationondevice") : at]))
	}
	o.Class, begin = className(t, begin)
	c := &cursor{b: t, i: at + len(asyncAnchor)}
	c.lit(".")
	c.lit("(outofmemory)")
	for _, f := range []struct {
		label string
		dst   *Size
	}{
		{"Currentlyallocated:", &o.Allocated}, {"Requested:", &o.Tried}, {"Devicelimit:", &o.Capacity},
		{"Free(accordingtoCUDA):", &o.Free}, {"PyTorchlimit(setbyuser-suppliedmemoryfraction):", &o.Allowed},
	} {
		if c.lit(f.label) {
			*f.dst, _ = c.size()
		}
	}
	return o, begin, c.i
}

// parseBare accepts "CUDA out of memory" without numbers only where it can be the
// whole of an error, not a word of a sentence.
func parseBare(t []byte) (*OOM, int, int) {
	at := bytes.Index(t, []byte(bareAnchor))
	if at < 0 {
		return nil, 0, 0
	}
	end := at + len(bareAnchor)
	o := &OOM{GPU: -1, Form: FormBare}
	begin := o.head(t, end)
	if o.Platform == "" {
		return nil, 0, 0
	}
	stop := end == len(t) || t[end] == '.' || t[end] == '"' || t[end] == '\''
	if !stop || o.Class == "" && begin != 0 && t[begin-1] != ':' && t[begin-1] != '!' && t[begin-1] != ')' {
		return nil, 0, 0
	}
	return o, begin, end
}

// versions names the releases whose wording this is; they overlap by what was
// seen, so "about".
func (o *OOM) versions() string {
	cuda := strings.HasPrefix(o.Class, "torch.cuda.")
	switch {
	case o.Versions != "":
		return o.Versions
	case o.Form == FormCached:
		return "1.0 to 1.3"
	case o.Form == FormReserved && o.Hint == "":
		return "1.4 to 1.10"
	case o.Form == FormReserved && cuda:
		return "1.13 to 2.0"
	case o.Form == FormReserved:
		return "1.11 to 2.0"
	case o.Form == FormSentence && strings.HasPrefix(o.Hint, "PYTORCH_ALLOC_CONF"):
		return "2.9 or newer"
	case o.Form == FormSentence && cuda:
		return "2.2 to 2.4"
	case o.Form == FormSentence && o.Class != "":
		return "2.5 or newer"
	case o.Form == FormSentence:
		return "2.2 or newer"
	}
	return ""
}

// addOOM records a message, or counts it if an equal one of the same process is
// there already.
func (s *scanner) addOOM(v *view, i int, o *OOM) {
	e := &v.lines[i]
	o.Source, o.Time = e.src, e.time
	o.Line, o.Count = s.lineNumber(e.at), max(o.Count, 1)
	id := o.identity()
	if k, ok := s.lookUp(e.key, id); ok {
		s.rep.OOMs[k].repeat(o)
		s.seen[e.key+"\x01"+id] = k
		return
	}
	if len(s.rep.OOMs) >= s.opt.MaxFindings {
		s.rep.Dropped++
		return
	}
	o.Traceback = s.traceback(v, i)
	o.UserFrame = userFrame(o.Traceback)
	s.remember(e.key, id, len(s.rep.OOMs))
	s.rep.OOMs = append(s.rep.OOMs, *o)
}

// lookUp finds an equal finding of the same process. A line without a prefix may
// be of any process, and one that was found without a prefix as well.
func (s *scanner) lookUp(key, id string) (int, bool) {
	for _, from := range []string{key, "", "\x02"} {
		if from == "\x02" && key != "" {
			break
		}
		if k, ok := s.seen[from+"\x01"+id]; ok {
			return k, true
		}
	}
	return 0, false
}

func (s *scanner) remember(key, id string, k int) {
	s.seen[key+"\x01"+id] = k
	s.seen["\x02\x01"+id] = k
}

// repeat counts an equal message. The first may have been printed by a launcher
// without a prefix: what the later one adds is kept.
func (o *OOM) repeat(again *OOM) {
	o.Count += again.Count
	o.LastLine = again.Line
	if o.Source.Rank < 0 && again.Source.Rank >= 0 {
		o.Source = again.Source
	}
	if o.Class == "" {
		o.Class = again.Class
	}
}

// identity is what two printings of one failure have in common.
func (o *OOM) identity() string {
	var b strings.Builder
	fmt.Fprint(&b, o.Form, o.GPU, o.Tried.Text, o.Capacity.Text, o.Free.Text, o.ThisProcess.Text, o.Allocated.Text, o.Unallocated.Text, o.Reserved.Text)
	for _, p := range o.Others {
		fmt.Fprint(&b, " ", p.PID, p.Used.Text)
	}
	return b.String()
}
