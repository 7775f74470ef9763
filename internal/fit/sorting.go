package fit

// Sorting by CUB, and what PyTorch builds on it. Sizes follow CUB's "onesweep" radix sort:
// a second pair of buffers, 256 counters of 4 bytes for each tile of elements, and a
// histogram of 256 counters of 8 bytes for each byte of the keys. They agree with all
// measured sorts of one dimension.

const (
	sortFunction      = "at::cuda::cub::radix_sort_pairs"
	embeddingFunction = "at::native::embedding_dense_backward_cuda"
	radixLeast        = 4096 // up to here a row is sorted within one block
)

var sortRecipes = map[string]recipe{
	"embedding_dense_backward": planEmbeddingBackward,
	"sort":                     planSort,
	"argsort":                  planSort,
	"index_put_":               planIndexPut, "index_put": planIndexPut, "_index_put_impl_": planIndexPut,
	"_unique2": planUnique, "unique_consecutive": planUnique, "unique_dim": planUnique,
}

// A scan keeps a state of 16 bytes for each tile beside a fixed part: of unique's selection,
// and of the two that embedding's backward pass makes, over indices and over the rows that
// they name. The tiles are those that agree with all measured sizes.
func selectBytes(n int64) int64  { return scanBytes(768, n, 8192) }
func indexBytes(n int64) int64   { return scanBytes(1024, n, 4608) }
func segmentBytes(n int64) int64 { return scanBytes(1024, n, 896) }

func scanBytes(fixed, n, tile int64) int64 { return roundUp(fixed+16*ceilDiv(n, tile), 256) - 1 }

// radixTiles are the elements of a tile, by the bytes of a key.
var radixTiles = map[int64]int64{8: 4608, 4: 5376, 2: 5632, 1: 5632}

// Keys alone, of 8 bytes, are sorted in larger tiles, and few of them within one block.
const (
	keysTile  = 5760
	keysLeast = 2048 // of 1000 it was seen, of 4000 not
)

// radixKeysBytes is the temporary storage of a sort of n keys without values.
func radixKeysBytes(n, key int64) int64 {
	if n <= keysLeast {
		return 1
	}
	return roundUp(key*n, 256) + ceilDiv(n, keysTile)*1024 + key*2048 + 511
}

// radixBytes is the temporary storage of a sort of n keys with values of 8 bytes.
func radixBytes(n, key int64) int64 {
	tile, ok := radixTiles[key]
	if !ok {
		tile = 4608
	}
	return roundUp(key*n, 256) + roundUp(8*n, 256) + ceilDiv(n, tile)*1024 + key*2048 + 511
}

func planSort(c *call) {
	in := c.s.first("self")
	c.p.rest()
	if in == nil || len(in.Shape) == 0 {
		return
	}
	n := in.Numel()
	order := c.p.need(Sorting, sortFunction, 8*n)
	if in.Dim(int(c.s.number("dim", -1))) > radixLeast {
		c.p.brief(Sorting, sortFunction, radixBytes(n, in.Element()))
	}
	c.p.drop(order)
}

// planIndexPut: with accumulate, equal indices are brought together by sorting
// (index_put_with_sort_kernel).
func planIndexPut(c *call) {
	c.p.rest()
	if !c.s.flag("accumulate") {
		return
	}
	var n int64
	for i := range c.s.In {
		if t := &c.s.In[i]; t.DType == "int64" && t.onGPU() {
			n = max(n, t.Numel())
		}
	}
	if n == 0 {
		return
	}
	const fn = "at::native::index_put_with_sort_kernel"
	var linear [5]int32
	for i := range linear[:2] {
		linear[i] = c.p.need(Sorting, fn, 8*n)
	}
	c.p.drop(linear[0])
	for i := range linear[2:] {
		linear[2+i] = c.p.need(Sorting, fn, 8*n)
	}
	c.p.brief(Sorting, sortFunction, radixBytes(n, 8))
	c.p.drop(linear[4], linear[3], linear[2], linear[1])
}

// planUnique sorts keys with their places; keys alone where no inverse and no counts are wanted.
func planUnique(c *call) {
	in := c.s.first("self")
	if in == nil {
		return
	}
	n := in.Numel()
	const fn = "at::native::unique_cuda"
	if baseName(c.s.Op) == "_unique2" && !c.s.flag("return_inverse") && !c.s.flag("return_counts") {
		sorted := c.p.need(Sorting, fn, in.Bytes())
		c.p.brief(Sorting, sortFunction, radixKeysBytes(n, in.Element()))
		c.p.rest()
		count := c.p.need(Sorting, fn, 8)
		c.p.brief(Sorting, fn, selectBytes(n))
		c.p.drop(count, sorted)
		return
	}
	order, sorted := c.p.need(Sorting, fn, 8*n), c.p.need(Sorting, fn, in.Bytes())
	c.p.brief(Sorting, sortFunction, radixBytes(n, in.Element()))
	c.p.rest()
	marks := c.p.need(Sorting, fn, 8*n)
	c.p.drop(marks, sorted, order)
}

// planEmbeddingBackward is embedding_dense_backward_cuda: up to 3072 indices go straight
// into the gradient; more are sorted, and the rows of each are summed in parts of ten.
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
	long := 8 * n
	sorted, orig, numbers := c.p.need(Sorting, embeddingFunction, long), c.p.need(Sorting, embeddingFunction, long), c.p.need(Sorting, embeddingFunction, long)
	c.p.brief(Sorting, sortFunction, radixBytes(n, 8))
	c.p.drop(numbers)
	c.p.rest()
	c.embeddingSums(n, min(n, int64(c.s.number("num_weights", 1))), grad)
	c.p.drop(orig, sorted, gradCopy)
}

// embeddingSums is embedding_backward_cuda_kernel (ATen/native/cuda/EmbeddingBackwardKernel.cu).
func (c *call) embeddingSums(n, segments int64, grad *Tensor) {
	offsets, count := c.p.need(Sorting, embeddingFunction, 8*n), c.p.need(Sorting, embeddingFunction, 8)
	keys := c.p.need(Sorting, embeddingFunction, 8*n)
	c.p.brief(Sorting, embeddingFunction, indexBytes(n))
	c.p.drop(keys)
	parts, partOffsets := c.p.need(Sorting, embeddingFunction, 8*segments), c.p.need(Sorting, embeddingFunction, 8*segments)
	c.p.brief(Sorting, embeddingFunction, segmentBytes(segments))
	partCount := c.p.need(Sorting, embeddingFunction, 8)
	total := n/10 + segments
	part := c.p.need(Sorting, embeddingFunction, 8*total)
	sums := total * roundUp(grad.Dim(-1), 32) * 4
	if segments <= 128 {
		sums = 8 * total // of few rows only their ends are kept; seen up to 32 rows, not from 512 on
	}
	c.p.brief(Sorting, embeddingFunction, sums)
	c.p.drop(part, partCount, partOffsets, parts, count, offsets)
}
