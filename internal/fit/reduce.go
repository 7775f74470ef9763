package fit

import "slices"

// Reductions: sum, mean, norm, variance, maximum and the like run one kernel of PyTorch,
// gpu_reduce_kernel. Where the outputs are too few to fill the device, several blocks of
// threads share one, and leave partial results in a buffer, with a semaphore for each
// group of blocks; both come from the caching allocator, buffer first, and go after the
// launch. What follows computes the launch as ATen/native/cuda/Reduce.cuh (setReduceConfig)
// and ATen/native/TensorIterator.cpp (reorder_dimensions, coalesce_dimensions) do, so
// the sizes are exact for what was tried: see reduce_test.go.

const (
	reduceThreads      = 512 // mnt_wrapper: threads of a block
	reduceWarp         = 32
	minValuesPerThread = 16
	maxValuesPerThread = 256
	vt0                = 4 // values that a thread keeps in flight
)

// reduction is one call: the input's form, which dimensions go, and the types.
type reduction struct {
	in         *Tensor
	dims       []int64 // empty is all
	accBytes   int64   // of a partial result
	outBytes   int64   // of an element of the output
	vt0, width int64   // template arguments: values in flight, width of loads
}

// reduceDim is one dimension of the iteration; strides are in bytes.
type reduceDim struct {
	size, out, in int64
}

// dimensions returns the iteration's dimensions, innermost first, and how many of the
// first are reduced.
func (r *reduction) dimensions() []reduceDim {
	n := len(r.in.Shape)
	reduced := make([]bool, n)
	for _, d := range r.dims {
		if d < 0 {
			d += int64(n)
		}
		if d >= 0 && d < int64(n) {
			reduced[d] = true
		}
	}
	if len(r.dims) == 0 {
		for i := range reduced {
			reduced[i] = true
		}
	}
	kept := slices.Clone(r.in.Shape)
	for i, gone := range reduced {
		if gone {
			kept[i] = 1
		}
	}
	in, out := r.in.strided(), contiguous(kept)
	dims := make([]reduceDim, 0, n)
	for i := n - 1; i >= 0; i-- {
		d := reduceDim{size: r.in.Shape[i], out: out[i] * r.outBytes, in: in[i] * r.in.Element()}
		if reduced[i] {
			d.out = 0
		}
		dims = append(dims, d)
	}
	sortDims(dims)
	return coalesce(dims)
}

// before tells whether a dimension lies further in than another: 1 yes, -1 no, 0 open.
// Reduced ones go first, then smaller strides, of the output and then of the input.
func (a reduceDim) before(b reduceDim) int {
	if (a.out == 0) != (b.out == 0) {
		if a.out == 0 {
			return 1
		}
		return -1
	}
	for _, s := range [2][2]int64{{a.out, b.out}, {a.in, b.in}} {
		switch {
		case s[0] == 0 || s[1] == 0:
		case s[0] < s[1]:
			return 1
		case s[0] > s[1]:
			return -1
		case a.size > b.size:
			return -1
		}
	}
	return 0
}

// sortDims is TensorIterator's insertion sort, which leaves open pairs as they are.
func sortDims(dims []reduceDim) {
	for i := 1; i < len(dims); i++ {
		at := i
		for j := i - 1; j >= 0; j-- {
			switch dims[j].before(dims[at]) {
			case -1:
				dims[j], dims[at] = dims[at], dims[j]
				at = j
				continue
			case 1:
				j = -1
			}
		}
	}
}

// coalesce joins neighbours that lie without a gap.
func coalesce(dims []reduceDim) []reduceDim {
	if len(dims) <= 1 {
		return dims
	}
	prev := 0
	for i := 1; i < len(dims); i++ {
		a, b := &dims[prev], dims[i]
		fits := a.size == 1 || b.size == 1 || a.size*a.out == b.out && a.size*a.in == b.in
		if !fits {
			prev++
			dims[prev] = b
			continue
		}
		if a.size == 1 {
			a.out, a.in = b.out, b.in
		}
		a.size *= b.size
	}
	return dims[:prev+1]
}

// buffers calls f with the sizes of the two buffers of each launch of the reduction;
// a tensor that 32-bit indexes cannot reach is reduced in halves. extra is the buffer of
// partial sums that such halves share where the output's type is too narrow for them.
func (r *reduction) buffers(p *Profile, f func(buffer, semaphores int64)) (extra int64) {
	dims := r.dimensions()
	if !fits32(dims) && r.accBytes != r.outBytes {
		extra = r.outBytes
		for _, d := range dims {
			extra = max(extra, d.size*d.out)
		}
		extra = extra / r.outBytes * r.accBytes
	}
	left := maxLaunches
	r.halves(p, dims, &left, f)
	return extra
}

