package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkExceptionFrame looks at handlers of out-of-memory errors that try again while the
// exception, and so all tensors of the failed call, is alive; and at such that keep it.
func checkExceptionFrame(p *pass) {
	var judged tally
	for n := range p.Tree.Root().Descendants() {
		if !n.Is("except_clause") || !p.catchesOOM(n) || judged.over() {
			continue
		}
		handler := newHandler(p, n)
		found := handler.retries()
		found = handler.keeps() || found
		if !found {
			handler.cleans()
		}
	}
}

// handler is an except clause for an out-of-memory error.
type handler struct {
	p      *pass
	clause syntax.Node
	try    syntax.Node // the body of the try statement
	body   syntax.Node
	name   *pyscope.Place // of the exception; nil where it has none
}

func newHandler(p *pass, clause syntax.Node) handler {
	h := handler{p: p, clause: clause, try: clause.Parent().Field("body")}
	for c := range clause.Children() {
		if c.Is("block") {
			h.body = c
		}
	}
	if value := clause.Field("value"); value.Is("as_pattern") {
		h.name = p.Place(value.Field("alias").Child(0))
	}
	return h
}

// catchesOOM reports whether a handler is for out of memory: by the exception's class, or because
// it looks for it in the message.
func (p *pass) catchesOOM(clause syntax.Node) bool {
	kinds := clause.Field("value").Text()
	if strings.Contains(kinds, "OutOfMemory") {
		return true
	}
	if !strings.Contains(kinds, "RuntimeError") && !strings.Contains(kinds, "Exception") {
		return false
	}
	return saysOOM.MatchString(clause.Text())
}

// saysOOM matches what names the error in a handler for others too: "oom" as a word of its own or of a
// name (is_oom, OOMError), not that of "room" and "zoom".
var saysOOM = regexp.MustCompile(`(?i:out[ _]of[ _]memory)|OutOfMemory|(?:^|[^a-zA-Z])oom(?:$|[^a-z])|OOM|Oom`)

// retries reports calls in the handler of what the try statement called.
func (h handler) retries() bool {
	around := h.p.Function(h.clause)
	if h.onTheCPU() {
		return false
	}
	for _, c := range h.p.Calls {
		if !c.Node.In(h.body) || h.p.Function(c.Node) != around {
			continue
		}
		failed, ok := h.tried(c)
		if !ok && !(around != nil && around.Name != "" && (c.Target == around || c.Method == around.Name && c.Object.Text() == "self")) {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/exception-frame", Severity: rules.Warning, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s runs inside the except block, where the exception still holds every tensor of the call that failed", short(c.Callee)),
			Remedy:  "only note in the except block that it failed, and try again after the block has been left",
		}
		if failed.Ok() {
			m.Related = append(m.Related, related(failed, "the call that failed"))
		}
		h.p.report(c.Node, m)
		return true
	}
	return false
}

// tried returns the call in the try statement that a call of the handler does again.
func (h handler) tried(c *pyscope.Call) (syntax.Node, bool) {
	if c.Name != "" && !strings.HasPrefix(c.Name, ".") || quiet[lastName(c.Callee)] || tidies.MatchString(lastName(c.Callee)) {
		return syntax.Node{}, false
	}
	first := true
	for _, t := range h.p.Calls {
		if !t.Node.In(h.try) || quiet[lastName(t.Callee)] || t.Name != "" && !strings.HasPrefix(t.Name, ".") {
			continue
		}
		if t.Callee.Text() == c.Callee.Text() && (first || runsModel.MatchString(lastName(t.Callee))) {
			return t.Node, true
		}
		first = false
	}
	return h.fallback(c)
}

// fallback returns what the try statement ran on a value that another function of the module gets
// in the handler: a slower way to the same result.
func (h handler) fallback(c *pyscope.Call) (syntax.Node, bool) {
	if c.Target == nil || c.Class != nil || !strings.Contains(h.clause.Field("value").Text(), "OutOfMemory") {
		return syntax.Node{}, false
	}
	for _, t := range h.p.Calls {
		if t.Node.In(h.try) && !quiet[lastName(t.Callee)] && sameArgument(t, c) {
			return t.Node, true
		}
	}
	return syntax.Node{}, false
}

