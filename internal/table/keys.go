package table

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// key is what may stand before the colon of a word.
type key struct {
	ordered bool // it also compares: size>64MiB
	expects string
	in      []What // tables that have it
	compile func(t *Tables, w *word, in about) (test, error)
}

// about is what a query is about.
type about struct {
	what  What
	scope scope
}

// test is a condition of a query on a row.
type test struct {
	need need
	cost int // tests are made in this order
	ok   func(r *row) bool
}

// nothing is what a key expects that takes no value.
const nothing = ""

var everywhere = []What{Blocks, Sites, Segments, Events}

var keys = map[string]key{
	"file":      {false, "a part of a path", everywhere, onStacks((*stacks).inFile)},
	"func":      {false, "a part of a function's name", everywhere, onStacks((*stacks).inFunc)},
	"op":        {false, "a part of an operator's name", everywhere, onStacks((*stacks).inOp)},
	"module":    {false, "a part of a module's call", everywhere, onModules},
	"category":  {false, "a category", []What{Blocks, Sites, Events}, onCategory},
	"leak":      {false, nothing, []What{Blocks, Sites, Events}, onLeak},
	"pin":       {false, nothing, []What{Blocks}, onPin},
	"size":      {true, "a size, as 64MiB", everywhere, onSize(needSize, func(r *row) int64 { return r.size })},
	"requested": {true, "a size, as 64MiB", []What{Blocks}, onSize(needRequested, func(r *row) int64 { return r.requested })},
	"life":      {true, "a time, as 10ms, or events, as 500e", []What{Blocks}, onLife},
	"event":     {true, "an event, as 1234", []What{Blocks, Segments, Events}, onEvent},
	"step":      {true, "a step, as 3 or 3..5", []What{Blocks, Segments, Events}, onStep},
	"stream":    {false, "a stream's handle, as 0 or 0x5500", []What{Blocks, Segments, Events}, onStream},
	"pool":      {false, "a pool, as 0.0", []What{Blocks, Segments, Events}, onPool},
	"addr":      {false, "an address, as 0x7f6b2c000000", []What{Blocks, Segments, Events}, onAddress},
	"site":      {false, "a site's number, as the column site_id has it", everywhere, onSite},
	"block":     {false, "a block's number", []What{Blocks, Events}, onBlock},
	"state":     {false, "live, pending, freed or leaked", []What{Blocks, Segments}, onState},
	"action":    {false, "an event's action, as alloc", []What{Events}, onAction},
}

// compile makes the test of one word.
func (t *Tables) compile(w *word, in about) (test, error) {
	k, ok := keys[w.key]
	switch {
	case w.key == "":
		return textTest(t, w)
	case !ok || !slices.Contains(k.in, in.what):
		return test{}, w.errorf("%s: the table of %s has no %s", w.text, in.what, w.key)
	}
	return k.compile(t, w, in)
}

// stackTest fits rows by their stack; a site by any of its stacks.
func stackTest(set stackSet) test {
	return test{needStack, 1, func(r *row) bool {
		if r.site == nil {
			return set.has(r.stack)
		}
		return slices.ContainsFunc(r.site.stacks, set.has)
	}}
}

func onStacks(find func(*stacks, string) stackSet) func(*Tables, *word, about) (test, error) {
	return func(t *Tables, w *word, _ about) (test, error) { return stackTest(find(t.stacks, w.value)), nil }
}

// textTest fits rows whose stack shows a text. Where there is no stack, what stands for it
// in reports counts: "before the recording began".
func textTest(t *Tables, w *word) (test, error) {
	inStack := stackTest(t.stacks.inText(w.value))
	named := newMatcher(w.value).places(t.in.Lines)
	return test{needStack, 1, func(r *row) bool { return inStack.ok(r) || named[t.lineOf(r)] }}, nil
}

func onModules(t *Tables, w *word, _ about) (test, error) {
	named := newMatcher(w.value).places(t.in.Modules)
	return test{needStack, 1, func(r *row) bool {
		if r.site == nil {
			return named[t.in.Modules.Of(r.stack, r.from)]
		}
		return slices.ContainsFunc(r.site.stacks, func(id snapshot.StackID) bool { return named[t.in.Modules.Of(id, r.from)] })
	}}, nil
}

func onCategory(t *Tables, w *word, _ about) (test, error) {
	names := analyze.CategoryNames()
	m := newMatcher(w.value)
	fits := make([]bool, len(names))
	for i, name := range names {
		fits[i] = m.in(name)
	}
	if !slices.Contains(fits, true) {
		return test{}, w.errorf("%s: no category is called so; there are %s", w.text, strings.Join(names, ", "))
	}
	return test{needBlock, 1, func(r *row) bool {
		if r.site != nil {
			return fits[r.site.category]
		}
		return r.block != none && fits[t.in.Categories.Of(r.block)]
	}}, nil
}

func onLeak(t *Tables, _ *word, _ about) (test, error) { return stackTest(t.growing), nil }

func onState(t *Tables, w *word, in about) (test, error) {
	i := slices.Index(states[:], w.value)
	if i < 0 || in.what == Segments && state(i) == leaked {
		return test{}, w.errorf("%s: expected state:live, state:pending, state:freed or, for blocks, state:leaked", w.text)
	}
	want := state(i)
	return test{needStack, 1, func(r *row) bool {
		got := t.stateOf(r)
		return got == want || want == live && got == leaked
	}}, nil
}

