package code

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCheckpointLoad finds checkpoints that are loaded onto the GPU and stay there beside the model
// while it trains.
func checkCheckpointLoad(p *pass) {
	for _, c := range p.loads() {
		place := p.storedIn(c.Node)
		if place == nil || !p.loadsState(place) {
			continue
		}
		to := p.mapLocation(c)
		if to.given && to.kind != deviceCUDA || !to.given && len(p.gpuUses()) == 0 {
			continue
		}
		kept, ok := p.staysLoaded(place, c)
		if !ok {
			continue
		}
		where := "the GPU"
		if !to.given {
			where = "the device it was saved from"
		}
		p.report(c.Node, rules.Mistake{
			Rule: "peak/checkpoint-load", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s is loaded to %s and stays there beside the model", place, where),
			Evidence: []string{kept},
			Remedy:   fmt.Sprintf(`pass map_location="cpu", and del %s after load_state_dict`, place),
		})
	}
}

// staysLoaded tells why what a place holds is still there while the model trains.
func (p *pass) staysLoaded(place *pyscope.Place, load *pyscope.Call) (why string, ok bool) {
	var until syntax.Node
	if place.Class == nil {
		if until, ok = p.trainsLater(load.Node); !ok {
			return "", false
		}
	}
	for _, r := range place.Refs {
		gone := r.Kind == pyscope.Delete || r.Kind == pyscope.Shrink || r.Kind == pyscope.Store && !load.Node.In(r.Value)
		if gone && r.Node.Start() > load.Node.Start() && (place.Class != nil || r.Node.Start() < until.Start()) {
			return "", false
		}
	}
	if place.Class != nil {
		return fmt.Sprintf("%s is never deleted nor assigned again", place), true
	}
	return fmt.Sprintf("line %d: training begins, and %s still refers to the tensors", p.Line(until), place), true
}
