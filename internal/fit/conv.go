package fit

import "slices"

// Convolutions run in cuDNN, which takes a workspace for each: allocated after the result
// and right before the kernel, freed right after it (ATen/native/cudnn/Conv_v8.cpp,
// run_conv_plan). It holds the operands in cuDNN's own layout, where the kernel wants
// them so, and partial sums. Which kernel is taken, only cuDNN knows: see conv_table.go.
//
// With cudnn.benchmark all kernels are tried for each new form, in one buffer that
// is as large as the most that one of them asks for; then the cache is given back to the
// driver, and the fastest kernel runs (run_single_conv, try_plans, find_best).

const (
	convFunction = "at::native::run_conv_plan"
	copyFunction = "at::native::contiguous"
)

var convRecipes = map[string]recipe{
	"convolution": planConvolution, "_convolution": planConvolution, "cudnn_convolution": planConvolution, "convolution_overrideable": planConvolution,
	"cudnn_convolution_relu": planConvolution, "cudnn_convolution_add_relu": planConvolution, "cudnn_convolution_transpose": planConvolution,
	"conv1d": planConvolution, "conv2d": planConvolution, "conv3d": planConvolution,
	"convolution_backward": planConvolutionBackward,
}

// convSearch is what cudnn.benchmark keeps a choice for.
type convSearch struct {
	key     convKey
	n, p, q int64
	d       convDir
}

// searched is what cudnn.benchmark knows the computation of a convolution by.
func (v *convShape) searched(d convDir) convSearch { return convSearch{v.key(), v.n, v.p, v.q, d} }

// convCall is the convolution of a call: the form of the layer as its forward pass has it,
// and whether that runs backwards (a transposed convolution is a gradient of the input).
type convCall struct {
	shape      convShape
	transposed bool
	ok         bool
}

// shapeOf reads the form of a convolution from input, weight and result.
func (c *call) shapeOf(in, weight, out *Tensor) (v convCall) {
	if in == nil || weight == nil || out == nil || !in.onGPU() || len(in.Shape) < 3 || len(weight.Shape) != len(in.Shape) || len(out.Shape) != len(in.Shape) {
		return v
	}
	v.transposed = c.s.flag("transposed")
	s := &v.shape
	switch {
	case in.DType == "float16" || in.DType == "half":
		s.mode = convF16
	case in.DType == "bfloat16":
		s.mode = convBF16
	case !c.c.tf32 || c.c.profile.Major < 8:
		s.mode = convF32
	}
	s.nhwc = in.isChannelsLast() || weight.isChannelsLast()
	s.groups = max(1, int64(c.s.number("groups", 1)))
	s.stride, s.pad, s.dilation = lastOf(c.s.ints("stride"), 1), slices.Max(append(c.s.ints("padding"), 0)), max(1, lastOf(c.s.ints("dilation"), 1))
	from, to := in, out
	if v.transposed {
		from, to = out, in // the layer whose input gradient this is
	}
	s.n, s.c, s.k = from.Dim(0), from.Dim(1), to.Dim(1)
	s.h, s.w = plane(from)
	s.p, s.q = plane(to)
	s.r, s.s = plane(weight)
	if len(in.Shape) > 4 {
		s.volume = convVolume{from.Dim(2), weight.Dim(2), to.Dim(2)}
	}
	v.ok = s.n > 0 && s.c > 0 && s.k > 0 && s.h > 0 && s.w > 0 && s.p > 0 && s.q > 0 && s.r > 0 && s.s > 0 && s.c%s.groups == 0 && s.k%s.groups == 0
	return v
}

// plane returns height and width; in one dimension the height is 1, in three it is depth
// times height.
func plane(t *Tensor) (h, w int64) {
	h, w = 1, t.Dim(-1)
	for _, n := range t.Shape[2 : len(t.Shape)-1] {
		h *= n
	}
	return h, w
}

func lastOf(list []int64, otherwise int64) int64 {
	if len(list) == 0 {
		return otherwise
	}
	return list[len(list)-1]
}

func planConvolution(c *call) {
	in, weight := c.s.first("input", "self"), c.s.tensor("weight")
	v := c.shapeOf(in, weight, c.s.out(0))
	if !v.ok {
		return
	}
	copied := c.copyTo(in, v.shape.nhwc)
	c.p.rest()
	weightCopy := c.copyTo(weight, v.shape.nhwc)
	c.conv(v, convForward)
	c.p.drop(weightCopy, copied)
}