func onAction(_ *Tables, w *word, _ about) (test, error) {
	i := slices.Index(actions[:], w.value)
	if i < 0 {
		return test{}, w.errorf("%s: there is no such action; there are %s", w.text, strings.Join(actions[1:], ", "))
	}
	return test{needAction, 0, func(r *row) bool { return int(r.action) == i }}, nil
}

func onStream(t *Tables, w *word, _ about) (test, error) {
	raw, err := strconv.ParseUint(w.value, 0, 64)
	if err != nil {
		return test{}, w.errorf("%s: expected a stream's handle, as stream:0 or stream:0x5500", w.text)
	}
	fits := make([]bool, len(t.tl.Rec.Streams))
	for i, handle := range t.tl.Rec.Streams {
		fits[i] = handle == raw
	}
	return test{needStream, 0, func(r *row) bool { return int(r.stream) < len(fits) && fits[r.stream] }}, nil
}

func onPool(t *Tables, w *word, in about) (test, error) {
	find := t.pools(in.what)
	return test{needAddr | needAction, 2, func(r *row) bool {
		pool, ok := find(r)
		return ok && pool.String() == w.value
	}}, nil
}

func onAddress(_ *Tables, w *word, in about) (test, error) {
	addr, err := strconv.ParseUint(w.value, 0, 64)
	if err != nil {
		return test{}, w.errorf("%s: expected an address, as addr:0x7f6b2c000000", w.text)
	}
	return test{needAddr | needSize | needAction, 0, func(r *row) bool {
		if in.what == Events && !hasAddress(r.action) {
			return false
		}
		return r.addr <= addr && addr-r.addr < uint64(max(r.size, 1))
	}}, nil
}

func onSite(t *Tables, w *word, _ about) (test, error) {
	id, err := strconv.ParseUint(w.value, 10, 31)
	if err != nil {
		return test{}, w.errorf("%s: expected a site's number, as site:45", w.text)
	}
	fits := make([]bool, t.in.Lines.Len())
	for line := range fits {
		fits[line] = t.in.SiteID(line) == int(id)
	}
	return test{needStack, 1, func(r *row) bool { return fits[t.lineOf(r)] }}, nil
}

func onBlock(_ *Tables, w *word, _ about) (test, error) {
	id, err := strconv.ParseUint(w.value, 10, 31)
	if err != nil {
		return test{}, w.errorf("%s: expected a block's number, as block:7", w.text)
	}
	return test{needBlock, 0, func(r *row) bool { return r.block == int(id) }}, nil
}

// interval is what a comparison allows, both ends included.
type interval struct{ low, high int64 }

func (v interval) has(n int64) bool { return v.low <= n && n <= v.high }

// interval reads what a word compares with: >, >=, <, <=, = and : with a value, or : with a
// range, either end of which may be left out. parse reads one value.
func (w *word) interval(parse func(string) (int64, error)) (interval, error) {
	v := interval{math.MinInt64, math.MaxInt64}
	low, high, isRange := strings.Cut(w.value, "..")
	if isRange && (w.op == ":" || w.op == "=") && low+high != "" {
		var err error
		if low != "" {
			if v.low, err = parse(low); err != nil {
				return v, err
			}
		}
		if high != "" {
			v.high, err = parse(high)
		}
		if err == nil && v.low > v.high {
			return v, w.errorf("%s: nothing is between %s and %s", w.text, low, high)
		}
		return v, err
	}
	n, err := parse(w.value)
	if err != nil {
		return v, err
	}
	switch w.op {
	case ">":
		v.low, v.high = min(n, math.MaxInt64-1)+1, math.MaxInt64
	case ">=":
		v.low = n
	case "<":
		v.high = n - 1
	case "<=":
		v.high = n
	default:
		v.low, v.high = n, n
	}
	return v, nil
}

func onSize(n need, size func(*row) int64) func(*Tables, *word, about) (test, error) {
	return func(_ *Tables, w *word, _ about) (test, error) {
		v, err := w.interval(func(s string) (int64, error) {
			n, err := units.ParseBytes(s)
			if err != nil {
				return 0, w.errorf("%s: %s", w.text, err)
			}
			return n, nil
		})
		return test{n, 0, func(r *row) bool { return v.has(size(r)) }}, err
	}
}

// ordinal reads the number of an event or a step, which may follow a letter as on the
// command line: e1234, s12.
func (w *word) ordinal(letter string) func(string) (int64, error) {
	return func(s string) (int64, error) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, letter), 10, 31)
		if err != nil {
			return 0, w.errorf("%s: expected %s", w.text, keyExpects[letter])
		}
		return int64(n), nil
	}
}

var keyExpects = map[string]string{"e": "an event, as 1234", "s": "a step, as 3 or 3..5"}

func onEvent(_ *Tables, w *word, _ about) (test, error) {
	v, err := w.interval(w.ordinal("e"))
	return test{0, 0, func(r *row) bool { return v.has(int64(r.from)) }}, err
}

// onStep turns steps into the events between their bounds.
func onStep(t *Tables, w *word, _ about) (test, error) {
	v, err := w.interval(w.ordinal("s"))
	if err != nil {
		return test{}, err
	}
	steps := &t.in.Steps
	if steps.Len() == 0 {
		return test{}, w.errorf("%s: no steps were found in this recording", w.text)
	}
	first, last := max(v.low, 0), min(v.high, int64(steps.Len())-1)
	if first > last {
		return test{}, w.errorf("%s: the recording has steps 0 to %d", w.text, steps.Len()-1)
	}
	from, to := steps.Bounds[first], steps.Bounds[last+1]
	return test{0, 0, func(r *row) bool { return from <= r.from && r.from < to }}, nil
}
