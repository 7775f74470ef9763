package fit

// Backward passes of normalisations.

var normRecipes = map[string]recipe{
	"native_layer_norm":          planLayerNorm,
	"native_layer_norm_backward": planLayerNormBackward,
	"_fused_rms_norm_backward":   planRMSNormBackward,
	"native_group_norm":          planGroupNorm,
	"native_group_norm_backward": planGroupNormBackward,
}

const layerNormFunction = "at::native::LaunchGammaBetaBackwardCUDAKernel"

// partialRows is how many rows of partial sums the gradients of weight and bias go
// through, where there are many rows of few columns; 0 where they do not
// (ATen/native/cuda/layer_norm_kernel.cu; exact for what was measured).
func (c *call) partialRows(rows, columns int64) int64 {
	if rows <= 64<<10 || columns/32 >= int64(c.c.profile.Multiprocessors)/2 {
		return 0
	}
	return min(rows/32, 1<<20/roundUp(columns, 32))
}

// planLayerNorm: an input that does not lie row by row is copied first, as in ConvNeXt.
func planLayerNorm(c *call) {
	copied := c.rowCopy(c.s.first("input"))
	c.p.rest()
	c.p.drop(copied)
}

// rowCopy takes memory for a contiguous copy, where the tensor is not contiguous.
func (c *call) rowCopy(t *Tensor) int32 {
	if t == nil || t.isContiguous() {
		return -1
	}
	return c.p.need(Temporary, copyFunction, t.Bytes())
}

// planLayerNormBackward: a copy of the input, results, a copy of the gradient; then partial sums of weight and bias, each of which is
// summed into a tensor of its own that takes the place of the first.
func planLayerNormBackward(c *call) {
	in := c.s.first("input")
	if in == nil {
		return
	}
	columns := int64(1)
	for _, n := range c.s.ints("normalized_shape") {
		columns *= n
	}
	copied := c.rowCopy(in)
	c.partialSums(in, columns, 2)
	grad := c.rowCopy(c.s.tensor("grad_out"))
	c.p.drop(grad, copied)
}

func planRMSNormBackward(c *call) {
	if in := c.s.first("input"); in != nil {
		columns := int64(1)
		for _, n := range c.s.ints("normalized_shape") {
			columns *= n
		}
		c.partialSums(in, columns, 1)
	}
}

// partialSums plans results of a backward pass of which the last ones, of weight and
// perhaps bias, are sums over all rows.
func (c *call) partialSums(in *Tensor, columns int64, sums int) {
	rows := in.Numel() / max(columns, 1)
	partial := c.partialRows(rows, columns)
	if partial == 0 || len(c.p.taken) < 1+sums {
		c.p.rest()
		return
	}
	weight := c.s.first("weight", "input")
	c.p.take(0)
	first, parts := make([]int32, sums), make([]int32, sums)
	for i := range first {
		first[i] = c.p.need(Temporary, layerNormFunction, columns*weight.Element())
	}
	for i := range parts {
		parts[i] = c.p.need(Temporary, layerNormFunction, partial*columns*weight.Element())
	}
	of := Tensor{DType: weight.DType, Shape: []int64{partial, columns}}
	for i := range sums {
		c.p.take(1 + i)
		c.reduce(&reduction{in: &of, dims: []int64{0}, accBytes: accumulate(&of), outBytes: of.Element(), vt0: vt0, width: vt0})
		c.p.drop(first[i])
	}
	for i := range parts {
		c.p.drop(parts[len(parts)-1-i])
	}
}

// planGroupNorm: scale and shift of each channel of each image, in float32.
func planGroupNorm(c *call) {
	c.p.rest()
	const fn = "at::native::GroupNormKernelImpl"
	channels := int64(c.s.number("N", 0)) * int64(c.s.number("C", 0)) * 4
	a, b := c.p.need(Temporary, fn, channels), c.p.need(Temporary, fn, channels)
	c.p.drop(b, a)
}

// planGroupNormBackward: sums by channel, by group, and factors by channel.
func planGroupNormBackward(c *call) {
	c.p.rest()
	const fn = "at::native::GroupNormBackwardKernelImpl"
	images := int64(c.s.number("N", 0))
	channels, groups := images*int64(c.s.number("C", 0))*4, images*int64(c.s.number("group", 1))*4
	ds, db := c.p.need(Temporary, fn, channels), c.p.need(Temporary, fn, channels)
	c2, c3 := c.p.need(Temporary, fn, groups), c.p.need(Temporary, fn, groups)
	c1 := c.p.need(Temporary, fn, channels)
	c.p.drop(c3, c2, c1, db, ds)
}
