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

// checkpoints matches names of what holds weights; dataFiles of what is mostly saved from the CPU.
var (
	checkpoints = regexp.MustCompile(`(?i)(ckpt|checkpoint|snapshot|weight|state_?dict|\bstate|pretrain|resume|model)`)
	dataFiles   = regexp.MustCompile(`(?i)(data|index|indices|cache|rng|token|sampler|args|config|embed|feature|label|metric|vocab|sched|scaler)`)
	// options matches what programs keep their options in, which says nothing of a file: args.resume.
	options = regexp.MustCompile(`\b(args|config)\.`)
	// rankFiles matches files of which each rank has its own, saved from its own GPU.
	rankFiles = regexp.MustCompile(`(?i)rank|process_index|shard`)
)

// checkLoad finds torch.load in distributed code that puts tensors back where they were saved:
// on GPU 0, in all ranks.
func checkLoad(p *pass) {
	setup, ok := p.setsUpRanks()
	if !ok {
		p.checkPreparedLoad()
		return
	}
	for _, c := range p.loads() {
		if p.mapLocation(c).given || p.byOneRank(c.Node) || rankFiles.MatchString(p.spelledOut(c.Arg(0, "f"), 0)) {
			continue
		}
		sure := rules.Medium
		if !p.loadsWeights(c) {
			sure = rules.Low
		}
		m := rules.Mistake{
			Rule: "dist/load-on-gpu0", Severity: rules.Warning, Confidence: sure,
			Message:  fmt.Sprintf("every rank loads %s onto the GPU it was saved from, which is GPU 0 as a rule", short(c.Arg(0, "f"))),
			Evidence: []string{"torch.load without map_location puts tensors back on the device that the file names"},
			Remedy:   `pass map_location="cpu" and let load_state_dict copy to the rank's own GPU`,
		}
		m.Related = []rules.Related{related(setup.Node, "the processes are made to work together here")}
		m.Fix = p.loadOnCPU(c)
		p.report(c.Node, m)
	}
}

// setsUpRanks returns the call by which the source is the program of several processes with GPUs: of
// torch.distributed, of DeepSpeed, or of a trainer that is told to start them.
func (p *pass) setsUpRanks() (*pyscope.Call, bool) {
	if s := p.spread(); s.distributed() {
		return slices.Concat(s.inits, s.wraps)[0], true
	}
	if calls := p.calls("deepspeed.init_distributed", "deepspeed.initialize"); len(calls) > 0 {
		return calls[0], true
	}
	for _, c := range p.calls(trainers...) {
		if p.startsRanks(c) {
			return c, true
		}
	}
	return nil, false
}

// trainers start a process for each GPU, where they are told of several.
var trainers = []string{
	"lightning.Fabric", "lightning.fabric.Fabric", "lightning_fabric.Fabric",
	"lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer",
}

// severalProcesses matches the strategies of Lightning with a process for each GPU.
var severalProcesses = regexp.MustCompile(`(?i)^(ddp|fsdp|deepspeed)`)

// startsRanks reports whether a trainer is told of a strategy with several processes, or of several GPUs.
func (p *pass) startsRanks(c *pyscope.Call) bool {
	if on, ok := literal(p.followed(c.Keyword("accelerator"))); ok && on != "gpu" && on != "cuda" && on != "auto" {
		return false
	}
	devices, counted := p.Int(c.Keyword("devices"))
	if !counted {
		devices, counted = p.Int(c.Keyword("gpus"))
	}
	if counted && devices == 1 {
		return false
	}
	strategy, named := literal(p.followed(c.Keyword("strategy")))
	if named && severalProcesses.MatchString(strategy) || strings.HasSuffix(p.Type(c.Keyword("strategy")), "Strategy") {
		return true
	}
	return counted && devices > 1 && (!named || strategy == "auto")
}

// checkPreparedLoad is for programs that accelerate spreads over processes or not, as it is told when they
// are started: where it does, their loads are those of ranks.
func (p *pass) checkPreparedLoad() {
	accelerators := p.calls("accelerate.Accelerator")
	if len(accelerators) == 0 {
		return
	}
	for _, c := range p.loads() {
		if p.mapLocation(c).given || p.byOneRank(c.Node) || !p.loadsWeights(c) || rankFiles.MatchString(p.spelledOut(c.Arg(0, "f"), 0)) {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "dist/load-on-gpu0", Severity: rules.Warning, Confidence: rules.Low,
			Message:  fmt.Sprintf("where accelerate starts several processes, each loads %s onto the GPU it was saved from, which is GPU 0 as a rule", short(c.Arg(0, "f"))),
			Evidence: []string{"torch.load without map_location puts tensors back on the device that the file names"},
			Related:  []rules.Related{related(accelerators[0].Node, "the processes are made to work together here")},
			Remedy:   `pass map_location="cpu", or keep the state with accelerator.save_state and load_state`,
		})
	}
}

