package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// What an expression's value may be: several of these at once, where branches and loops join.
type What uint8

// Kinds of value.
const (
	Plain     What = 1 << iota // a number, a text, None, a NumPy array: nothing of autograd
	Tensor                     // a tensor without a graph: data, detached, of integers
	Graph                      // a tensor that carries the graph it came from, or something that holds such
	NetModule                  // a torch.nn.Module: what a call of it returns carries a graph
	Object                     // an object of another class
	Unknown
)

// Value is what is known of an expression's value.
type Value struct {
	May  What
	Sure bool        // of Graph: backward() is called on it, or its origin is certain; not by a name's sound alone
	Type string      // qualified name of the class, where the value comes from a call of one
	Why  string      // of Graph: "line 12: the result of model(x)"
	Node syntax.Node // of Graph: where it comes from
}

// Has reports whether the value may be one of these.
func (v Value) Has(w What) bool { return v.May&w != 0 }

// Only reports whether the value is nothing but these.
func (v Value) Only(w What) bool { return v.May != 0 && v.May&^w == 0 }

// Value tells what an expression's value may be where it stands.
func (m *Module) Value(n syntax.Node) Value {
	if c := m.Call(stripped(n)); c != nil && c.Name != "" {
		return Value{May: Unknown, Type: c.Name}
	}
	return Value{May: Unknown}
}

// Type returns the qualified name of the class whose call an expression's value comes from, as
// "torch.nn.CrossEntropyLoss"; empty where that is not known.
func (m *Module) Type(n syntax.Node) string { return m.Value(n).Type }
