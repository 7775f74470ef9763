package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// checkedTerms are those whose rules a calibration holds against calls on the card.
var checkedTerms = []Term{Attention, Reduction, Sorting, Temporary, Recurrent}

// leastBytes is what a call may take beyond its rule without being told of: smaller
// differences are lost in the segments of 2 MiB that small requests share.
const leastBytes = 1 << 20

// checkTerms computes what the measured calls take by the model's rules on this card, and
// compares.
func (m *Measurements) checkTerms(p *Profile) ([]CalibratedTerm, error) {
	computed, err := m.computeCalls(p)
	if err != nil {
		return nil, err
	}
	terms := make([]CalibratedTerm, 0, len(checkedTerms))
	for _, term := range checkedTerms {
		t := CalibratedTerm{Name: term.String(), Origin: Computed}
		for i := range m.calls {
			if c := &m.calls[i]; c.Term == t.Name {
				t.compare(c.scratch(), computed[i])
			}
		}
		t.Text = t.sentence()
		terms = append(terms, t)
	}
	return terms, nil
}

// scratch is what a call takes for itself: its requests that are no results, rounded as the
// allocator rounds them, and by how much the most that lives at once exceeds the results.
type scratch struct {
	sizes []int64
	extra int64
}

func (s *scratch) ask(bytes int64) { s.sizes = append(s.sizes, roundUp(bytes, 512)) }

// compare counts a call.
func (t *CalibratedTerm) compare(measured, computed scratch) {
	t.Calls++
	switch {
	case slices.Equal(measured.sizes, computed.sizes) && measured.extra == computed.extra:
		t.Exact++
	case measured.extra <= computed.extra+leastBytes:
	case computed.extra < leastBytes:
		t.UnseenBytes = max(t.UnseenBytes, measured.extra-computed.extra)
	default:
		t.Times = max(t.Times, float64(measured.extra)/float64(computed.extra))
	}
}

func (t *CalibratedTerm) sentence() string {
	switch {
	case t.Calls == 0:
		return "by the model's rule; no call was measured on this card"
	case t.Times > 1 || t.UnseenBytes > 0:
		text := fmt.Sprintf("by the model's rule, which %d of %d measured calls take to the byte", t.Exact, t.Calls)
		if t.Times > 1 {
			text += fmt.Sprintf("; one takes %.2f times as much: so much more is in the safe bound", t.Times)
		}
		if t.UnseenBytes > 0 {
			text += fmt.Sprintf("; one takes %.0f MiB that the rule does not know: they are in the safe bound", float64(t.UnseenBytes)/(1<<20))
		}
		return text
	}
	return fmt.Sprintf("by the model's rule, which %d of %d measured calls take to the byte, and none takes 1 MiB more", t.Exact, t.Calls)
}

// scratch reads it from the call's events.
func (c *callLine) scratch() (s scratch) {
	var live, most, results int64
	var sizes []int64
	for _, e := range c.Events {
		switch at := -e - 1; {
		case e > 0:
			if slices.Contains(c.Results, len(sizes)) {
				results += roundUp(e, 512)
			} else {
				s.ask(e)
			}
			sizes = append(sizes, roundUp(e, 512))
			live += roundUp(e, 512)
			most = max(most, live)
		case e < 0 && at < int64(len(sizes)):
			live -= sizes[at]
		}
	}
	s.extra = most - results
	return s
}

// computeCalls runs the calls through the model, as the operators of a trace.
func (m *Measurements) computeCalls(p *Profile) ([]scratch, error) {
	out := make([]scratch, len(m.calls))
	trace, callOf, err := m.callTrace()
	if err != nil || len(callOf) == 0 {
		return out, err
	}
	plain := *p
	plain.Calibration = nil // the rules as they are
	job, err := compile(trace, &plain, 0, &convTable{})
	if errors.Is(err, ErrNoCUDA) {
		return out, nil // calls in place that take nothing by the rules
	}
	if err != nil {
		return nil, err
	}
	job.scratchOf(callOf, out)
	return out, nil
}

// scratchOf sums up what the operators of a trace take; callOf is the call of an event.
func (j *Job) scratchOf(callOf map[int32]int, out []scratch) {
	sizes := make([]int64, j.slots)
	var live, most, results int64
	for i, o := range j.ops {
		switch {
		case o.kind == jobMalloc:
			sizes[o.slot] = roundUp(o.bytes, 512)
			live += sizes[o.slot]
			most = max(most, live)
			if call, ok := callOf[o.event]; ok && o.fn >= 0 {
				out[call].ask(o.bytes)
			} else {
				results += sizes[o.slot]
			}
		case o.kind == jobFree:
			live -= sizes[o.slot]
		}
		if last := i+1 == len(j.ops) || j.ops[i+1].event != o.event; last {
			if call, ok := callOf[o.event]; ok {
				out[call].extra = most - results
			}
			most, results = live, 0
		}
	}
}

// callTrace writes the calls as a trace in which each one's results are freed before the
// next, and reads it; and which call an event is.
func (m *Measurements) callTrace() (*Trace, map[int32]int, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"e":"meta","version":1,"torch":%q}`+"\n", m.torch.Torch)
	storage, sigs, event := 0, 0, int32(0)
	callOf := map[int32]int{}
	for i := range m.calls {
		c := &m.calls[i]
		news := c.results() // none of a call in place
		op, err := json.Marshal(c.Op)
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(&b, `{"e":"sig","id":%d,"op":%s,"in":%s,"args":%s,"out":%s}`+"\n", sigs, op, orNull(c.In), orNull(c.Args), orNull(c.Out))
		fmt.Fprintf(&b, `{"e":"op","sig":%d,"new":[`, sigs)
		for k, n := range news {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "[%d,%d]", storage+k, n)
		}
		b.WriteString("]}\n")
		sigs++
		callOf[event] = i
		event++
		for range news {
			fmt.Fprintf(&b, `{"e":"free","id":%d}`+"\n", storage)
			storage++
			event++
		}
	}
	trace, err := Read(&b, m.Name)
	return trace, callOf, err
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// results are the sizes of the call's results, in the order of their requests.
func (c *callLine) results() (sizes []int64) {
	at := 0
	for _, e := range c.Events {
		if e <= 0 {
			continue
		}
		if slices.Contains(c.Results, at) {
			sizes = append(sizes, e)
		}
		at++
	}
	return sizes
}
