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
	blasFunction        = "at::cuda::setWorkspaceForHandle"
)

// blasKey is what a handle belongs to.
type blasKey struct {
	thread uint8
	stream uint32
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
	c.blasWorkspace()
}

// blasWorkspace takes the workspace of the call's thread and stream, if it is the first.
func (c *call) blasWorkspace() {
	key := blasKey{c.e.Thread, c.e.Stream}
	if c.c.blas[key] {
		return
	}
	if c.c.blas == nil {
		c.c.blas = map[blasKey]bool{}
	}
	c.c.blas[key] = true
	c.p.need(CuBLAS, blasFunction, c.c.blasBytes)
}

// blasWorkspaceBytes is the size of a workspace on a card, under the environment that the
// trace was taken in.
func blasWorkspaceBytes(p *Profile, env map[string]string) int64 {
	if bytes, ok := parseBlasConfig(env["CUBLAS_WORKSPACE_CONFIG"]); ok {
		return bytes
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
