package fit

import "strings"

// call is one operator of the trace, on its way to a plan.
type call struct {
	c *compiler
	e *Event
	s *Sig
	p *plan
}

// recipe plans what an operator asks for: it takes the storages that the trace lists and
// puts the operator's own requests between them. What it leaves is taken after it.
type recipe func(c *call)

// recipes are found by the operator's name without namespace and overload.
var recipes = map[string]recipe{}

func init() {
	for _, group := range []map[string]recipe{blasRecipes, reduceRecipes, convRecipes, attentionRecipes, sortRecipes, temporaryRecipes, recurrentRecipes, normRecipes} {
		for name, r := range group {
			recipes[name] = r
		}
	}
}

// baseName returns the name of an operator without namespace and overload:
// "aten.sum.dim_IntList" is "sum".
func baseName(op string) string {
	if _, rest, ok := strings.Cut(op, "."); ok {
		op = rest
	}
	op, _, _ = strings.Cut(op, ".")
	return op
}

// tensor returns the argument of a name, nil where it is no tensor.
func (s *Sig) tensor(name string) *Tensor {
	i, ok := s.Args[name].(float64)
	if !ok || i < 0 || int(i) >= len(s.In) {
		return nil
	}
	return &s.In[int(i)]
}

// first returns the argument of the first name that is a tensor, or else the first input.
func (s *Sig) first(names ...string) *Tensor {
	for _, n := range names {
		if t := s.tensor(n); t != nil {
			return t
		}
	}
	if len(s.In) > 0 {
		return &s.In[0]
	}
	return nil
}

// ints returns a list of numbers, or one number as a list.
func (s *Sig) ints(name string) []int64 {
	switch v := s.Args[name].(type) {
	case float64:
		return []int64{int64(v)}
	case []any:
		var out []int64
		for _, x := range v {
			f, _ := x.(float64)
			out = append(out, int64(f))
		}
		return out
	}
	return nil
}

// flags returns a list of booleans.
func (s *Sig) flags(name string) []bool {
	list, _ := s.Args[name].([]any)
	var out []bool
	for _, x := range list {
		b, _ := x.(bool)
		out = append(out, b)
	}
	return out
}

func (s *Sig) flag(name string) bool { b, _ := s.Args[name].(bool); return b }

func (s *Sig) number(name string, otherwise float64) float64 {
	if f, ok := s.Args[name].(float64); ok {
		return f
	}
	return otherwise
}

// out returns the i-th result, nil where there is none.
func (s *Sig) out(i int) *Tensor {
	if i < len(s.Out) {
		return &s.Out[i]
	}
	return nil
}

// flagAt reads a list of booleans; true beyond its end.
func flagAt(list []bool, i int) bool { return i >= len(list) || list[i] }