// tidies matches names of what cleans up, reports or prepares, and runs no model.
var tidies = regexp.MustCompile(`free|clear|clean|release|cache|collect|reset|log|print|save|report|notify|adjust|set_|get_|check|flush|dump`)

// sameArgument reports whether two calls are given the same name.
func sameArgument(a, b *pyscope.Call) bool {
	for _, x := range a.Args() {
		for _, y := range b.Args() {
			if x.Is("identifier", "attribute") && x.Text() == y.Text() {
				return true
			}
		}
	}
	return false
}

// runsModel matches names of what runs out of memory, where it is not the first thing tried.
var runsModel = regexp.MustCompile(`model|net$|forward|step|train|generat|decode|encode|sampl|infer|predict|^run|pipe`)

// quiet are calls that run no model, by their names.
var quiet = map[string]bool{
	"append": true, "update": true, "add": true, "info": true, "warning": true, "error": true, "debug": true, "log": true, "print": true, "write": true,
	"close": true, "get": true, "put": true, "empty_cache": true, "collect": true, "format": true, "join": true, "item": true, "zero_grad": true, "clear": true,
	"size": true, "keys": true, "items": true, "values": true, "pop": true, "start": true, "stop": true, "sleep": true, "exception": true, "barrier": true,
	"synchronize": true, "time": true, "len": true, "str": true, "memory_allocated": true, "reset": true, "extend": true, "split": true, "chunk": true,
}

// onTheCPU reports whether a retry runs on the CPU, by what the handler says: it does not
// need the memory that is held.
func (h handler) onTheCPU() bool {
	text := h.body.Text()
	return strings.Contains(text, ".cpu()") || strings.Contains(text, `"cpu"`) || strings.Contains(text, `'cpu'`)
}

// keeps reports what stores the exception where it outlives the handler.
func (h handler) keeps() bool {
	if h.name == nil {
		return false
	}
	found := false
	for _, r := range h.name.Loads() {
		if !r.Node.In(h.body) {
			continue
		}
		if at, where := h.storedAt(r.Node); at.Ok() {
			confidence := rules.Medium
			if at.Field("left").Is("identifier") { // often only to be raised after the last try
				confidence = rules.Low
			}
			h.p.report(at, rules.Mistake{
				Rule: "leak/exception-frame", Severity: rules.Warning, Confidence: confidence,
				Message: fmt.Sprintf("%s keeps the exception, and with it the frames and tensors of the call that ran out of memory", where),
				Remedy:  fmt.Sprintf("keep str(%s), or %[1]s.with_traceback(None) with its __context__ and __cause__ set to None", r.Node.Text()),
			})
			found = true
		}
	}
	return found
}

// storedAt returns what stores the exception itself: an append to a list, or an assignment.
func (h handler) storedAt(n syntax.Node) (at syntax.Node, where string) {
	parent := n.Parent()
	for parent.Is("tuple", "parenthesized_expression", "expression_list") {
		parent = parent.Parent()
	}
	if parent.Is("assignment") && n.In(parent.Field("right")) {
		return parent, short(parent.Field("left"))
	}
	if !parent.Is("argument_list") {
		return syntax.Node{}, ""
	}
	c := h.p.Call(parent.Parent())
	if c != nil && slices.Contains([]string{"append", "add", "insert", "appendleft"}, c.Method) {
		return c.Node, short(c.Object)
	}
	return syntax.Node{}, ""
}

// cleans reports emptying the cache in the handler, which cannot free what the exception holds.
func (h handler) cleans() {
	for _, c := range h.p.Calls {
		if c.Node.In(h.body) && (c.Method == "empty_cache" || c.Name == "gc.collect") {
			h.p.report(c.Node, rules.Mistake{
				Rule: "leak/exception-frame", Severity: rules.Info, Confidence: rules.Medium,
				Message: fmt.Sprintf("%s runs inside the except block, where the tensors of the failed call are still alive", short(c.Callee)),
				Remedy:  "leave the except block first, then clean up",
			})
			return
		}
	}
}
