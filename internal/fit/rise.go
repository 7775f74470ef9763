package fit

import "sort"

// fewestRounds is how many rounds of steps it takes to tell growth from a beginning: what
// an optimizer keeps comes with its first step, and meets activations only in the second.
const fewestRounds = 3

// rounds returns the events at which rounds of steps ended: steps of the optimizer that made
// the fewest, and in a program where none stepped the calls of a model.
func (t *Trace) rounds() []int32 {
	steps := make(map[int32][]int32)
	var calls []int32
	for i := range t.Events {
		e := &t.Events[i]
		switch {
		case e.Kind != Step:
		case e.Text >= 0 && t.Texts[e.Text].What == "call":
			calls = append(calls, int32(i))
		default:
			steps[e.ID] = append(steps[e.ID], int32(i))
		}
	}
	var fewest []int32
	for _, s := range steps {
		if fewest == nil || len(s) < len(fewest) || len(s) == len(fewest) && s[0] > fewest[0] {
			fewest = s
		}
	}
	if fewest == nil {
		return calls
	}
	return fewest
}

// markLastRound finds the first call of the last round.
func (j *Job) markLastRound() {
	j.lastRound = -1
	if r := j.Trace.rounds(); len(r) >= fewestRounds {
		at := r[len(r)-2]
		j.lastRound = sort.Search(len(j.ops), func(i int) bool { return j.ops[i].event > at })
	}
}

// RoundBytes is what the program asked for in the last two rounds of steps, in bytes on the
// job's device: alike where all steps have tensors of the same sizes. Both are 0 where there
// were too few rounds to tell.
func (j *Job) RoundBytes() (before, last int64) {
	t := j.Trace
	r := t.rounds()
	n := len(r)
	if n < fewestRounds {
		return 0, 0
	}
	return t.askedBytes(r[n-3], r[n-2], j.Device), t.askedBytes(r[n-2], r[n-1], j.Device)
}

// askedBytes sums what storages were made with between two events.
func (t *Trace) askedBytes(after, to int32, device int) int64 {
	var sum int64
	for i := after + 1; i <= to; i++ {
		if e := &t.Events[i]; e.Kind == Op || e.Kind == Alloc {
			for _, s := range t.News[e.First : e.First+e.Count] {
				if int(s.Device) == device {
					sum += s.Bytes
				}
			}
		}
	}
	return sum
}

// Rise is by how many bytes the peak of what is reserved rose in the last round of steps, 0
// where there were too few to tell. In jobs whose sizes stay it is 0 from the third on.
func (p *Prediction) Rise() int64 {
	if p.Best.PeakBeforeLast == 0 {
		return 0
	}
	return p.Best.PeakReserved - p.Best.PeakBeforeLast
}