// planConvolutionBackward: the gradient of the input, of the weight, and of the bias, which
// is a sum over the gradient of the output.
func planConvolutionBackward(c *call) {
	grad, in, weight := c.s.tensor("grad_output"), c.s.tensor("input"), c.s.tensor("weight")
	v := c.shapeOf(in, weight, grad)
	if !v.ok {
		return
	}
	mask := c.s.flags("output_mask")
	gradCopy, inCopy, next := c.copyTo(grad, v.shape.nhwc), int32(-1), 0
	if flagAt(mask, 0) {
		c.p.take(next)
		next++
		weightCopy := c.copyTo(weight, v.shape.nhwc)
		c.conv(v, convInput)
		c.p.drop(weightCopy)
	}
	if flagAt(mask, 1) {
		c.p.take(next)
		next++
		inCopy = c.copyTo(in, v.shape.nhwc)
		c.conv(v, convWeight)
		c.p.drop(inCopy)
	}
	c.p.drop(gradCopy)
	if flagAt(mask, 2) {
		c.p.take(next)
		c.biasGradient(grad)
	}
}

// biasGradient sums a gradient over all but the channels.
func (c *call) biasGradient(grad *Tensor) {
	dims := []int64{0}
	for i := 2; i < len(grad.Shape); i++ {
		dims = append(dims, int64(i))
	}
	c.reduce(&reduction{in: grad, dims: dims, accBytes: accumulate(grad), outBytes: grad.Element(), vt0: vt0, width: vt0})
}

// copyTo takes memory for a copy in the layout that the convolution runs in, where the
// tensor is not in it already.
func (c *call) copyTo(t *Tensor, nhwc bool) int32 {
	if t == nil || nhwc && t.isChannelsLast() || !nhwc && t.isContiguous() {
		return -1
	}
	if nhwc && t.isContiguous() && (t.Dim(1) == 1 || t.Dim(-1) == 1 && t.Dim(-2) == 1) {
		return -1 // both at once
	}
	return c.p.need(Temporary, copyFunction, t.Bytes())
}

// conv plans cuDNN's workspace for one computation of a layer.
func (c *call) conv(v convCall, d convDir) {
	if !c.c.cudnn {
		return
	}
	if v.transposed && d != convWeight {
		d = convInput - d // forwards and backwards change places
	}
	if v.shape.ownKernel() {
		c.c.job.Exact++
		return
	}
	w := c.c.workspaceOf(&v.shape, d)
	if v.shape.isVolume() && !w.exact {
		c.c.job.Volumes++
	}
	c.c.job.Used.CuDNN = true
	if c.c.benchmark {
		c.search(&v.shape, d, w)
	}
	if w.exact {
		c.c.job.Exact++
	} else {
		c.c.job.Guesses++
	}
	c.p.drop(c.p.between(Convolution, convFunction, w.bytes, w.high))
}

// ownKernel tells whether PyTorch runs a convolution in a kernel of its own, which takes
// nothing: where each channel has filters of its own, except with channels innermost or in
// float16, or where indices need 64 bits (ATen/native/Convolution.cpp, use_cudnn_depthwise).
func (v *convShape) ownKernel() bool {
	return v.grouping() == 2 && v.k%v.c == 0 && !v.nhwc && v.mode != convF16 && v.n*max(v.c*v.h*v.w, v.k*v.p*v.q) < 1<<31
}

// Of 281 searches measured under cudnn.benchmark, half asked for at most what the operands take,
// or three quarters of a kernel's that transforms; nine of ten for at most six times what
// the operands take and parts of sums, or once and a half of that kernel's.
const searchTimesHigh = 6

// searchBuffer returns what a search for the kernel of a convolution is likely to ask for, and the most.
func (v *convShape) searchBuffer() (likely, high int64) {
	return max(v.copies(), v.fft()*3/4), max(searchTimesHigh*v.copies()+partsBytes, v.fft()*3/2)
}

// search plans what cudnn.benchmark does at the first call of a form: all kernels run in
// one buffer, and the cache is emptied. Depthwise convolutions have one kernel only.
func (c *call) search(v *convShape, d convDir, w workspace) {
	key := v.searched(d)
	if c.c.searched[key] || v.grouping() == 2 {
		return
	}
	if c.c.searched == nil {
		c.c.searched = map[convSearch]bool{}
	}
	c.c.searched[key] = true
	c.c.job.Searches++
	likely, high := v.searchBuffer()
	c.p.drop(c.p.between(Convolution, convFunction, max(w.bytes, likely), max(w.high, high)))
	c.p.emptyCache()
}

func (c *compiler) workspaceOf(v *convShape, d convDir) workspace {
	if c.nears == nil {
		c.nears = map[convSearch]workspace{}
	}
	key := v.searched(d)
	w, known := c.nears[key]
	if !known {
		if c.convs == nil {
			c.convs = measuredConvs()
		}
		if own := c.profile.Calibration; own != nil && own.Convolutions.table != nil {
			w = own.Convolutions.estimate(v, d, c.convs)
		} else {
			w = c.convs.estimate(*v, d)
		}
		c.nears[key] = w
	}
	return w
}
