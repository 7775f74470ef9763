package lease

import (
	"maps"
	"slices"
)

// Of one user so many refusals in a minute are events of their own. Those beyond are counted, and
// the counts are one event: whoever asks in vain ten times a second would else fill the ledger
// with 864,000 rows a day.
const (
	refusalsWritten  = 30
	refusalsWindowMS = minuteMS
)

// refusals are those of one user since a minute began.
type refusals struct {
	sinceMS int64
	written int
	more    map[Code]int64 // that were not written
}

// writes counts a refusal, and tells whether it is to be an event of its own.
func (t *turn) writes(code Code) bool {
	t.tellRefusals(false)
	r := t.book.refusals[t.actor]
	if r == nil {
		r = &refusals{sinceMS: t.atMS, more: map[Code]int64{}}
		t.book.refusals[t.actor] = r
	}
	if r.written < refusalsWritten {
		r.written++
		return true
	}
	r.more[code]++
	return false
}

// tellRefusals makes an event of the counts of each user whose minute is over, or with all of
// every one's.
func (t *turn) tellRefusals(all bool) {
	actor := t.actor
	defer func() { t.actor = actor }()
	for _, user := range slices.Sorted(maps.Keys(t.book.refusals)) {
		r := t.book.refusals[user]
		if !all && t.atMS-r.sinceMS < refusalsWindowMS {
			continue
		}
		delete(t.book.refusals, user)
		if len(r.more) > 0 {
			t.actor = user
			t.emit(&RefusedMore{SinceMS: r.sinceMS, Counts: r.more})
		}
	}
}

// TellRefusals makes events of what was refused and has no event of its own yet: for an agent that
// is about to end.
func (b *Book) TellRefusals(atMS int64) ([]Event, error) {
	t := b.turn(atMS, Agent)
	t.tellRefusals(true)
	return t.done()
}
