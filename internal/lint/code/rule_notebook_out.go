package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkNotebookOut looks for cells that end in a tensor or a model: IPython keeps it in Out, so
// that del does not free it, and running the cell again keeps one more.
func checkNotebookOut(p *pass) {
	if !p.notebook() || !strings.Contains(string(p.Tree.Source.Text), "cuda") {
		return
	}
	for _, n := range p.shown() {
		m := rules.Mistake{
			Rule: "leak/notebook-out", Severity: rules.Warning, Confidence: rules.Medium,
			Remedy: "end the line in a semicolon, or print what is to be seen of it",
		}
		switch v := p.Value(n); {
		case p.isModel(n, v):
			freed := p.freedLater(n)
			if !freed.Ok() {
				continue
			}
			m.Message = fmt.Sprintf("the cell ends in %s, a model: Out keeps it, and deleting it later frees nothing", short(n))
			m.Related = append(m.Related, related(freed, "deleted here"))
		case v.Has(pyscope.Graph) && v.Sure && p.Grad(n).Mode == pyscope.GradOn:
			m.Message = fmt.Sprintf("the cell ends in %s, a tensor with its graph: Out keeps all that its forward saved", short(n))
			if v.Node.Ok() {
				m.Related = append(m.Related, related(v.Node, "its graph comes from here"))
			}
		case v.Only(pyscope.Tensor|pyscope.Leaf) && p.cudaTensor(n, 0).Ok():
			m.Severity = rules.Info
			m.Message = fmt.Sprintf("the cell ends in %s, a tensor on the GPU: Out keeps it", short(n))
		default:
			continue
		}
		p.report(n, m)
	}
}

// shown returns the expressions that cells end in, and that are not silenced by a semicolon.
func (p *pass) shown() []syntax.Node {
	src := p.Tree.Source
	last := map[int]syntax.Node{} // by number of cell
	for s := range p.Tree.Root().Children() {
		last[src.Position(s.Start()).Cell] = s
	}
	var found []syntax.Node
	for _, cell := range src.Cells() {
		s := last[cell.Number]
		if !s.Is("expression_statement") || s.Child(0).Is("assignment", "augmented_assignment", "string", "yield") {
			continue
		}
		rest, _, _ := strings.Cut(string(src.Text[s.Child(0).End():]), "\n")
		if !strings.HasPrefix(strings.TrimSpace(rest), ";") {
			found = append(found, s.Child(0))
		}
	}
	return found
}

// isModel reports whether an expression is a model: a name of one, or one of its methods that give
// it back.
func (p *pass) isModel(n syntax.Node, v pyscope.Value) bool {
	if v.Only(pyscope.NetModule) {
		return true
	}
	c := p.Call(n)
	if c == nil || !returnsSelf[c.Method] {
		return false
	}
	made := p.callBehind(c.Object)
	return p.Value(c.Object).Only(pyscope.NetModule) || made != nil && (made.Method == "from_pretrained" || strings.HasPrefix(made.Name, "torchvision.models.") || strings.HasPrefix(made.Name, "timm.create_model"))
}

// returnsSelf are the methods of a module that give it back.
var returnsSelf = map[string]bool{"cuda": true, "to": true, "eval": true, "train": true, "half": true, "bfloat16": true, "float": true}

// freedLater returns where the notebook deletes the model that an expression is.
func (p *pass) freedLater(n syntax.Node) syntax.Node {
	if c := p.Call(n); c != nil {
		n = c.Object
	}
	place := p.Place(n)
	if place == nil {
		return syntax.Node{}
	}
	for _, r := range place.Refs {
		if r.Kind == pyscope.Delete && r.Node.Start() > n.Start() {
			return r.Node
		}
	}
	return syntax.Node{}
}
