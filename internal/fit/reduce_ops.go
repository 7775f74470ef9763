package fit

const reduceFunction = "at::native::gpu_reduce_kernel"

// reduceRecipes are operators that run one reduction, by the bytes of a partial result:
// 0 is those of the type that is accumulated in.
var reduceRecipes = map[string]recipe{
	"sum": planSum, "nansum": planSum, "prod": planSum, "mean": planSum,
	"linalg_vector_norm": planSum, "norm": planSum,
	"amax": planExtreme, "amin": planExtreme, "any": planExtreme, "all": planExtreme,
	"max": planMaxMin, "min": planMaxMin,
	"argmax": planArg, "argmin": planArg,
	"var": planVariance, "std": planVariance, "var_mean": planVariance, "std_mean": planVariance,
}

// accumulate returns the bytes of the type in which values of a type are summed.
func accumulate(t *Tensor) int64 {
	switch t.DType {
	case "float16", "bfloat16", "half", "float32", "float", "float8_e4m3fn", "float8_e5m2":
		return 4
	case "complex64", "float64", "double":
		return 8
	case "complex128":
		return 16
	case "bool", "uint8", "int8", "int16", "int32", "int64":
		return 8
	}
	return t.Element()
}

func planSum(c *call) {
	in, out := c.s.first("self"), c.s.out(0)
	c.p.rest()
	if in == nil || out == nil || !in.onGPU() {
		return
	}
	dims := c.s.ints("dim")
	copied := int32(-1)
	if whole := accumulate(in); whole == 8 && in.Element() < 8 && in.DType != "complex64" {
		// Integers are summed as int64: the input is copied into that type first.
		copied = c.p.need(Temporary, "at::native::_to_copy", in.Numel()*8)
		wide := *in
		wide.DType = "int64"
		in = &wide
	}
	c.reduce(&reduction{in: in, dims: dims, accBytes: accumulate(in), outBytes: out.Element(), vt0: vt0, width: vt0})
	c.p.drop(copied)
}

func planExtreme(c *call) {
	in, out := c.s.first("self"), c.s.out(0)
	c.p.rest()
	if in == nil || out == nil || !in.onGPU() {
		return
	}
	c.reduce(&reduction{in: in, dims: c.s.ints("dim"), accBytes: in.Element(), outBytes: out.Element(), vt0: vt0, width: vt0})
}

// planMaxMin: without a dimension as amax; with one, value and index go together; with
// another tensor it is no reduction.
func planMaxMin(c *call) {
	switch {
	case c.s.tensor("other") != nil:
		c.p.rest()
	case c.s.Args["dim"] != nil:
		planArg(c)
	default:
		planExtreme(c)
	}
}

// planArg: pairs of value and index, 16 bytes with an index of 8.
func planArg(c *call) {
	in, out := c.s.first("self"), c.s.out(0)
	c.p.rest()
	if in == nil || out == nil || !in.onGPU() {
		return
	}
	c.reduce(&reduction{in: in, dims: c.s.ints("dim"), accBytes: 16, outBytes: out.Element(), vt0: vt0, width: vt0})
}

// planVariance: Welford's mean, sum of squares and two counts.
func planVariance(c *call) {
	in, out := c.s.first("self"), c.s.out(0)
	c.p.rest()
	if in == nil || out == nil || !in.onGPU() {
		return
	}
	acc := int64(16)
	if in.Element() == 8 {
		acc = 32
	}
	c.reduce(&reduction{in: in, dims: c.s.ints("dim"), accBytes: acc, outBytes: out.Element(), vt0: 2, width: 2})
}

// reduce plans the buffers of a reduction's launches.
func (c *call) reduce(r *reduction) {
	if r.in.Numel() == 0 {
		return
	}
	var wide int32 = -1
	var launches [][2]int64
	if extra := r.buffers(c.c.profile, func(b, s int64) { launches = append(launches, [2]int64{b, s}) }); extra > 0 {
		wide = c.p.need(Reduction, reduceFunction, extra)
	}
	for _, l := range launches {
		buffer := c.p.need(Reduction, reduceFunction, l[0])
		semaphores := c.p.need(Reduction, reduceFunction, l[1])
		c.p.drop(semaphores, buffer)
	}
	c.p.drop(wide)
}
