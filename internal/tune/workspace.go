package tune

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// A convolution asks for a workspace, uses it and frees it, with no other request
// between. Where the request fails, PyTorch takes cuDNN's next plan, which needs less:
// the program goes on, slower. So such a request that fails in a simulation does not
// end the run. What the other plans would ask for no recording tells; they are taken
// to ask for nothing.
//
// The stack tells a convolution. In its backward pass it tells nothing where C++
// frames were not recorded, for autograd's threads have no Python frames: then a
// program that has workspaces in its forward pass is taken to have them there too.

// workspaceMarks are parts of functions' names that only a convolution's stack has.
var workspaceMarks = []string{"run_conv_plan", "raw_cudnn_convolution", "cudnn_convolution", "miopen_convolution", "_conv_forward", "conv1d", "conv2d", "conv3d", "conv_transpose"}

// markWorkspaces turns the mallocs of workspaces into opWorkspace.
func (c *compiler) markWorkspaces() {
	kinds := make(map[snapshot.StackID]bool)
	var silent []int // without a stack
	for i := 1; i < len(c.p.ops); i++ {
		malloc, free := &c.p.ops[i-1], c.p.ops[i]
		if malloc.what&^slotMask != opMalloc || free.what != opFree|malloc.what&slotMask {
			continue
		}
		stack := c.tl.Dev.Events.StackAt(int(malloc.event))
		if stack == 0 {
			silent = append(silent, i-1)
			continue
		}
		of, ok := kinds[stack]
		if !ok {
			of = c.isConvolution(stack)
			kinds[stack] = of
		}
		if of {
			c.markWorkspace(i - 1)
		}
	}
	if c.p.Notes.Workspaces > 0 {
		for _, i := range silent {
			c.markWorkspace(i)
		}
	}
}

func (c *compiler) markWorkspace(i int) {
	c.p.ops[i].what = opWorkspace | c.p.ops[i].what&slotMask
	c.p.Notes.Workspaces++
}

func (c *compiler) isConvolution(stack snapshot.StackID) bool {
	return slices.ContainsFunc(c.tl.Rec.Stacks.Frames(stack), func(k snapshot.FrameID) bool {
		name := c.tl.Rec.Frames[k].Name
		return slices.ContainsFunc(workspaceMarks, func(mark string) bool { return strings.Contains(name, mark) })
	})
}
