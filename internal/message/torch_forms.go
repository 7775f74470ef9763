package message

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

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
		{"Currentlyallocated:", &o.Allocated},
		{"Requested:", &o.Tried},
		{"Devicelimit:", &o.Capacity},
		{"Free(accordingtoCUDA):", &o.Free},
		{"PyTorchlimit(setbyuser-suppliedmemoryfraction):", &o.Allowed},
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
