package fit

const sortFunction = "at::cuda::cub::radix_sort_pairs"

var sortRecipes = map[string]recipe{
	"embedding_dense_backward": planEmbeddingBackward,
}

// radixBytes is the temporary storage of CUB's radix sort of n pairs of 64-bit numbers.
func radixBytes(n int64) int64 { return 16*n + ceilDiv(n, 4192)*1024 + 16895 }

// planEmbeddingBackward is embedding_dense_backward_cuda: up to 3072 indices go straight
// into the gradient; more are sorted, so that each row is summed by one block.
func planEmbeddingBackward(c *call) {
	grad, indices := c.s.tensor("grad_output"), c.s.tensor("indices")
	if grad == nil || indices == nil {
		return
	}
	var gradCopy int32 = -1
	if !grad.isContiguous() {
		gradCopy = c.p.need(Temporary, copyFunction, grad.Bytes())
	}
	n := indices.Numel()
	if n <= 3072 {
		c.p.rest()
		c.p.drop(gradCopy)
		return
	}
	const fn = "at::native::embedding_dense_backward_cuda"
	long := 8 * n
	sorted, orig, numbers := c.p.need(Sorting, fn, long), c.p.need(Sorting, fn, long), c.p.need(Sorting, fn, long)
	c.p.brief(Sorting, sortFunction, radixBytes(n))
	c.p.drop(numbers)
	c.p.rest()
	rows, width := c.s.number("num_weights", 1), grad.Dim(-1)
	segments := min(n, int64(rows))
	offsets, count := c.p.need(Sorting, fn, long), c.p.need(Sorting, fn, 8)
	keys := c.p.need(Sorting, fn, long)
	c.p.brief(Sorting, fn, 1279)
	c.p.drop(keys)
	per, perOffset := c.p.need(Sorting, fn, 8*segments), c.p.need(Sorting, fn, 8*segments)
	c.p.brief(Sorting, fn, 1279)
	partialCount := c.p.need(Sorting, fn, 8)
	partials := n/10 + segments
	partial := c.p.need(Sorting, fn, 8*partials)
	c.p.brief(Sorting, fn, partials*roundUp(width, 32)*4)
	c.p.drop(partial, partialCount, perOffset, per, count, offsets, orig, sorted, gradCopy)
}
