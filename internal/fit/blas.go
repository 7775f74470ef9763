package fit

import (
	"strconv"
	"strings"
)

// cuBLAS gets a workspace for each handle and stream, at the first product of a thread on
// a stream, and keeps it; the request comes after that of the product's result. cuBLASLt,
// which serves products with a bias, shares it since PyTorch 2.7
// (TORCH_CUBLASLT_UNIFIED_WORKSPACE). Sizes: ATen/cuda/CublasHandlePool.cpp,
// getChosenWorkspaceSize; seen in every recording of testdata as two blocks of 32 MiB,
// one of the main thread and one of autograd's.

const (
	blasWorkspaceHopper = 32 << 20              // compute capability 9, 10, 12
	blasWorkspaceOther  = 2*4096<<10 + 8*16<<10 // ":4096:2:16:8", cuBLAS's own default
	blasLtWorkspace     = 1 << 20
	blasFunction        = "at::cuda::setWorkspaceForHandle"
	blasLtFunction      = "at::cuda::getCUDABlasLtWorkspace"
)

// blasKey is what a handle belongs to.
type blasKey struct {
	thread uint8
	stream uint32
	lt     bool
}

var blasRecipes = map[string]recipe{}

func init() {
	for _, name := range []string{
		"mm", "bmm", "addmm", "baddbmm", "addbmm", "addmv", "mv", "addr", "dot", "vdot", "linear", "matmul", "_addmm_activation", "_scaled_mm", "_int_mm",
		"_grouped_mm", "_scaled_grouped_mm", "linalg_solve_triangular", "triangular_solve", "_cdist_forward", "linalg_lu_factor_ex", "_linalg_solve_ex",
	} {
		blasRecipes[name] = planProduct
	}
}

func planProduct(c *call) {
	c.p.rest()
	c.keep(blasKey{c.e.Thread, c.e.Stream, false}, blasFunction, c.c.blasBytes)
	if c.hasBiasVector() {
		c.keep(blasKey{c.e.Thread, c.e.Stream, true}, blasLtFunction, c.c.ltBytes)
	}
	if !c.c.products[c.e.Thread] {
		if c.c.products == nil {
			c.c.products = map[uint8]bool{}
		}
		c.c.products[c.e.Thread] = true
		c.c.job.Used.CuBLAS++
	}
}

// keep takes a workspace that is kept, if the handle has none yet.
func (c *call) keep(key blasKey, fn string, bytes int64) {
	if c.c.blas[key] {
		return
	}
	if c.c.blas == nil {
		c.c.blas = map[blasKey]bool{}
	}
	c.c.blas[key] = true
	c.p.need(CuBLAS, fn, bytes)
}

// hasBiasVector tells whether a product goes to cuBLASLt: addmm, or linear, with a vector
// to add to each row.
func (c *call) hasBiasVector() bool {
	switch baseName(c.s.Op) {
	case "addmm", "_addmm_activation":
		add, second := c.s.first("self"), c.s.tensor("mat2")
		return add != nil && second != nil && len(add.Shape) == 1 && second.Dim(0) > 1 && second.Dim(1) > 1 && c.s.number("beta", 1) == 1
	case "linear":
		bias := c.s.tensor("bias")
		return bias != nil && bias.Dim(0) > 1
	}
	return false
}

// ltWorkspaceBytes is the size of cuBLASLt's workspace. On a card that was calibrated it is
// as measured, none included: that was with the defaults.
func ltWorkspaceBytes(p *Profile, env map[string]string) int64 {
	if kib, err := strconv.ParseInt(env["CUBLASLT_WORKSPACE_SIZE"], 10, 32); err == nil && kib >= 0 {
		return kib << 10
	}
	if c := p.Calibration; c != nil && c.CuBLASWorkspace > 0 {
		return c.CuBLASLtWorkspace
	}
	return blasLtWorkspace
}

// blasWorkspaceBytes is the size of a workspace on a card, under the environment that the
// trace was taken in.
func blasWorkspaceBytes(p *Profile, env map[string]string) int64 {
	if bytes, ok := parseBlasConfig(env["CUBLAS_WORKSPACE_CONFIG"]); ok {
		return bytes
	}
	if c := p.Calibration; c != nil && c.CuBLASWorkspace > 0 {
		return c.CuBLASWorkspace
	}
	if p.Major == 9 || p.Major == 10 || p.Major == 12 {
		return blasWorkspaceHopper
	}
	return blasWorkspaceOther
}

// parseBlasConfig reads CUBLAS_WORKSPACE_CONFIG: pairs of KiB and count, ":4096:2:16:8".
func parseBlasConfig(text string) (bytes int64, ok bool) {
	parts := strings.Split(strings.TrimPrefix(text, ":"), ":")
	if len(parts)%2 != 0 {
		return 0, false
	}
	for i := 0; i < len(parts); i += 2 {
		size, err1 := strconv.ParseInt(parts[i], 10, 32)
		count, err2 := strconv.ParseInt(parts[i+1], 10, 32)
		if err1 != nil || err2 != nil || size < 0 || count < 0 {
			return 0, false
		}
		bytes += size << 10 * count
	}
	return bytes, true
}
