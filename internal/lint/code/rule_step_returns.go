package code

import (
	"fmt"
	"regexp"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// epochEnds are the hooks that Lightning before 2.0 gives what every step of the epoch returned: where a
// class has one, it keeps the results of the steps until then, and so all that they hold.
var epochEnds = map[string]string{
	"training_step": "training_epoch_end", "validation_step": "validation_epoch_end", "test_step": "test_epoch_end",
}

// inputNames matches what people call what a model is given. Labels are small beside it.
var inputNames = regexp.MustCompile(`(?i)^(batch|x|xs|inputs?|imgs?|images?|frames?|videos?|volumes?|audio|wave|waveform|pixel_values|point_?clouds?)$`)

// stepReturns reports a step that returns its inputs to the end of the epoch: by then they are the whole data.
func (p *pass) stepReturns(f *pyscope.Function) {
	end := f.Class.Method(epochEnds[f.Name])
	if end == nil {
		return
	}
	for _, r := range f.Returns {
		kept := p.inputReturned(f, r)
		if c := p.Call(r); !kept.Ok() && c != nil && c.Target != nil && c.Target.Class == f.Class {
			for _, shared := range c.Target.Returns { // return self._shared_step(batch)
				if kept = p.inputReturned(c.Target, shared); kept.Ok() {
					break
				}
			}
		}
		if !kept.Ok() {
			continue
		}
		p.report(r, rules.Mistake{
			Rule: "leak/step-outputs", Severity: rules.Warning, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s returns %s, and %s is given what all steps returned: the inputs of the whole epoch stay on the GPU", f.Name, short(kept), end.Name),
			Remedy:  "return what " + end.Name + " needs alone, and tensors of the size of a batch as x.detach().cpu()",
			Related: []rules.Related{related(end.Node.Field("name"), "Lightning keeps the results of the steps for this hook"), related(kept, "the input")},
		})
	}
}

// inputReturned returns what a returned dict or tuple has of the inputs that a step is given: batch["image"], or
// a name that the batch is unpacked to.
func (p *pass) inputReturned(f *pyscope.Function, returned syntax.Node) syntax.Node {
	if !returned.Is("dictionary", "tuple", "expression_list") {
		return syntax.Node{}
	}
	for part := range returned.Children() {
		if v := part.Field("value"); part.Is("pair") {
			part = v
		}
		if p.isInput(f, part) {
			return part
		}
	}
	return syntax.Node{}
}

// isInput reports whether an expression is an input of a step, by where it comes from and its name.
func (p *pass) isInput(f *pyscope.Function, n syntax.Node) bool {
	if n.Is("subscript") {
		key, ok := literal(n.Field("subscript"))
		return ok && inputNames.MatchString(key) && p.isInput(f, n.Field("value"))
	}
	if !n.Is("identifier") || !inputNames.MatchString(n.Text()) {
		return false
	}
	if isParam(f, n) {
		return n.Text() == "batch"
	}
	place := p.Place(n)
	if place == nil || len(place.Stores()) != 1 {
		return false
	}
	from := place.Stores()[0].Value
	return from.Is("identifier", "subscript") && from.Text() != n.Text() && (from.Text() == "batch" || p.isInput(f, from))
}
