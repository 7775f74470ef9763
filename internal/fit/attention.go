package fit

import "math"

// Fused attention. The forward passes take nothing to speak of; the backward passes keep
// sums in float32 for the gradients that several blocks of threads add to.

const (
	efficientFunction = "at::native::_efficient_attention_backward"
	flashForward      = "at::native::_flash_attention_forward"
	flashFunction     = "at::native::_flash_attention_backward"
	cudnnForward      = "at::native::run_cudnn_SDP_fprop"
	cudnnBackward     = "at::native::run_cudnn_SDP_bprop"
)

var attentionRecipes = map[string]recipe{
	"_scaled_dot_product_efficient_attention": planEfficient, "_efficient_attention_forward": planEfficient,
	"_scaled_dot_product_efficient_attention_backward": planEfficientBackward, "_efficient_attention_backward": planEfficientBackward,
	"_scaled_dot_product_flash_attention": planFlash, "_flash_attention_forward": planFlash,
	"_scaled_dot_product_flash_attention_backward": planFlashBackward, "_flash_attention_backward": planFlashBackward,
	"_scaled_dot_product_cudnn_attention": planCudnnAttention, "_cudnn_attention_forward": planCudnnAttention,
	"_scaled_dot_product_cudnn_attention_backward": planCudnnAttentionBackward, "_cudnn_attention_backward": planCudnnAttentionBackward,
}

// planEfficient: the seed and the offset of the random numbers stay in main memory.
func planEfficient(c *call) {
	c.p.take(0)
	c.p.take(1)
	c.p.skip(2)
	c.p.skip(3)
}

// heads are the sizes of an attention's query: batch, heads, rows and width.
type heads struct {
	batch, heads, rows, width int64
	keyHeads, keyRows         int64
	element                   int64
}

// headsOf reads them; inner functions have the heads after the rows.
func (c *call) headsOf(inner string) (h heads, ok bool) {
	query, key := c.s.tensor("query"), c.s.tensor("key")
	if query == nil || key == nil || len(query.Shape) != 4 || len(key.Shape) != 4 {
		return h, false
	}
	h = heads{query.Dim(0), query.Dim(1), query.Dim(2), query.Dim(3), key.Dim(1), key.Dim(2), query.Element()}
	if baseName(c.s.Op) == inner {
		h.heads, h.rows, h.keyHeads, h.keyRows = h.rows, h.heads, h.keyRows, h.keyHeads
	}
	return h, true
}

// turnedCopy takes memory for a copy of a gradient whose elements do not lie in the order of
// the inner function's dimensions: batch, rows, heads, width.
func (c *call) turnedCopy(t *Tensor, inner string) int32 {
	if t == nil || len(t.Shape) != 4 {
		return -1
	}
	turned := *t
	if baseName(c.s.Op) != inner {
		s := t.strided()
		turned.Shape = []int64{t.Shape[0], t.Shape[2], t.Shape[1], t.Shape[3]}
		turned.Strides = []int64{s[0], s[2], s[1], s[3]}
	}
	return c.rowCopy(&turned)
}

// planEfficientBackward: the row sums of gradient times output, which in float32 go through
// two tensors more; then the workspace
// (ATen/native/transformers/cuda/attention_backward.cu).
func planEfficientBackward(c *call) {
	const inner = "_efficient_attention_backward"
	h, ok := c.headsOf(inner)
	grad := c.s.first("grad_out_", "grad_out")
	copied := c.turnedCopy(grad, inner)
	c.p.rest()
	if !ok || grad == nil {
		c.p.drop(copied)
		return
	}
	defer c.p.drop(copied)
	sums := h.batch * h.heads * h.rows * 4
	if h.element < 4 {
		delta := c.p.need(Temporary, efficientFunction, sums)
		work := c.p.need(Attention, efficientFunction, h.efficientWorkspace())
		c.p.drop(delta, work)
		return
	}
	product := c.p.need(Temporary, efficientFunction, grad.Bytes())
	sum := c.p.need(Temporary, efficientFunction, sums)
	turned := c.p.need(Temporary, efficientFunction, sums)
	c.p.drop(sum, product)
	work := c.p.need(Attention, efficientFunction, h.efficientWorkspace())
	c.p.drop(turned, work)
}