// loadOnCPU is the repair of a load whose value goes nowhere but into load_state_dict, which copies
// to where the parameters are.
func (p *pass) loadOnCPU(c *pyscope.Call) *rules.Fix {
	args := c.Node.Field("arguments")
	into := p.Call(c.Node.Parent().Parent())
	if c.Keyword("map_location").Ok() || into == nil || into.Method != "load_state_dict" || into.Arg(0, "state_dict") != c.Node || len(c.Args()) != 1 {
		return nil
	}
	var last syntax.Node
	for a := range args.Children() {
		last = a
	}
	return &rules.Fix{
		What:  "load to the CPU",
		Edits: []rules.Edit{{Start: last.End(), End: last.End(), Text: `, map_location="cpu"`}},
	}
}

// loads returns the calls of torch.load.
func (p *pass) loads() []*pyscope.Call { return p.calls("torch.load", "torch.serialization.load") }

// location is where torch.load is told to put tensors.
type location struct {
	given bool // it is told something, or may be
	device
}

// mapLocation returns where a call of torch.load puts tensors.
func (p *pass) mapLocation(c *pyscope.Call) location {
	arg := c.Arg(1, "map_location")
	switch {
	case c.Open():
		return location{given: true}
	case !arg.Ok() || arg.Is("none"):
		return location{}
	}
	if d, ok := p.mapped(arg); ok {
		return location{true, d}
	}
	return location{true, p.device(arg)}
}

// mapped returns where a map_location that is no device puts what was saved on a GPU: a dict of devices, or a
// function of a storage and its place.
func (p *pass) mapped(arg syntax.Node) (device, bool) {
	arg = p.followed(arg)
	switch arg.Kind() {
	case "dictionary":
		var to device
		for pair := range arg.Children() {
			if d := p.device(pair.Field("value")); d.kind == deviceCUDA {
				to = d
			}
		}
		return to, true
	case "lambda":
		if c := p.Call(arg.Field("body")); c != nil {
			return p.callDevice(c), true
		}
		return device{kind: deviceOther, sure: true}, true // the storage as it was read: on the CPU
	}
	return device{}, false
}

// loadsWeights reports whether what is loaded goes into a model or an optimizer, as far as its
// use or the names around it tell.
func (p *pass) loadsWeights(c *pyscope.Call) bool {
	for a := range c.Node.Ancestors() {
		if k := p.Call(a); k != nil && k.Method == "load_state_dict" {
			return !dataFiles.MatchString(k.Object.Text())
		}
		if a.Is("expression_statement", "return_statement") {
			break
		}
	}
	kept, name := c.Node, options.ReplaceAllString(c.Arg(0, "f").Text(), "")
	if kept.Parent().Is("subscript") { // torch.load(path)["state_dict"]
		kept = kept.Parent()
		name += " " + kept.Field("subscript").Text()
	}
	place := p.storedIn(kept)
	if place != nil && p.loadsState(place) {
		return true
	}
	if dataFiles.MatchString(name) {
		return false
	}
	return checkpoints.MatchString(name) || place != nil && checkpoints.MatchString(place.Name)
}

// loadsState reports whether a place, or an item of it, is given to load_state_dict.
func (p *pass) loadsState(place *pyscope.Place) bool {
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool {
		return c.Method == "load_state_dict" && !dataFiles.MatchString(c.Object.Text()) && p.mentions(c.Node.Field("arguments"), place)
	})
}

// spelledOut returns an expression with what its names are assigned, for a look at the words in it.
func (p *pass) spelledOut(n syntax.Node, depth int) string {
	text := n.Text()
	if depth > 2 {
		return text
	}
	for d := range n.Descendants() {
		place := p.Place(d)
		if place == nil || !d.Is("identifier") {
			continue
		}
		for _, r := range place.Stores() {
			if r.How == pyscope.ByAssign && r.Value.Ok() && !n.In(r.Value) {
				text += " " + p.spelledOut(r.Value, depth+1)
			}
		}
	}
	return text
}
