package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkThreadWorkspaces finds threads without number that compute on a GPU: each has library handles and
// workspaces of its own.
func checkThreadWorkspaces(p *pass) {
	for _, t := range p.threads() {
		if t.call == nil || t.call.Name != "threading.Thread" {
			continue
		}
		l := p.loopStatement(t.call.Node)
		if l == nil || !l.Node.Is("while_statement") || p.joins(l) || len(p.usesIn(t.function)) == 0 {
			continue
		}
		p.reportThreads(t.call, fmt.Sprintf("line %d: a thread for each iteration, which nothing waits for", p.Line(l.Node)))
	}
	for _, c := range p.calls("http.server.ThreadingHTTPServer", "socketserver.ThreadingTCPServer", "wsgiref.simple_server.ThreadingWSGIServer") {
		if class := p.classNamed(c.Arg(1, "RequestHandlerClass")); class != nil && p.handlesOnGPU(class) {
			p.reportThreads(c, fmt.Sprintf("%s computes on the GPU, in a thread for each request", class.Name))
		}
	}
}

func (p *pass) reportThreads(c *pyscope.Call, why string) {
	p.report(c.Node, rules.Mistake{
		Rule: "third/thread-workspaces", Severity: rules.Warning, Confidence: rules.Medium,
		Message:  "threads without a limit compute on the GPU, and each that runs at once takes handles and workspaces of its own, which stay",
		Evidence: []string{why},
		Remedy:   "compute in a ThreadPoolExecutor with a few workers, or in one thread that takes requests from a queue",
	})
}

// joins reports whether a loop waits for the threads that it starts.
func (p *pass) joins(l *pyscope.Loop) bool {
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool {
		return (c.Method == "join" && len(c.Args()) == 0 || c.Method == "acquire") && l.Has(c.Node)
	})
}

// classNamed returns the class of the module that an expression names.
func (p *pass) classNamed(n syntax.Node) *pyscope.Class {
	name := p.Qualified(n)
	for _, c := range p.Classes {
		if name == "."+c.Name {
			return c
		}
	}
	return nil
}

// handlesOnGPU reports whether a class of a server's handlers computes on a GPU.
func (p *pass) handlesOnGPU(class *pyscope.Class) bool {
	return slices.ContainsFunc(class.Methods, func(f *pyscope.Function) bool {
		return (strings.HasPrefix(f.Name, "do_") || f.Name == "handle") && len(p.usesIn(f)) > 0
	})
}
