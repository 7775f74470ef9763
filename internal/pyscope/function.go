package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Function is a def or a lambda.
type Function struct {
	Node       syntax.Node // function_definition or lambda
	Name       string      // empty for a lambda
	Class      *Class      // of a method; nil otherwise
	Outer      *Function   // around it; nil at module level and for methods of such classes
	Scope      *Scope
	Params     []Param
	Decorators []Decorator
	Returns    []syntax.Node // the values of its return statements; of a lambda its body
	Yields     []syntax.Node // the values of its yields
	Calls      []*Call       // in it, without those in functions inside it
	Callers    []*Call       // of it, as far as the module shows
	Escapes    []syntax.Node // where it is used as a value, so that others may call it
}

// Param is a parameter.
type Param struct {
	Name    string
	Node    syntax.Node // the name
	Default syntax.Node // may be none
	Type    syntax.Node // annotation; may be none
	Star    string      // "*" or "**"
	KeyOnly bool
}

// Decorator is an expression behind @.
type Decorator struct {
	Node syntax.Node // the expression
	Name string      // qualified, of what is called where it is a call; may be empty
}

// Method reports whether the function takes self: it is in a class and not static.
func (f *Function) Method() bool {
	return f.Class != nil && len(f.Params) > 0 && f.Params[0].Star == "" && !f.decorated("staticmethod")
}

// self returns the name of the parameter that stands for the object.
func (f *Function) self() string {
	if f.Method() && !f.decorated("classmethod") {
		return f.Params[0].Name
	}
	return ""
}

func (f *Function) decorated(name string) bool {
	for _, d := range f.Decorators {
		if d.Node.Text() == name {
			return true
		}
	}
	return false
}

// Param returns the parameter with a name.
func (f *Function) Param(name string) (Param, bool) {
	for _, p := range f.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// Body returns the block of a def, the expression of a lambda.
func (f *Function) Body() syntax.Node { return f.Node.Field("body") }
