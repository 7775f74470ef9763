package fit

// convMode is how cuDNN computes: the type, and of float32 whether TF32 is allowed.
type convMode uint8

const (
	convTF32 convMode = iota // float32 with cudnn.allow_tf32, the default
	convF32
	convF16
	convBF16
)

// convDir is one of the three computations of a layer.
type convDir uint8

const (
	convForward convDir = iota
	convInput           // gradient of the input
	convWeight          // gradient of the weight
)

// convShape is a convolution as cuDNN is asked for it. Convolutions in one dimension are
// of height 1, as PyTorch makes them; in three, depth and height are taken together, in h, r
// and p, and what of them is depth is kept beside. Stride, padding and dilation are those of
// the width, the padding the largest: where the height has others, output does not find p.
type convShape struct {
	mode          convMode
	nhwc          bool
	n, c, h, w, k int64
	r, s          int64 // kernel
	stride, pad   int64
	dilation      int64
	groups        int64
	p, q          int64 // output; 0: follows from the rest
	volume        convVolume
}

// convVolume is the depth of a convolution in three dimensions, of input, kernel and output;
// all 0 in fewer.
type convVolume struct{ in, kernel, out int64 }

func (v *convShape) isVolume() bool { return v.volume.in > 0 }

func (v *convShape) element() int64 {
	if v.mode == convF16 || v.mode == convBF16 {
		return 2
	}
	return 4
}

// output sets p and q. A kernel of 1 in one direction, of a layer in one dimension or of a
// pair such as 1×7 and 7×1, has padding in the other only.
func (v *convShape) output() {
	if v.p > 0 && v.q > 0 {
		return
	}
	h, r, frames := v.h, v.r, int64(1)
	if v.isVolume() {
		h, r, frames = v.h/v.volume.in, v.r/max(v.volume.kernel, 1), v.volume.out
	}
	padH, padW := v.pad, v.pad
	if r == 1 && (v.s > 1 || h == 1) {
		padH = 0
	}
	if v.s == 1 && r > 1 {
		padW = 0
	}
	v.p = frames * max(1, (h+2*padH-v.dilation*(r-1)-1)/max(v.stride, 1)+1)
	v.q = max(1, (v.w+2*padW-v.dilation*(v.s-1)-1)/max(v.stride, 1)+1)
}

// operand is one of a convolution's three tensors.
type operand uint8

const (
	operandInput operand = iota
	operandOutput
	operandWeight
)

// bytes returns the size of an operand in cuDNN's own layout; padded rounds the channels
// of each group up to 16 bytes, as its kernels for tensor cores want them.
func (v *convShape) bytes(o operand, padded bool) int64 {
	e := v.element()
	cg, kg := v.c/v.groups, v.k/v.groups
	if padded {
		cg, kg = roundUp(cg, 16/e), roundUp(kg, 16/e)
	}
	switch o {
	case operandInput:
		return v.n * cg * v.groups * v.h * v.w * e
	case operandOutput:
		return v.n * kg * v.groups * v.p * v.q * e
	}
	return kg * v.groups * cg * v.r * v.s * e
}

// copies returns the bytes of all operands in cuDNN's own layout.
func (v *convShape) copies() int64 {
	return v.bytes(operandInput, true) + v.bytes(operandOutput, true) + v.bytes(operandWeight, true)
}

// weightFloats returns the bytes of the weight in float32, which partial sums of its
// gradient have.
func (v *convShape) weightFloats() int64 { return v.k * (v.c / v.groups) * v.r * v.s * 4 }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// convClass is which operands cuDNN copies into its own layout: two bits each, 0 for none,
// 1 for as it is, 2 for padded; or perImage.
type convClass uint8

// perImage is the class in which each image of the batch has partial sums of its own.
const perImage convClass = 64

func (c convClass) of(o operand) uint8 { return uint8(c>>(2*o)) & 3 }

// base returns the bytes of the copies.
func (v *convShape) base(c convClass) (bytes int64) {
	if c == perImage {
		return v.n * v.weightFloats()
	}
	for o := operandInput; o <= operandWeight; o++ {
		if how := c.of(o); how != 0 {
			bytes += v.bytes(o, how == 2)
		}
	}
	return bytes
}

// classify finds the class that explains a measured workspace best: the one with which the
// least is left over. What is left are partial sums and a few hundred bytes for alignment.
func (v *convShape) classify(workspace int64) (class convClass, rest int64) {
	class, rest = 0, workspace
	if workspace < 4096 {
		return 0, workspace
	}
	if left := workspace - v.base(perImage); v.n > 1 && left >= 0 && left < 4096 {
		return perImage, left
	}
	for c := convClass(0); c < perImage; c++ {
		if c.of(0) == 3 || c.of(1) == 3 || c.of(2) == 3 {
			continue
		}
		if left := workspace - v.base(c); left >= 0 && left < rest {
			class, rest = c, left
		}
	}
	return class, rest
}
