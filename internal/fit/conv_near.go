package fit

import (
	"cmp"
	"math"
	"slices"
)

// workspace is what cuDNN takes for a convolution.
type workspace struct {
	bytes int64
	low   int64 // what it may be at the least and at the most, where it was not measured
	high  int64
	exact bool // it was measured
}

// neighbours is how many measured convolutions an estimate is made of.
const neighbours = 5

// estimate returns the workspace of a convolution: as measured, or else from the measured
// ones that are nearest in form. Of those the class carries over, that is which operands
// are copied, with this convolution's own sizes, and what is left beyond, which is a
// matter of tiles and not of size. The weighted median is taken; the others bound it, and
// what a kernel takes that none of them ran: copies of all operands, and sums of tiles.
func (t *convTable) estimate(v convShape, d convDir) workspace {
	v.output()
	if l := t.byKey[v.key()]; l != nil {
		same := l.at(v.n)
		for _, c := range l.cases {
			if c.n == v.n && c.workspace[d] >= 0 && same.p == v.p && same.q == v.q {
				return workspace{c.workspace[d], c.workspace[d], c.workspace[d], true}
			}
		}
	}
	near, bound := t.nearest(&v, d), v.bound(d)
	if len(near) == 0 {
		return workspace{bytes: v.copies(), high: bound} // of a kind that was never measured: everything is copied
	}
	slices.SortFunc(near, func(a, b neighbour) int { return cmp.Compare(a.bytes, b.bytes) })
	w := workspace{low: near[0].bytes, high: max(bound, near[len(near)-1].bytes)}
	total, sum := 0.0, 0.0
	for _, n := range near {
		total += n.weight()
	}
	for _, n := range near {
		if sum += n.weight(); sum >= total/2 {
			w.bytes = n.bytes
			break
		}
	}
	return w
}

// Where a result has too few tiles for the multiprocessors, kernels split the sum behind each
// element too, and keep the parts in float32: a tile of 256 by 256 for each of 132
// multiprocessors. No part is of fewer than 32 products.
const (
	partsBytes    = 132 * 256 * 256 * 4
	partProducts  = 32
	groupedCopies = 2 // layers of several channels a group are brought into a layout of groups, and then into the kernel's
)

// bound returns the most that a computation is expected to take whatever kernel cuDNN runs for it:
// copies of all operands, and parts of sums. Of 100 convolutions drawn at random, 97 took at most
// that or what the nearest did (conv_near_test.go).
func (v *convShape) bound(d convDir) int64 {
	copies := v.copies()
	if v.grouping() == 1 {
		copies *= groupedCopies
	}
	result, products := operandOutput, v.c/v.groups*v.r*v.s
	switch d {
	case convInput:
		result, products = operandInput, v.k/v.groups*v.r*v.s
	case convWeight:
		result, products = operandWeight, v.n*v.p*v.q
	}
	sums := v.bytes(result, true) / v.element() * 4
	if 2*sums > partsBytes {
		return copies
	}
	return copies + min(partsBytes, products/partProducts*sums)
}

// neighbour is a measured convolution near to one in question.
type neighbour struct {
	distance float64
	bytes    int64 // what the one in question would take if it were of the same class
}

func (n neighbour) weight() float64 { return 1 / (0.05 + n.distance) }

