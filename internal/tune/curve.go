package tune

import "slices"

// Curve is what a run reserves over the events of the recording.
type Curve struct {
	Reserved []int64  // bytes: the most between each two edges; 0 from where the run ended on
	Failed   *Failure // the request that ends the run, or nil
}

// CurveEdges returns at most n events that cut a recording into parts of the same length,
// the last event being the last of them.
func CurveEdges(p *Program, n int) []int {
	events := p.TL.Dev.Events.Len()
	n = min(n, events)
	edges := make([]int, n)
	for k := range edges {
		edges[k] = int(int64(k+1)*int64(events)/int64(n)) - 1
	}
	return edges
}

// Curve replays a program under a setting, in the Tuner's room and with the likely
// addresses as Try does, and returns the most that is reserved after an edge and up to the
// next, both of them ascending events. What is there before the first event counts for
// the first part.
func (t *Tuner) Curve(p *Program, s *Setting, edges []int) Curve {
	c := Curve{Reserved: make([]int64, len(edges))}
	k, before := 0, int64(0)
	w := func(event int, reserved int64) {
		for k < len(edges)-1 && event > edges[k] {
			k++
			c.Reserved[k] = before
		}
		if len(edges) > 0 {
			c.Reserved[k] = max(c.Reserved[k], reserved)
		}
		before = reserved
	}
	out := t.watched(p, s, w)
	if c.Failed = out.Failed; c.Failed == nil && len(edges) > 0 {
		w(slices.Max(edges), before) // to the end, where the last calls came earlier
	}
	return c
}

// watched runs a program as simulate does, and calls watch after each of its calls.
func (t *Tuner) watched(p *Program, s *Setting, watch func(event int, reserved int64)) Outcome {
	r := runners.Get().(*runner)
	defer runners.Put(r)
	r.watch = watch
	defer func() { r.watch = nil }()
	out := r.run(p, t.Room.config(s), deviceOf(t.Room, t.addrs[p]), t.mode(p, s))
	t.count.Runs.Add(1)
	t.count.Events.Add(int64(r.done))
	return out
}
