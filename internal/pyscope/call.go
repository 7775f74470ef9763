package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Call is a call.
type Call struct {
	Node   syntax.Node
	Callee syntax.Node
	Name   string      // qualified name of what is called; empty where it is not known
	Scope  *Scope      // in which it stands
	Method string      // of an attribute that is called: backward of loss.backward()
	Object syntax.Node // of which Method is an attribute: loss
	Target *Function   // of the module; nil where it is not known. Of a class its __init__
	Class  *Class      // of the module, which the call makes an object of
}

// Args returns the positional arguments, up to one that is unpacked with a star.
func (c *Call) Args() []syntax.Node {
	var args []syntax.Node
	list := c.Node.Field("arguments")
	if list.Is("generator_expression") {
		return []syntax.Node{list}
	}
	for a := range list.Children() {
		if a.Is("list_splat") {
			break
		}
		if !a.Is("keyword_argument", "dictionary_splat") {
			args = append(args, a)
		}
	}
	return args
}

// Arg returns the argument in a position, from 0, or under a keyword; none where there is
// neither. A negative position is none.
func (c *Call) Arg(position int, keyword string) syntax.Node {
	if args := c.Args(); position >= 0 && position < len(args) {
		return args[position]
	}
	return c.Keyword(keyword)
}

// Keyword returns the value of a keyword argument; none where it is not given.
func (c *Call) Keyword(name string) syntax.Node {
	if name == "" {
		return syntax.Node{}
	}
	for a := range c.Node.Field("arguments").Children() {
		if a.Is("keyword_argument") && a.Field("name").Text() == name {
			return a.Field("value")
		}
	}
	return syntax.Node{}
}

// Open reports whether arguments are unpacked into the call, so that any may be among them.
func (c *Call) Open() bool {
	for a := range c.Node.Field("arguments").Children() {
		if a.Is("list_splat", "dictionary_splat") {
			return true
		}
	}
	return false
}
