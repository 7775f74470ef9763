package fit

// temporaryRecipes are operators that make a tensor for themselves.
var temporaryRecipes = map[string]recipe{
	"_softmax_backward_data": planSoftmaxBackward,
}

// planSoftmaxBackward: the product of gradient and output is kept while the kernel runs
// (ATen/native/cuda/SoftMax.cu).
func planSoftmaxBackward(c *call) {
	grad := c.s.first("grad_output")
	c.p.rest()
	if grad != nil {
		c.p.brief(Temporary, "at::native::softmax_backward_cuda_out", grad.Bytes())
	}
}
