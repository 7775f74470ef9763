package pyscope

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// What an expression's value may be: several of these at once, where branches and loops join.
type What uint8

// Kinds of value. A container is what it holds.
const (
	Plain     What = 1 << iota // a number, a text, None, a NumPy array: nothing of autograd
	Tensor                     // a tensor without a graph: data, detached, of integers
	Leaf                       // a tensor that requires gradients and has no graph itself: a parameter
	Graph                      // a tensor that carries the graph it came from
	NetModule                  // a torch.nn.Module: what a call of it returns carries a graph
	Object                     // an object of another class, a function
	Unknown
)

// Value is what is known of an expression's value.
type Value struct {
	May  What
	Sure bool        // of Graph: backward() is called on it, or a module made it; not by a name's sound alone
	Type string      // qualified name of the class, where the value comes from a call of one
	Why  string      // of Graph: "the result of model(x) in line 12"
	Node syntax.Node // of Graph: where it comes from
}

// Has reports whether the value may be one of these.
func (v Value) Has(w What) bool { return v.May&w != 0 }

// Only reports whether the value is nothing but these.
func (v Value) Only(w What) bool { return v.May != 0 && v.May&^w == 0 }

// and is a value that may be either.
func (v Value) and(w Value) Value {
	if v.May == 0 {
		return w
	}
	if w.May == 0 {
		return v
	}
	if v.Type != w.Type && w.May != Plain {
		if v.May == Plain {
			v.Type = w.Type
		} else {
			v.Type = ""
		}
	}
	if w.Has(Graph) && (!v.Has(Graph) || w.Sure && !v.Sure) {
		v.Sure, v.Why, v.Node = w.Sure, w.Why, w.Node
	}
	v.May |= w.May
	return v
}

// without takes the graph from a value, as detach does.
func (v Value) without() Value {
	if v.Has(Graph | Leaf) {
		v.May = v.May&^(Graph|Leaf) | Tensor
	}
	return Value{May: v.May, Type: v.Type}
}

// Value tells what an expression's value may be where it stands.
func (m *Module) Value(n syntax.Node) Value {
	e := evaluator{m: m, budget: maxBudget, lowest: maxDepth}
	return e.value(n)
}

// Type returns the qualified name of the class whose call an expression's value comes from, as
// "torch.nn.CrossEntropyLoss"; empty where that is not known.
func (m *Module) Type(n syntax.Node) string { return m.Value(n).Type }

// evaluator answers one question about a value. Values depend on each other in circles, as
// in total = total + loss: a question that is met again while it is open adds nothing. What
// rests on that holds only until the open question is answered, and is found anew later.
type evaluator struct {
	m       *Module
	budget  int // questions that may still be asked
	depth   int
	lowest  int        // depth of the outermost open question that the answer rests on
	resting []question // answers that rest on an open question
}

const (
	// maxDepth bounds how far a value is followed through names and calls.
	maxDepth = 120
	// maxBudget bounds the work on one question. The hardest of the standard library takes 3,000.
	maxBudget = 4000
	// maxResting is how many answers are found anew after a circle; those of a larger one are
	// kept as they are, since finding them again and again would take too long.
	maxResting = 200
)

// question is one about a node's value: the whole, a part of several that are unpacked, or
// what is under a key.
type question struct {
	node int
	part int    // -1 for the whole
	key  string // a text in quotes; empty for none
}

func (e *evaluator) value(n syntax.Node) Value {
	return e.ask(n, question{n.Index(), -1, ""}, e.expression)
}

// ask finds what is asked about a node, unless it is known, or being found.
func (e *evaluator) ask(n syntax.Node, q question, find func(syntax.Node) Value) Value {
	if !n.Ok() {
		return Value{May: Unknown}
	}
	known := &e.m.values
	if a, ok := known.done[q]; ok {
		e.lowest = min(e.lowest, a.lowest)
		return a.Value
	}
	if at, ok := known.open[q]; ok {
		e.lowest = min(e.lowest, at)
		return Value{}
	}
	if e.budget--; e.budget < 0 || e.depth >= maxDepth {
		e.lowest = 0
		return Value{May: Unknown}
	}
	before, resting := e.lowest, len(e.resting)
	e.depth++
	e.lowest = e.depth
	known.open[q] = e.depth
	v := find(n)
	delete(known.open, q)
	e.keep(q, v, resting)
	e.depth--
	e.lowest = min(before, e.lowest)
	return v
}

// keep stores an answer: for good where it rests on no question that is still open.
func (e *evaluator) keep(q question, v Value, resting int) {
	known := &e.m.values
	if e.lowest < e.depth && e.depth > 1 {
		known.done[q] = answer{v, e.lowest}
		e.resting = append(e.resting, q)
		return
	}
	known.done[q] = answer{v, maxDepth}
	below := e.resting[resting:]
	for _, r := range below {
		if len(below) > maxResting {
			known.done[r] = answer{known.done[r].Value, maxDepth}
		} else {
			delete(known.done, r)
		}
	}
	e.resting = e.resting[:resting]
}

// values are the answers so far, and the depth of the questions that are open.
type values struct {
	done map[question]answer
	open map[question]int
}

// answer is a value, and the depth of the outermost open question that it rests on.
type answer struct {
	Value
	lowest int
}

// graph is a value that carries a graph because of a node.
func (e *evaluator) graph(n syntax.Node, sure bool, what string) Value {
	return Value{May: Graph, Sure: sure, Node: n, Why: fmt.Sprintf("%s in line %d", what, e.m.Line(n))}
}
