package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ullage-dev/ullage/internal/value"
)

// stackTable keeps each frame and each stack once.
type stackTable struct {
	frames  []Frame
	frameOf map[frameKey]FrameID
	recent  [1024]recentFrame

	stacks  Stacks
	newest  map[uint64]StackID // by hash of the frames
	sameAs  []StackID          // by StackID: an older stack with the same hash
	scratch []FrameID

	texts    [][]value.Value // lists of strings, each once
	textOf   map[string]int
	ofText   map[int]StackID // by index into texts
	joined   map[[2]StackID]StackID
	tooDeep  int
	badUTF8  map[value.Value]bool
	notFrame int
}

type frameKey struct {
	name, filename, fx value.Value
	line               int
}

type recentFrame struct {
	key frameKey
	id  FrameID
}

// maxStackDepth bounds one stack. Python itself stops at 1000 frames unless told
// otherwise; what lies beyond is the outer end of a runaway recursion.
const maxStackDepth = 1 << 14

func (t *stackTable) init() {
	t.frameOf = map[frameKey]FrameID{}
	t.stacks.Add(nil)
	t.newest = map[uint64]StackID{}
	t.sameAs = []StackID{0}
	t.textOf = map[string]int{}
	t.ofText = map[int]StackID{}
	t.joined = map[[2]StackID]StackID{}
	t.badUTF8 = map[value.Value]bool{}
}

// frame turns a frame's dict into a FrameID.
func (b *builder) frame(k *keySet, items []value.Value) value.Value {
	var key frameKey
	var node, op value.Value
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fName:
			key.name = v
		case fFilename:
			key.filename = v
		case fLine:
			line, _ := b.pool.Int64(v)
			key.line = int(max(0, min(line, math.MaxInt32)))
		case fFxTrace:
			key.fx = v
		case fFxNode:
			node = v
		case fFxOp:
			op = v
		}
	}
	if b.pool.Text(key.fx) == "" {
		key.fx = node
		if node == value.Nothing {
			key.fx = op
		}
	}
	return object(objFrame, int(b.stacks.frameID(b, key)))
}

func (t *stackTable) frameID(b *builder, key frameKey) FrameID {
	h := (uint64(key.name)*31 + uint64(key.filename)*17 + uint64(key.line)) * 0x9e3779b97f4a7c15 >> 54
	r := &t.recent[h]
	if r.key == key && len(t.frames) > 0 {
		return r.id
	}
	id, ok := t.frameOf[key]
	if !ok {
		id = FrameID(len(t.frames))
		t.frames = append(t.frames, Frame{Name: b.textOrNone(key.name), Filename: b.textOrNone(key.filename), Line: key.line, Fx: b.textOrNone(key.fx)})
		t.frameOf[key] = id
	}
	*r = recentFrame{key, id}
	return id
}

// textOrNone returns a string, "" for None and for what is not there.
func (b *builder) textOrNone(v value.Value) string {
	if v.Kind() == value.KindConst {
		return ""
	}
	return b.text(v)
}

// clean returns a string's text. What is not UTF-8 is kept readable: the wrong bytes
// are replaced, and how many strings had some becomes a warning.
func (b *builder) clean(v value.Value) string {
	s := b.pool.Text(v)
	if utf8.ValidString(s) {
		return s
	}
	b.stacks.badUTF8[v] = true
	return strings.ToValidUTF8(s, "\uFFFD")
}

// stack turns a list of frames into a StackID. list is the stack so far.
func (t *stackTable) stack(list value.Value, items []value.Value) value.Value {
	t.scratch = t.scratch[:0]
	if kind, id := asObject(list); kind == objStack {
		t.scratch = append(t.scratch, t.stacks.Frames(StackID(id))...)
	}
	for _, v := range items {
		_, id := asObject(v)
		t.scratch = append(t.scratch, FrameID(id))
	}
	if len(t.scratch) > maxStackDepth {
		t.scratch = t.scratch[:maxStackDepth]
		t.tooDeep++
	}
	return object(objStack, int(t.intern(t.scratch)))
}

