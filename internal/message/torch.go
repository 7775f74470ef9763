package message

import (
	"bytes"
	"fmt"
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
	used := 0
	for at := 0; ; { // a line without end may hold many
		o, begin, end := parseOOM(j.text[at:])
		if o == nil || j.row(at+begin) != i {
			return used
		}
		at += end
		used = j.row(at-1) - i + 1
		s.addOOM(v, i, o)
	}
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
	from := []string{key, ""}
	if key == "" {
		from[1] = anyProcess
	}
	for _, f := range from {
		if k, ok := s.seen[f+"\x01"+id]; ok {
			return k, true
		}
	}
	return 0, false
}

// anyProcess is the key under which a finding is remembered whatever process it is of.
const anyProcess = "\x02"

func (s *scanner) remember(key, id string, k int) {
	s.seen[key+"\x01"+id] = k
	s.seen[anyProcess+"\x01"+id] = k
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