// maxLaunches bounds the halves of one reduction: 1,024 of 2 GiB are more than any card has.
const maxLaunches = 1024

func (r *reduction) halves(p *Profile, dims []reduceDim, left *int, f func(buffer, semaphores int64)) {
	if *left--; *left < 0 {
		return
	}
	if fits32(dims) {
		if b, s := r.launch(p, dims); b > 0 {
			f(b, s)
		}
		return
	}
	at, extent := 0, int64(-1)
	for i := len(dims) - 1; i >= 0; i-- {
		for _, s := range []int64{dims[i].out, dims[i].in} {
			if e := (dims[i].size - 1) * s; e > extent {
				at, extent = i, e
			}
		}
	}
	half := dims[at].size / 2
	if half == 0 {
		return
	}
	for _, size := range []int64{half, dims[at].size - half} {
		part := slices.Clone(dims)
		part[at].size = size
		r.halves(p, part, left, f)
	}
}

func fits32(dims []reduceDim) bool {
	const most = 1<<31 - 1
	numel, out, in := int64(1), int64(1), int64(1)
	for _, d := range dims {
		numel *= d.size
		out += (d.size - 1) * d.out
		in += (d.size - 1) * d.in
	}
	return numel <= most && out <= most && in <= most
}

// launch is setReduceConfig: it returns the bytes of the buffer for partial results and
// of the semaphores, 0 where each output has a block of its own.
func (r *reduction) launch(p *Profile, dims []reduceDim) (buffer, semaphores int64) {
	outputs, inputs, reducedDims := int64(1), int64(1), 0
	for _, d := range dims {
		if d.out == 0 {
			inputs *= d.size
			reducedDims++
		} else {
			outputs *= d.size
		}
	}
	if outputs == 0 || inputs == 0 || len(dims) == 0 {
		return 0, 0
	}
	element := r.in.Element()
	alongInput := reducedDims == len(dims) || dims[0].in < dims[reducedDims].in
	dim0, dim1, fastest := outputs, inputs, int64(0)
	if alongInput {
		dim0, dim1, fastest = inputs, outputs, dims[0].in
	} else {
		fastest = dims[reducedDims].in
	}
	vec := int64(1)
	if fastest == element {
		switch {
		case alongInput && dim0 > 128 && len(dims) == 1 && r.vt0 >= r.width:
			dim0 /= r.width
		case !alongInput:
			vec = outputWidth(dims, reducedDims, element)
			dim0 /= vec
		}
	}
	return r.split(p, alongInput, vec, dim0, dim1, outputs, inputs)
}

// outputWidth is get_output_vec_size: how many neighbouring outputs one thread makes.
func outputWidth(dims []reduceDim, reducedDims int, element int64) int64 {
	vec := int64(4)
	narrow := func(n int64) {
		for n%vec != 0 {
			vec /= 2
		}
	}
	narrow(dims[reducedDims].size)
	for i, d := range dims {
		if i != reducedDims {
			narrow(d.in / element)
		}
	}
	return vec
}

// split settles how the work is divided among threads, warps and blocks.
func (r *reduction) split(p *Profile, alongInput bool, vec, dim0, dim1, outputs, inputs int64) (buffer, semaphores int64) {
	most := reduceThreads / vec
	pow0, pow1 := min(lastPow2(dim0), most), min(lastPow2(dim1), most)
	width := min(pow0, reduceWarp)
	height := min(pow1, most/width)
	width = min(pow0, most/height)

	stepIn, stepOut := int64(1), int64(1)
	if alongInput {
		stepIn *= width
	} else {
		stepOut *= width
	}
	acrossWarps := false
	if v := ceilDiv(inputs, stepIn); v >= min(height*16, maxValuesPerThread) {
		acrossWarps = true
		stepIn *= height
	} else {
		stepOut *= height
	}
	values := ceilDiv(inputs, stepIn)
	target := int64(p.Multiprocessors) * (int64(p.MaxThreadsPerMultiprocessor()) / (width * height))
	grid := ceilDiv(outputs/vec, stepOut)
	if !acrossWarps || values < maxValuesPerThread || grid > target {
		return 0, 0
	}
	blocks := max(min(ceilDiv(target, grid), ceilDiv(values, minValuesPerThread)), ceilDiv(values, maxValuesPerThread))
	if blocks <= 1 {
		return 0, 0
	}
	buffer = r.accBytes * outputs * blocks
	if !alongInput {
		buffer *= width * vec
	}
	return buffer, 4 * grid
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// lastPow2 returns the largest power of two that is at most n; 1 for less than 1.
func lastPow2(n int64) int64 {
	p := int64(1)
	for p <= n/2 {
		p *= 2
	}
	return p
}