// intern returns the id of a stack with these frames.
func (t *stackTable) intern(frames []FrameID) StackID {
	if len(frames) == 0 {
		return 0
	}
	h := uint64(len(frames))
	for _, f := range frames {
		h = (h ^ uint64(f)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	first := t.newest[h]
	for id := first; id != 0; id = t.sameAs[id] {
		if slices.Equal(t.stacks.Frames(id), frames) {
			return id
		}
	}
	id := t.stacks.Add(frames)
	t.sameAs = append(t.sameAs, first)
	t.newest[h] = id
	return id
}

// lines keeps a list of strings.
func (t *stackTable) lines(list value.Value, items []value.Value) value.Value {
	all := items
	if kind, id := asObject(list); kind == objLines {
		all = append(slices.Clone(t.texts[id]), items...)
	}
	all = all[:min(len(all), maxStackDepth)]
	key := make([]byte, 0, 4*len(all))
	for _, v := range all {
		p := v.Payload()
		key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	id, ok := t.textOf[string(key)]
	if !ok {
		id = len(t.texts)
		t.texts = append(t.texts, slices.Clone(all))
		t.textOf[string(key)] = id
	}
	return object(objLines, id)
}

// stackOf returns the stack that a frames key holds.
func (b *builder) stackOf(v value.Value) StackID {
	switch kind, id := asObject(v); {
	case kind == objStack:
		return StackID(id)
	case kind == objLines:
		return b.forwardStack(v)
	case v == value.None || v == value.Nothing || v == b.tree.empty():
		return 0
	}
	b.stacks.notFrame++
	return 0
}

// forwardStack makes a stack of forward_frames: lines of a Python traceback, the
// outermost call first.
func (b *builder) forwardStack(v value.Value) StackID {
	kind, id := asObject(v)
	if kind != objLines {
		return 0
	}
	t := &b.stacks
	if s, ok := t.ofText[id]; ok {
		return s
	}
	t.scratch = t.scratch[:0]
	for _, entry := range slices.Backward(t.texts[id]) {
		name, file, line := parseTraceback(b.clean(entry))
		if name == "" {
			continue
		}
		key := frameKey{name: b.pool.String([]byte(name)), filename: b.pool.String([]byte(file)), line: line}
		t.scratch = append(t.scratch, t.frameID(b, key))
	}
	t.ofText[id] = t.intern(t.scratch)
	return t.ofText[id]
}

// parseTraceback takes `File "a.py", line 7, in f` and the line of source after it
// apart. Text of another form becomes the name of a frame without a place.
func parseTraceback(entry string) (name, file string, line int) {
	text := strings.TrimSpace(entry)
	rest, ok := strings.CutPrefix(text, `File "`)
	if !ok {
		name, _, _ = strings.Cut(text, "\n")
		return name, "", 0
	}
	file, rest, _ = strings.Cut(rest, `", line `)
	number, rest, _ := strings.Cut(rest, ", in ")
	line, _ = strconv.Atoi(strings.TrimSpace(number))
	name, _, _ = strings.Cut(rest, "\n")
	return strings.TrimSpace(name), file, max(0, line)
}

// join returns the stack of inner followed by outer: the C++ frames that torch 2.0
// kept apart come first, as in later versions.
func (t *stackTable) join(inner, outer StackID) StackID {
	if inner == 0 || outer == 0 {
		return inner + outer
	}
	key := [2]StackID{inner, outer}
	if id, ok := t.joined[key]; ok {
		return id
	}
	t.scratch = append(append(t.scratch[:0], t.stacks.Frames(inner)...), t.stacks.Frames(outer)...)
	id := t.intern(t.scratch[:min(len(t.scratch), maxStackDepth)])
	t.joined[key] = id
	return id
}

// site collects what tells where an event, a block or a segment came from.
type site struct{ frames, forward, cpp value.Value }

// stackAt picks the best stack of a site.
func (b *builder) stackAt(s *site) StackID {
	if kind, id := asObject(s.frames); kind == objStack && s.cpp == value.Nothing {
		return StackID(id)
	}
	id := b.stackOf(s.frames)
	if s.cpp != value.Nothing {
		id = b.stacks.join(b.stackOf(s.cpp), id)
	}
	if id == 0 && s.forward != value.Nothing {
		return b.forwardStack(s.forward)
	}
	return id
}