// efficientWorkspace: for each block of query rows a tile of the query's gradient in float32
// with a few counters; heads wider than 128 keep the keys' and values' gradients there
// too, unless these are of float32 themselves (kernel_backward.h). The sizes are those
// measured, of widths from 32 to 128 to the byte.
func (h *heads) efficientWorkspace() int64 {
	rows, counters := int64(128), int64(32)
	var keys int64
	switch {
	case h.width > 128:
		rows = 64
		if h.element < 4 {
			keys = 6 * 64 * roundUp(h.width, 128) * 4
		}
	case h.width > 64 && h.element == 4:
		rows, counters = 64, 16
	case h.width > 64:
		counters = 16
	}
	tile := rows*roundUp(h.width, 64)*4 + counters
	if h.width > 64 {
		tile = rows*roundUp(h.width, 128)*4 + counters
	}
	return h.batch * h.heads * (ceilDiv(h.rows, rows)*tile + keys)
}

// planFlash: where a batch gives the device too few blocks of work, the keys are divided among
// several, whose results are then put together (flash_api.cpp, set_params_splitkv).
func planFlash(c *call) {
	h, ok := c.headsOf("_flash_attention_forward")
	c.p.take(0)
	c.p.take(1)
	if splits := h.splits(c.c.profile); ok && splits > 1 && c.s.number("dropout_p", 0) == 0 {
		lse := c.p.need(Attention, flashForward, splits*h.batch*h.heads*h.rows*4)
		out := c.p.need(Attention, flashForward, splits*h.batch*h.heads*h.rows*roundUp(h.width, 32)*4)
		c.p.rest()
		c.p.drop(lse, out)
	}
}

// splits is num_splits_heuristic of flash attention.
func (h *heads) splits(p *Profile) int64 {
	block := int64(64)
	switch {
	case h.width <= 64:
		block = 256
	case h.width <= 128:
		block = 128
	}
	work, slots, columns := h.batch*h.heads*ceilDiv(h.rows, 64), int64(p.Multiprocessors)*2, ceilDiv(h.keyRows, block)
	if work <= 0 || float64(work) >= 0.8*float64(slots) {
		return 1
	}
	var best float64
	most := min(128, slots, columns)
	eligible := func(n int64) bool { return n == 1 || ceilDiv(columns, n) != ceilDiv(columns, n-1) }
	efficiency := func(n int64) float64 {
		waves := float64(work*n) / float64(slots)
		return waves / math.Ceil(waves)
	}
	for n := int64(1); n <= most; n++ {
		if eligible(n) {
			best = max(best, efficiency(n))
		}
	}
	for n := int64(1); n <= most; n++ {
		if eligible(n) && efficiency(n) >= 0.85*best {
			return n
		}
	}
	return 1
}

// planFlashBackward: copies of gradient and output where they do not lie by rows, sums of
// the softmax's gradient, the query's gradient in float32, and where several query heads
// share a key, the keys' gradients of each (flash_api.cpp, mha_bwd).
func planFlashBackward(c *call) {
	const inner = "_flash_attention_backward"
	h, ok := c.headsOf(inner)
	if !ok {
		return
	}
	grad, out := c.turnedCopy(c.s.first("grad_out"), inner), c.turnedCopy(c.s.tensor("out"), inner)
	c.p.rest()
	rows, width := roundUp(h.rows, 128), roundUp(h.width, 32)
	if h.width > 128 {
		width = roundUp(h.width, 64)
	}
	soft := c.p.need(Attention, flashFunction, h.batch*h.heads*rows*4)
	sums := c.p.need(Attention, flashFunction, h.batch*h.heads*rows*width*4)
	if h.keyHeads != h.heads {
		expanded := h.batch * h.keyRows * h.heads * h.width * h.element
		keys, values := c.p.need(Attention, flashFunction, expanded), c.p.need(Attention, flashFunction, expanded)
		c.p.drop(values, keys)
	}
	c.p.drop(sums, soft, out, grad)
}

func planCudnnAttention(c *call) {
	c.p.rest()
	c.p.brief(Attention, cudnnForward, 256)
	c.c.job.Used.CuDNN = true
}

// planCudnnAttentionBackward: the query's gradient and a row sum in float32, and where
// several query heads share a key, the gradients of keys and values for each. The sizes
// are those of all that were measured.
func planCudnnAttentionBackward(c *call) {
	h, ok := c.headsOf("_cudnn_attention_backward")
	c.p.rest()
	if !ok {
		return
	}
	bytes := h.batch*h.heads*h.rows*(h.width*4+4) + 256
	if h.keyHeads != h.heads {
		bytes += 2 * h.batch * h.heads * h.keyRows * h.width * h.element
	}
	c.p.brief(Attention, cudnnBackward, bytes)
	c.c.job.Used.CuDNN = true
}
