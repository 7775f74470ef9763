package fit

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// DifferenceError tells where two traces of one program part: what one knows of them does
// not tell what lies between.
type DifferenceError struct {
	Line int32 // of the first trace; 0 where the whole differs
	What string
}

func (e *DifferenceError) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

// Between returns the trace that a program would leave with a number, such as the batch
// size, at value, from those that it left with the number at lower and at upper. They must
// be alike, event by event: then each allocation, each dimension and each argument is taken
// to lie on a straight line, which holds for whatever has the number as a factor once.
// Otherwise the error is a *DifferenceError. value may lie outside of the two.
func Between(a, b *Trace, lower, upper, value int) (*Trace, error) {
	if lower == upper {
		return nil, &DifferenceError{What: "both traces are of one value"}
	}
	m := &mixer{a: a, b: b, part: float64(value-lower) / float64(upper-lower), sigs: map[[2]int32]int32{}}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.out = &Trace{
		Name: a.Name, Meta: a.Meta, Frames: a.Frames, Stacks: a.Stacks, Modules: a.Modules, Texts: a.Texts, Ranks: a.Ranks, Remedies: a.Remedies,
		Storage: a.Storage, End: a.End, Cut: a.Cut, Events: slices.Clone(a.Events), News: slices.Clone(a.News),
	}
	m.out.Ranks.HeldBytes = m.bytes(a.Ranks.HeldBytes, b.Ranks.HeldBytes)
	for i := range m.out.Events {
		if err := m.event(i); err != nil {
			return nil, err
		}
	}
	return m.out, nil
}

// mixer makes one trace of two.
type mixer struct {
	a, b, out *Trace
	part      float64            // how far from a to b
	sigs      map[[2]int32]int32 // those of out, by those of a and b
}

// check compares what stands for the whole.
func (m *mixer) check() error {
	a, b := m.a, m.b
	switch {
	case len(a.Events) != len(b.Events):
		return &DifferenceError{What: fmt.Sprintf("one has %d events, the other %d", len(a.Events), len(b.Events))}
	case len(a.News) != len(b.News):
		return &DifferenceError{What: fmt.Sprintf("one makes %d storages, the other %d", len(a.News), len(b.News))}
	case len(a.Stacks) != len(b.Stacks):
		return &DifferenceError{What: "they take different ways through the program"}
	case !reflect.DeepEqual(a.Ranks.Comms, b.Ranks.Comms):
		return &DifferenceError{What: "their ranks talk in different groups"}
	}
	return nil
}

// event mixes one event, which must be the same in both but for sizes.
func (m *mixer) event(i int) error {
	x, y := &m.a.Events[i], &m.b.Events[i]
	plain := *y
	plain.Sig, plain.Line, plain.Text, plain.Value = x.Sig, x.Line, x.Text, x.Value
	if plain != *x {
		return &DifferenceError{x.Line, "another event stands here in the other trace"}
	}
	if x.Kind == Set || x.Kind == Fraction || x.Kind == Step {
		if x.Value != y.Value || x.Text >= 0 && m.a.Texts[x.Text] != m.b.Texts[y.Text] {
			return &DifferenceError{x.Line, "another value is set in the other trace"}
		}
	}
	for k := x.First; k < x.First+x.Count; k++ {
		s, other := m.a.News[k], m.b.News[k]
		if s.ID != other.ID || s.Device != other.Device {
			return &DifferenceError{x.Line, "another storage is made in the other trace"}
		}
		m.out.News[k].Bytes = max(1, m.bytes(s.Bytes, other.Bytes))
	}
	if x.Kind != Op {
		return nil
	}
	sig, err := m.sig(x.Sig, y.Sig)
	if err != nil {
		return &DifferenceError{x.Line, err.Error()}
	}
	m.out.Events[i].Sig = sig
	return nil
}

// bytes mixes two sizes, rounded up.
func (m *mixer) bytes(a, b int64) int64 {
	if a == b {
		return a
	}
	return a + int64(math.Ceil(m.part*float64(b-a)-1e-6))
}

// dim mixes two dimensions. Both grow alike, so that rounding up suits sizes of both.
func (m *mixer) dim(a, b int64) int64 { return max(0, m.bytes(a, b)) }

// sig returns the form of a call between two.
func (m *mixer) sig(i, k int32) (int32, error) {
	key := [2]int32{i, k}
	if id, ok := m.sigs[key]; ok {
		return id, nil
	}
	x, y := &m.a.Sigs[i], &m.b.Sigs[k]
	if x.Op != y.Op || len(x.In) != len(y.In) || len(x.Out) != len(y.Out) {
		return 0, fmt.Errorf("%s here is %s in the other trace, or takes other tensors", x.Op, y.Op)
	}
	s := Sig{Op: x.Op, In: make([]Tensor, len(x.In)), Out: make([]Tensor, len(x.Out))}
	for t := range x.In {
		if err := m.tensor(&s.In[t], &x.In[t], &y.In[t]); err != nil {
			return 0, fmt.Errorf("%s: %w", x.Op, err)
		}
	}
	for t := range x.Out {
		if err := m.tensor(&s.Out[t], &x.Out[t], &y.Out[t]); err != nil {
			return 0, fmt.Errorf("%s: %w", x.Op, err)
		}
	}
	args, ok := m.value(x.Args, y.Args).(map[string]any)
	if !ok {
		return 0, fmt.Errorf("%s: other arguments in the other trace", x.Op)
	}
	s.Args = args
	id := int32(len(m.out.Sigs))
	m.out.Sigs = append(m.out.Sigs, s)
	m.sigs[key] = id
	return id, nil
}

func (m *mixer) tensor(out, a, b *Tensor) error {
	if a.DType != b.DType || a.Layout != b.Layout || a.Device != b.Device || len(a.Shape) != len(b.Shape) {
		return fmt.Errorf("a tensor of another kind in the other trace")
	}
	*out = Tensor{DType: a.DType, Layout: a.Layout, Device: a.Device, Shape: make([]int64, len(a.Shape))}
	for i := range a.Shape {
		out.Shape[i] = m.dim(a.Shape[i], b.Shape[i])
	}
	if a.Strides == nil && b.Strides == nil {
		return nil
	}
	// Strides of a dimension of size 1 are as they come: a batch of one may look contiguous.
	sa, sb := a.strided(), b.strided()
	out.Strides = make([]int64, len(sa))
	for i := range sa {
		out.Strides[i] = m.bytes(sa[i], sb[i])
	}
	return nil
}

// different is what value returns for arguments that cannot be mixed.
type different struct{}

// value mixes two arguments: numbers, lists and maps of them; all else must be equal.
func (m *mixer) value(a, b any) any {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		switch {
		case !ok:
			return different{}
		case x == y:
			return x
		case x == math.Trunc(x) && y == math.Trunc(y):
			return float64(m.bytes(int64(x), int64(y)))
		}
		return x + m.part*(y-x)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return different{}
		}
		out := make([]any, len(x))
		for i := range x {
			if out[i] = m.value(x[i], y[i]); isDifferent(out[i]) {
				return different{}
			}
		}
		return out
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return different{}
		}
		out := make(map[string]any, len(x))
		for k, v := range x {
			w, has := y[k]
			if out[k] = m.value(v, w); !has || isDifferent(out[k]) {
				return different{}
			}
		}
		return out
	}
	if a != b {
		return different{}
	}
	return a
}

func isDifferent(v any) bool { _, is := v.(different); return is }
