package snapshot

import (
	"fmt"
	"math"

	"github.com/ullage-dev/ullage/internal/value"
)

// MaxSizeBytes bounds every size in a Recording, in either direction: 128 TiB, beyond
// any device and small enough that sums of sizes cannot overflow. A reader sets
// sizes that lie beyond to it and says so in Warnings. Negative sizes stay
// negative: whoever replays a trace has to tell them from real ones.
const MaxSizeBytes = 1 << 47

// oddity is something odd in the file that was made the best of.
type oddity int

const (
	oddFloat oddity = iota // a float where an integer belongs
	oddNotNumber
	oddRange
	oddSize
	oddNegative
	oddMixedList
	oddSharedBlocks
	numOddities
)

// oddText has a line for one of a kind, and one for several.
var oddText = [numOddities][2]string{
	oddFloat:        {"1 number is a fraction where a whole number belongs; it was rounded toward zero", "%d numbers are fractions where whole numbers belong; they were rounded toward zero"},
	oddNotNumber:    {"1 value is no number where a number belongs; it was taken as 0", "%d values are not numbers where numbers belong; they were taken as 0"},
	oddRange:        {"1 number does not fit into 64 bits; the nearest that does was taken", "%d numbers do not fit into 64 bits; the nearest that does was taken"},
	oddSize:         {"1 size is beyond 128 TiB; it was set to it", "%d sizes are beyond 128 TiB; they were set to it"},
	oddNegative:     {"1 size is negative", "%d sizes are negative"},
	oddMixedList:    {"1 list holds things of different kinds; the rest of it was left out", "%d lists hold things of different kinds; the rest of them was left out"},
	oddSharedBlocks: {"1 segment shares its list of blocks with another segment; it was given to the first", "%d segments share their list of blocks with another segment; it was given to the first"},
}

// oddities counts what was odd, with the first place of each.
type oddities [numOddities]struct {
	count int
	first string
}

func (o *oddities) note(what oddity, first string) {
	if o[what].count == 0 {
		o[what].first = first
	}
	o[what].count++
}

// warnings returns a line for each kind of oddity.
func (o *oddities) warnings() []string {
	var out []string
	for what, seen := range o {
		if seen.count == 0 {
			continue
		}
		s := oddText[what][0]
		if seen.count > 1 {
			s = fmt.Sprintf(oddText[what][1], seen.count)
		}
		if seen.first != "" {
			s += "; the first is " + seen.first
		}
		out = append(out, s)
	}
	return out
}

// here names what is being read, for a warning.
func (b *builder) here() string {
	if b.events.total == 0 {
		return "before the first event"
	}
	return fmt.Sprintf("near event %d of the file", b.events.total)
}

// address returns v as an address: any 64 bits.
func (b *builder) address(v value.Value) uint64 {
	if v.Kind() == value.KindInt {
		return uint64(v.Small())
	}
	u, exact := b.pool.Uint64(v)
	b.inexact(v, exact)
	return u
}

// integer returns v as a signed integer.
func (b *builder) integer(v value.Value) int64 {
	if v.Kind() == value.KindInt {
		return v.Small()
	}
	i, exact := b.pool.Int64(v)
	b.inexact(v, exact)
	return i
}

// inexact notes how a number was not what it should be. None is nothing odd: it
// stands for what a writer did not know.
func (b *builder) inexact(v value.Value, exact value.Exact) {
	switch {
	case exact == value.FromFloat:
		b.odd.note(oddFloat, b.here())
	case exact == value.OutOfBounds:
		b.odd.note(oddRange, b.here())
	case exact == value.NotInteger && v != value.None:
		b.odd.note(oddNotNumber, b.here())
	}
}

// size returns v as a number of bytes within ±MaxSizeBytes.
func (b *builder) size(v value.Value) int64 {
	n := b.integer(v)
	if uint64(n) <= MaxSizeBytes {
		return n
	}
	if n < 0 {
		b.odd.note(oddNegative, b.here())
		return max(n, -MaxSizeBytes)
	}
	b.odd.note(oddSize, b.here())
	return MaxSizeBytes
}

// time returns v as microseconds since 1970, which some tools keep as a float.
func (b *builder) time(v value.Value) int64 {
	if v.Kind() == value.KindInt {
		return v.Small()
	}
	n, _ := b.pool.Int64(v)
	return n
}

// boolean returns v as a truth value: writers other than torch's have 0 and 1.
func (b *builder) boolean(v value.Value) bool {
	n, _ := b.pool.Int64(v)
	return v == value.True || n != 0
}

// small returns v as an int, clamped.
func (b *builder) small(v value.Value) int {
	return int(max(math.MinInt32, min(math.MaxInt32, b.integer(v))))
}

// stream returns the id of a raw stream handle.
func (b *builder) stream(v value.Value) StreamID {
	t := &b.events
	if v == t.lastStream.v {
		return t.lastStream.id
	}
	raw := b.address(v)
	id, ok := t.streamOf[raw]
	if !ok {
		id = StreamID(len(t.streams))
		t.streams = append(t.streams, raw)
		t.streamOf[raw] = id
	}
	if v.Kind() == value.KindInt {
		t.lastStream.v, t.lastStream.id = v, id
	}
	return id
}

// action returns the action of a name. Unknown ones are counted.
func (b *builder) action(v value.Value) Action {
	c := &b.events.actions[v.Payload()%uint64(len(b.events.actions))]
	if c.name != v {
		*c = actionName{v, actionNames[b.pool.Text(v)]}
	}
	if c.action == UnknownAction {
		b.unknown[Unknown{Where: "action", Name: b.text(v)}]++
	}
	return c.action
}

// compileContext returns the label of a compiled region. Outside of any, torch writes "N/A".
func (b *builder) compileContext(v value.Value) LabelID {
	if v == b.events.noContext {
		return 0
	}
	return b.label(v)
}

// label returns the id of a text. The empty text, None and empty containers have none.
func (b *builder) label(v value.Value) LabelID {
	t := &b.events
	if v == t.lastLabel.v {
		return t.lastLabel.id
	}
	id, ok := t.labelOf[v]
	if !ok {
		if s := b.textOrNone(v); s != "" && s != "[]" && s != "{}" {
			id = LabelID(len(t.labels))
			t.labels = append(t.labels, s)
		}
		t.labelOf[v] = id
	}
	t.lastLabel.v, t.lastLabel.id = v, id
	return id
}

// poolID returns a pool's name.
func (b *builder) poolID(v value.Value) PoolID {
	if kind, id := asObject(v); kind == objPair {
		return b.events.pools[id]
	}
	var p PoolID
	for i, x := range b.tree.elements(v) {
		if i < len(p) {
			p[i] = b.address(x)
		}
	}
	return p
}

// poolIndex returns the index of a pool in the current trace's table.
func (b *builder) poolIndex(v value.Value) uint32 {
	t := &b.events
	t.cur.hasPools = true
	kind, id := asObject(v)
	if kind != objPair {
		_, id = asObject(t.pair(b.poolID(v)))
	}
	return t.cur.poolIndex(id, t.pools[id])
}