// nearest returns the measured convolutions of the same kind that are nearest.
func (t *convTable) nearest(v *convShape, d convDir) []neighbour {
	near := make([]neighbour, 0, neighbours+1)
	mine := v.features()
	candidates := t.byKind[v.kind()]
	for i := range candidates {
		l := &candidates[i]
		far := mine.distance(&l.features)
		if len(near) == neighbours && far >= near[neighbours-1].distance {
			continue
		}
		c, batch := l.nearestBatch(v.n, d)
		if c == nil {
			continue
		}
		other := l.at(c.n)
		n := neighbour{distance: far + batch}
		switch {
		case other.transforms(c.workspace[d]):
			if n.bytes = v.fft(); n.bytes == 0 {
				continue
			}
		case n.distance > oddityReach && other.odd(c.workspace[d]):
			continue
		default:
			n.bytes = v.like(other, c.workspace[d])
		}
		at, _ := slices.BinarySearchFunc(near, n, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
		if near = slices.Insert(near, at, n); len(near) > neighbours {
			near = near[:neighbours]
		}
	}
	return near
}

// Some convolutions take many times what their operands do: sums for each of thousands of
// tiles. One in a hundred does, of forms that have little in common, so that it says
// nothing of any but its closest neighbours.
const (
	oddityTimes = 3
	oddityReach = 0.3 // distance
)

// odd tells whether a workspace is much larger than copies of all operands, and not because
// each image has sums of its own.
func (v *convShape) odd(workspace int64) bool {
	if workspace < oddityTimes*v.copies() || v.mode == convF32 {
		return false
	}
	class, _ := v.classify(workspace)
	return class != perImage
}

// nearestBatch returns the case of the layer whose batch is nearest, with the distance.
func (l *convLayer) nearestBatch(n int64, d convDir) (near *convCase, distance float64) {
	distance = math.Inf(1)
	for i := range l.cases {
		c := &l.cases[i]
		if c.workspace[d] < 0 {
			continue
		}
		if far := sq(weighBatch * (log2(c.n) - log2(n))); far < distance {
			near, distance = c, far
		}
	}
	return near, distance
}

// like returns what v takes if it is of the class of a measured convolution.
func (v *convShape) like(of convShape, measured int64) int64 {
	class, rest := of.classify(measured)
	if of.n == 1 && class == 0 && rest == of.weightFloats() && v.n > 1 {
		class, rest = perImage, 0
	}
	mine := v.base(v.padded(class))
	total := of.bytes(operandInput, false) + of.bytes(operandOutput, false) + of.bytes(operandWeight, false)
	if rest > total/4 && rest > 16<<20 {
		// Larger than partial sums of tiles would be: it goes with the size of the tensors.
		rest = int64(float64(rest) / float64(total) * float64(v.bytes(operandInput, false)+v.bytes(operandOutput, false)+v.bytes(operandWeight, false)))
	}
	return mine + rest
}

// padded makes a copy that was not padded, for its channels needed none, one that is.
func (v *convShape) padded(c convClass) convClass {
	if c == perImage {
		return c
	}
	for o := operandInput; o <= operandWeight; o++ {
		if c.of(o) == 1 {
			c += 1 << (2 * o)
		}
	}
	return c
}

// convKind is what convolutions have in common that run kernels of one kind: dimensions, type,
// layout, and whether each channel, or a group of them, has a filter of its own.
type convKind struct {
	volume   bool
	mode     convMode // one for both half precisions
	nhwc     bool
	grouping int
}

func (v *convShape) kind() convKind {
	k := convKind{v.isVolume(), v.mode, v.nhwc, v.grouping()}
	if k.mode == convBF16 {
		k.mode = convF16
	}
	return k
}

// grouping is 0 without groups, 2 where each channel is a group, 1 between.
func (v *convShape) grouping() int {
	switch {
	case v.groups == 1:
		return 0
	case v.groups == v.c:
		return 2
	}
	return 1
}

// features are a convolution's numbers on scales on which distances mean much the same.
type features [14]float64

// Weights of the features. The batch matters least: cuDNN's choice goes by channels,
// kernel, stride and alignment.
const weighBatch = 0.5

func (v *convShape) features() features {
	e := v.element()
	cg, kg := v.c/v.groups, v.k/v.groups
	return features{
		log2(cg), log2(kg), 0.7 * log2(v.p*v.q), 1.5 * log2(v.r*v.s), 3 * truth(v.r == 1 && v.s == 1), 3 * float64(min(v.stride, 4)), 2*truth(v.dilation > 1) + 0.5*log2(v.dilation),
		2 * truth(kg%(16/e) == 0), truth(v.pad > 0), 0.5 * log2(v.groups), 0.5 * truth(v.h*v.w%(16/e) == 0), 0.5 * truth(v.p*v.q%(16/e) == 0),
		2 * truth(cg%(16/e) == 0), log2(v.r) - log2(v.s),
	}
}

func (f *features) distance(g *features) (sum float64) {
	for i := range f {
		sum += sq(f[i] - g[i])
	}
	return sum
}

func sq(x float64) float64 { return x * x }
func log2(n int64) float64 { return math.Log2(float64(max(n, 1))) }
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
