package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkWorkerContext finds code of DataLoader workers that uses a GPU: each worker then has a
// context of its own.
func checkWorkerContext(p *pass) {
	loaders := p.dataLoaders()
	workers, known := p.mostWorkers(loaders)
	if known && workers == 0 {
		return // all of it runs in the main process
	}
	sure := rules.Medium
	if known {
		sure = rules.High
	}
	seen := map[int]bool{}
	for _, w := range p.workerCode(loaders) {
		n, ok := p.contextIn(w.function)
		if !ok || seen[n.Index()] {
			continue
		}
		seen[n.Index()] = true
		p.report(n, rules.Mistake{
			Rule: "dist/worker-context", Severity: rules.Warning, Confidence: sure,
			Message:  fmt.Sprintf("%s runs in DataLoader workers, each of which then holds a CUDA context of hundreds of MiB", short(n)),
			Evidence: []string{w.why},
			Remedy:   "return CPU tensors here and move the batch in the training loop, with pin_memory=True and non_blocking=True",
		})
	}
}

// contextIn returns the first call in a function, and in those of the module that it calls, that makes a
// CUDA context. To choose a device makes one.
func (p *pass) contextIn(f *pyscope.Function) (syntax.Node, bool) {
	if uses := p.usesIn(f); len(uses) > 0 {
		return uses[0].Node, true
	}
	inside := p.reach(f)
	for _, c := range p.calls("torch.cuda.set_device") {
		if slices.Contains(inside, p.Function(c.Node)) {
			return c.Node, true
		}
	}
	return syntax.Node{}, false
}

// dataLoaders returns the calls that make a DataLoader.
func (p *pass) dataLoaders() []*pyscope.Call {
	return p.calls("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torch_geometric.loader.DataLoader")
}

// workersPosition is that of num_workers among DataLoader's arguments.
const workersPosition = 5

// mostWorkers returns the largest number of workers of the loaders; not known where one is not
// written out, or where there is no loader.
func (p *pass) mostWorkers(loaders []*pyscope.Call) (workers int, known bool) {
	for _, c := range loaders {
		arg := c.Arg(workersPosition, "num_workers")
		n, ok := p.Int(arg)
		if arg.Ok() && !ok || c.Open() {
			return 0, false
		}
		workers = max(workers, n)
	}
	return workers, len(loaders) > 0
}

// workerFunction is a function that workers run.
type workerFunction struct {
	function *pyscope.Function
	why      string
}

// workerCode returns what workers run: the methods of data sets that yield samples, and the functions
// that a DataLoader is given for them.
func (p *pass) workerCode(loaders []*pyscope.Call) []workerFunction {
	var found []workerFunction
	for _, class := range p.Classes {
		if !class.IsDataset() {
			continue
		}
		for _, name := range []string{"__getitem__", "__getitems__", "__iter__", "__next__"} {
			if f := class.Method(name); f != nil && !slices.ContainsFunc(found, func(w workerFunction) bool { return w.function == f }) {
				found = append(found, workerFunction{f, fmt.Sprintf("%s is a data set, and its %s runs in the workers", class.Name, name)})
			}
		}
	}
	for _, c := range loaders {
		for _, name := range []string{"collate_fn", "worker_init_fn"} {
			for _, f := range p.functionsIn(c.Keyword(name)) {
				found = append(found, workerFunction{f, fmt.Sprintf("line %d: it is the %s of a DataLoader", p.Line(c.Node), name)})
			}
		}
	}
	return found
}
