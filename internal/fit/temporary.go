package fit

// temporaryRecipes are operators that make a tensor for themselves, or take their results
// in another order than they return them.
var temporaryRecipes = map[string]recipe{
	"_softmax_backward_data": planSoftmaxBackward,
	"native_dropout":         planDropout,
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

// planDropout: the mask comes first.
func planDropout(c *call) {
	c.p.take(1)
	c.p.take(0)
}
