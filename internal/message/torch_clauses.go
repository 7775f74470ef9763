package message

import (
	"bytes"
	"strconv"
	"strings"
)

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

// body reads the clauses of a message in any order and skips what it does not
// know, as long as a clause that it knows follows closely.
func (c *cursor) body(o *OOM) {
	for {
		start := c.i
		for c.lit(".") || c.lit(";") || c.lit(",") {
		}
		if !c.clause(o) && !c.skipUnknown() {
			c.i = start
			c.lit(".")
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
	c.lit(")")
	return true
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
