package made

import "fmt"

// Sites are the places in the program that allocate or free, each with its own stack;
// those for a layer are followed by the other layers'.
const (
	siteInput = iota
	siteLoss
	siteLeak
	siteWeight
	siteScratch  = siteWeight + layers
	siteForward  = siteScratch + layers
	siteNorm     = siteForward + layers
	siteBackward = siteNorm + layers
	siteGrad     = siteBackward + layers
	siteState    = siteGrad + layers
	siteUpdate   = siteState + layers
	siteZeroGrad = siteUpdate + layers
	numSites     = siteZeroGrad + layers
)

// frame is one position in the made program.
type frame struct {
	name, file string
	line       int
}

const (
	torchDir = "/usr/lib/python3/site-packages/torch/"
	userFile = "/workspace/train.py"
)

// stacks returns the frames of every site, innermost first, and for each site their indices.
func stacks() (frames []frame, bySite [numSites][]int) {
	index := map[frame]int{}
	for site := range bySite {
		for _, f := range siteFrames(site) {
			i, ok := index[f]
			if !ok {
				i = len(frames)
				index[f] = i
				frames = append(frames, f)
			}
			bySite[site] = append(bySite[site], i)
		}
	}
	return frames, bySite
}

// siteFrames is a stack as deep as PyTorch's usually are: a module calls a module.
func siteFrames(site int) []frame {
	main := frame{"<module>", userFile, 90}
	step := frame{"train_step", userFile, 41}
	call := []frame{{"_call_impl", torchDir + "nn/modules/module.py", 1790}, {"_wrapped_call_impl", torchDir + "nn/modules/module.py", 1779}}
	layer := 0
	if site >= siteWeight {
		layer = (site - siteWeight) % layers
	}
	block := frame{"forward", fmt.Sprintf("/workspace/model/block_%d.py", layer%3), 20 + layer}
	switch {
	case site == siteInput:
		return []frame{{"to", torchDir + "_tensor.py", 12}, {"batches", userFile, 33}, main}
	case site == siteLoss:
		return []frame{{"cross_entropy", torchDir + "nn/functional.py", 3494}, step, main}
	case site == siteLeak:
		return []frame{{"log", userFile, 57}, step, main}
	case site < siteScratch:
		return []frame{{"__init__", torchDir + "nn/modules/linear.py", 109}, {"__init__", block.file, 9}, {"build", userFile, 12}, main}
	case site < siteBackward:
		op := []frame{{"relu", torchDir + "nn/functional.py", 1723}, {"linear", torchDir + "nn/functional.py", 2340}, {"layer_norm", torchDir + "nn/functional.py", 2900}}
		s := append([]frame{op[(site-siteScratch)/layers]}, block)
		for range 3 {
			s = append(s, call...)
			s = append(s, frame{"forward", torchDir + "nn/modules/container.py", 253})
		}
		return append(s, step, main)
	case site < siteState:
		return []frame{{"_engine_run_backward", torchDir + "autograd/graph.py", 865}, {"backward", torchDir + "autograd/__init__.py", 353 + site - siteBackward}, {"backward", torchDir + "_tensor.py", 625}, step, main}
	}
	return []frame{{"_multi_tensor_adam", torchDir + "optim/adam.py", 500 + site - siteState}, {"step", torchDir + "optim/adam.py", 248}, {"wrapper", torchDir + "optim/optimizer.py", 493}, step, main}
}
