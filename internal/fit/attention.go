package fit

const (
	efficientFunction = "at::native::_efficient_attention_backward"
	flashFunction     = "at::native::_flash_attention_backward"
	cudnnAttention    = "at::native::run_cudnn_SDP_bprop"
)

var attentionRecipes = map[string]recipe{
	"_scaled_dot_product_efficient_attention_backward": planEfficientBackward, "_efficient_attention_backward": planEfficientBackward,
	"_scaled_dot_product_flash_attention_backward": planFlashBackward, "_flash_attention_backward": planFlashBackward,
	"_scaled_dot_product_cudnn_attention_backward": planCudnnAttentionBackward, "_cudnn_attention_backward": planCudnnAttentionBackward,
	"_scaled_dot_product_cudnn_attention": planCudnnAttention, "_cudnn_attention_forward": planCudnnAttention,
}

// planEfficientBackward: row sums of the gradient times the output, through two
// temporaries, and a workspace of float32 sums for the query's gradient
// (ATen/native/transformers/cuda/attention_backward.cu).
func planEfficientBackward(c *call) {
	grad, query, key := c.s.first("grad_out_", "grad_out"), c.s.tensor("query"), c.s.tensor("key")
	c.p.rest()
	if grad == nil || query == nil || key == nil || len(query.Shape) != 4 {
		return
	}
	batch, heads, rows := query.Dim(0), query.Dim(1), query.Dim(2)
	if baseName(c.s.Op) == "_efficient_attention_backward" {
		heads, rows = rows, heads // there the heads come after the rows
	}
	product := c.p.need(Temporary, efficientFunction, grad.Bytes())
	if grad.Element() < 4 {
		c.p.drop(product)
		product = c.p.need(Temporary, efficientFunction, grad.Numel()*4)
	}
	sums := batch * heads * rows * 4
	sum := c.p.need(Temporary, efficientFunction, sums)
	turned := c.p.need(Temporary, efficientFunction, sums)
	c.p.drop(sum, product)
	work := c.p.need(Attention, efficientFunction, efficientWorkspace(query, key, batch, heads, rows))
	c.p.drop(turned, work)
}

// efficientWorkspace is what the kernel keeps for sums of the query's gradient in float32:
// blocks of 64 or 128 rows with a few counters each. Where the type is float32 and
// the head is small it writes to the result.
func efficientWorkspace(query, key *Tensor, batch, heads, rows int64) int64 {
	return batch * heads * roundUp(rows, 32) * roundUp(query.Dim(-1), 32) * 4
}

// planFlashBackward: the sums of the softmax's gradient and the query's gradient in float32
// (flash_attn_2's mha_bwd).
func planFlashBackward(c *call) {
	query, key := c.s.tensor("query"), c.s.tensor("key")
	if query == nil || key == nil || len(query.Shape) != 4 {
		return
	}
	batch, heads, rows, width := query.Dim(0), query.Dim(1), query.Dim(2), query.Dim(3)
	c.p.rest()
	even := roundUp(rows, 128)
	soft := c.p.need(Attention, flashFunction, batch*heads*even*4)
	head := roundUp(width, 32)
	if width > 128 {
		head = roundUp(width, 64)
	}
	sums := c.p.need(Attention, flashFunction, batch*heads*even*head*4)
	c.p.drop(sums, soft)
}

func planCudnnAttention(c *call) {
	c.p.rest()
	c.p.brief(Attention, "at::native::run_cudnn_SDP_fprop", 256)
	c.c.job.Used.CuDNN = true
}

func planCudnnAttentionBackward(c *call) {
	query := c.s.tensor("query")
	c.p.rest()
	if query == nil || len(query.Shape) != 4 {
		return
	}
	batch, heads, rows, width := query.Dim(0), query.Dim(1), query.Dim(2), query.Dim(3)
	c.p.brief(Attention, cudnnAttention, batch*heads*rows*(width*4+4))
	c.c.job.Used.CuDNN = true
}
