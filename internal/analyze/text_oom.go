package analyze

import (
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// Undetermined is the cause of a failure of which a text gives too little, or the
// cause of which lies within the rounding of its numbers.
const Undetermined OOMCause = "undetermined"

// TextOOM is a message with what its numbers mean.
type TextOOM struct {
	Message    *message.OOM
	Cause      OOMCause
	Confidence rules.Confidence
	Cap        CapKind // what refused: the device, or a limit below it
	CapSure    bool    // the message says so; else it is inferred
	Account    TextAccount
	Odd        []string // where the numbers of the message contradict each other
}

// TextAccount splits the device's memory as far as the message allows. Values that
// it does not give are -1. All are rounded as the message is.
type TextAccount struct {
	CapacityBytes    int64
	FreeBytes        int64 // on the device
	OthersBytes      int64 // other processes that the message lists
	OwnBytes         int64 // this process, with what is not PyTorch's
	OwnInferred      bool  // the message lists this process under a number of the host, as it does in containers
	ReservedBytes    int64 // by PyTorch: allocated and cached
	AllocatedBytes   int64
	CachedBytes      int64 // reserved, not allocated
	OutsideBytes     int64 // of this process, outside PyTorch: context, NCCL, other libraries
	UnexplainedBytes int64 // of nobody that the message names; -1 where that may be nothing but rounding
	LimitBytes       int64 // a memory fraction
	RequestBytes     int64 // that was asked of the driver
}

// span is an interval in which a value lies; the zero span is one that is not known.
type span struct {
	lo, hi int64
	ok     bool
}

func spanOf(s message.Size) span { return span{s.Low, s.High, s.Known()} }

func (a span) plus(b span) span  { return span{a.lo + b.lo, a.hi + b.hi, a.ok && b.ok} }
func (a span) minus(b span) span { return span{a.lo - b.hi, a.hi - b.lo, a.ok && b.ok} }

// atLeast reports whether a ≥ b holds whatever the exact values are.
func (a span) atLeast(b span) bool { return a.ok && b.ok && a.lo >= b.hi }

// below reports whether a < b holds whatever the exact values are.
func (a span) below(b span) bool { return a.ok && b.ok && a.hi < b.lo }

// mid is the middle, or -1.
func (a span) mid() int64 {
	if !a.ok {
		return -1
	}
	return a.lo + (a.hi-a.lo)/2
}

func least(a, b span) span { return span{min(a.lo, b.lo), min(a.hi, b.hi), a.ok && b.ok} }

// textCase is one message while it is judged.
type textCase struct {
	m   *message.OOM
	out TextOOM

	request, capacity, free, limit span
	allocated, cached, reserved    span
	own, others                    span
	outside, unexplained           span
}

// judgeText weighs the numbers of a message against each other.
func judgeText(m *message.OOM) TextOOM {
	c := &textCase{m: m, out: TextOOM{Message: m, Cause: Undetermined, Cap: DeviceCap}}
	c.read()
	c.attribute()
	c.contradictions()
	c.limitOf()
	c.causeOf()
	c.fill()
	return c.out
}

// read brings the forms to one shape: reserved = allocated + cached.
func (c *textCase) read() {
	m := c.m
	c.request, c.capacity, c.free, c.limit = spanOf(m.Tried), spanOf(m.Capacity), spanOf(m.Free), spanOf(m.Allowed)
	c.allocated, c.cached = spanOf(m.Allocated), spanOf(m.Unallocated)
	switch m.Form {
	case message.FormReserved:
		c.reserved = spanOf(m.Reserved)
		c.cached = c.reserved.minus(c.allocated)
		c.cached.lo = max(c.cached.lo, 0)
	case message.FormMPS:
		c.reserved = c.allocated.plus(spanOf(m.OtherAllocs)) // both count towards its limit
	default:
		c.reserved = c.allocated.plus(c.cached)
	}
}

// attribute says whose the rest of the device is.
func (c *textCase) attribute() {
	c.own = spanOf(c.m.ThisProcess)
	mine := -1
	if !c.own.ok {
		mine = c.ownInList()
	}
	for i, p := range c.m.Others {
		used := spanOf(p.Used)
		switch {
		case i == mine:
			c.own, c.out.Account.OwnInferred = used, true
		case used.ok && !c.others.ok:
			c.others = used
		case used.ok:
			c.others = c.others.plus(used)
		}
	}
	c.outside = c.own.minus(c.reserved)
	c.unexplained = c.capacity.minus(c.free).minus(c.reserved)
	if c.own.ok {
		c.unexplained = c.capacity.minus(c.free).minus(c.own)
	}
	if c.others.ok {
		c.unexplained = c.unexplained.minus(c.others)
	}
}

// ownInList finds this process among the listed ones: in a container its number is
// one of the host, so that the message does not know it again. It holds at least
// what PyTorch reserved; where more than one process does, none can be told.
func (c *textCase) ownInList() int {
	mine := -1
	for i, p := range c.m.Others {
		if !spanOf(p.Used).ok || !c.reserved.ok || p.Used.High < c.reserved.lo {
			continue
		}
		if mine >= 0 {
			return -1
		}
		mine = i
	}
	return mine
}

// slack is what rounding, and processes that change while the message is written,
// may add up to.
const slack = 64 * units.MiB

// contradictions notes numbers that can't all be true.
func (c *textCase) contradictions() {
	odd := func(s string) { c.out.Odd = append(c.out.Odd, s) }
	if c.reserved.ok && c.capacity.ok && c.reserved.lo > c.capacity.hi+slack {
		odd("PyTorch reserved more than the device has: the driver moved memory to the host (Windows does so unless its fallback policy forbids it), or the device pages")
	}
	if c.own.ok && c.reserved.ok && c.own.hi+slack < c.reserved.lo {
		odd("the driver counts less for this process than PyTorch reserved: it does not see all of it (WSL, MPS and some containers)")
	}
	if total := c.free.plus(c.own); c.capacity.ok && total.ok && !c.tooMuchReserved() {
		if c.others.ok {
			total = total.plus(c.others)
		}
		if total.lo > c.capacity.hi+slack {
			odd("what is free and what the processes hold add up to more than the device: they changed while the message was written")
		}
	}
	for _, p := range c.m.Others {
		if !p.Used.Known() {
			odd("the driver could not say how much a listed process holds; its number is left out")
			break
		}
	}
}

func (c *textCase) tooMuchReserved() bool {
	return c.reserved.ok && c.capacity.ok && c.reserved.lo > c.capacity.hi
}

// limitOf tells whether the device refused, or a limit below its size.
func (c *textCase) limitOf() {
	switch {
	case c.m.Form == message.FormMPS:
		c.out.Cap, c.out.CapSure = FractionCap, true
	case c.limit.ok && c.capacity.ok && c.limit.lo >= c.capacity.hi:
		c.limit = span{} // 17179869184.00 GiB, or the capacity itself: no limit
	case c.limit.ok && c.reserved.plus(c.request).hi > c.limit.lo:
		c.out.Cap, c.out.CapSure = FractionCap, true
	case c.free.atLeast(c.request) && !c.request.atLeast(c.capacity):
		c.out.Cap = FractionCap // another than a printed one, which was not met
	}
}

// room is what the driver would still have given.
func (c *textCase) room() span {
	if c.out.Cap != FractionCap {
		return c.free
	}
	if !c.limit.ok {
		return span{}
	}
	left := c.limit.minus(c.reserved)
	left.lo, left.hi = max(left.lo, 0), max(left.hi, 0)
	if !c.free.ok {
		return left
	}
	return least(left, c.free)
}

// causeOf names the first cause that the numbers bear out.
func (c *textCase) causeOf() {
	set := func(cause OOMCause, sure rules.Confidence) { c.out.Cause, c.out.Confidence = cause, sure }
	room := c.room()
	foreign := c.foreign()
	switch {
	case c.m.Form == message.FormHuge, c.request.ok && c.capacity.below(c.request):
		set(TrueShortage, rules.High)
	case !c.request.ok || c.m.Form == message.FormBare:
	case c.out.Cap == FractionCap && !c.out.CapSure:
		if c.cached.atLeast(c.request) {
			set(Fragmentation, rules.Low) // the device had room as well: what refused is not in the text
		}
	case c.m.Form == message.FormMPS && c.reserved.ok:
		set(TrueShortage, rules.Medium) // the message is printed for that alone; what is cached it does not tell
	case c.foreignIsCause(foreign, room) && foreign.lo > c.cached.hi:
		set(OtherProcess, c.foreignSure(foreign))
	case c.cached.atLeast(c.request):
		set(Fragmentation, c.fragmentationSure(room))
	case c.foreignIsCause(foreign, room):
		set(OtherProcess, c.foreignSure(foreign))
	case c.cached.plus(room).atLeast(c.request):
		set(Fragmentation, rules.Low)
	case c.cached.plus(room).below(c.request):
		set(TrueShortage, rules.High)
	case !c.cached.ok && room.below(c.request):
		set(TrueShortage, rules.Low)
	}
}

// fragmentationSure is medium at most: a text can't tell pieces from memory that is
// free on another stream. Where tight packing would leave less than a fiftieth of
// the device, the next request would have failed all the same.
func (c *textCase) fragmentationSure(room span) rules.Confidence {
	left := c.cached.minus(c.request)
	if room.ok {
		left = left.plus(room)
	}
	if most := c.ceiling(); most.ok && left.mid() < most.lo/50 {
		return rules.Low
	}
	return rules.Medium
}

// ceiling is what the process could have at most.
func (c *textCase) ceiling() span {
	if c.out.Cap == FractionCap && c.limit.ok {
		return c.limit
	}
	return c.capacity
}

// contextBytes is what a process holds on a GPU before it allocates anything: 250 MiB
// to 1.5 GiB, by GPU, driver and loaded libraries.
const contextBytes = 1536 * units.MiB

// foreign is what neither PyTorch nor a usual context holds.
func (c *textCase) foreign() span {
	f := span{ok: c.capacity.ok}
	if c.others.ok {
		f = f.plus(c.others)
	}
	extra := c.unexplained
	if c.own.ok {
		extra = extra.plus(c.outside)
	}
	if extra.ok && extra.lo > contextBytes {
		f = f.plus(extra.minus(span{contextBytes, contextBytes, true}))
	}
	return f
}

// foreignIsCause reports whether the request would have fitted without what others
// hold, and that is not a trifle: a tenth of the device, or twice the request.
func (c *textCase) foreignIsCause(foreign, room span) bool {
	if !foreign.ok || c.out.Cap == FractionCap || foreign.lo <= 0 {
		return false
	}
	return room.plus(foreign).atLeast(c.request) && (foreign.lo >= c.capacity.hi/10 || foreign.lo >= 2*c.request.hi)
}

// foreignSure is how sure it is that the memory is not this program's own tensors.
func (c *textCase) foreignSure(foreign span) rules.Confidence {
	switch {
	case foreign.lo >= c.capacity.hi/4 && (c.others.ok && c.others.lo > foreign.hi/2 || foreign.lo >= c.capacity.hi/2):
		return rules.High
	case foreign.lo >= c.capacity.hi/10:
		return rules.Medium
	case c.others.ok:
		return rules.Medium
	}
	return rules.Low
}

func (c *textCase) fill() {
	a := &c.out.Account
	a.CapacityBytes, a.FreeBytes, a.LimitBytes = c.capacity.mid(), c.free.mid(), c.limit.mid()
	a.OthersBytes, a.OwnBytes = c.others.mid(), c.own.mid()
	a.ReservedBytes, a.AllocatedBytes, a.CachedBytes = c.reserved.mid(), c.allocated.mid(), c.cached.mid()
	a.RequestBytes = c.request.mid()
	a.OutsideBytes, a.UnexplainedBytes = max(c.outside.mid(), -1), -1
	if c.unexplained.lo > 0 {
		a.UnexplainedBytes = c.unexplained.mid()
	}
}
