package fit

// cuDNN has kernels for float32 that transform input, weight and output (Mathieu, Henaff,
// LeCun: arXiv 1312.5851): in squares of a power of two that hold the padded image, each
// as complex numbers of half its columns and one more, twice. Their workspace goes by pairs
// of channels, and is up to hundreds of times what the operands take where
// those are small. Heuristic mode takes such a kernel for one in fifty layers of large
// kernels and small images, cudnn.benchmark tries them all.
const (
	fftLeast      = 16  // of the squares that were measured, the smallest
	fftMost       = 256 // and the largest
	fftPointBytes = 16
)

// fft returns the workspace of a kernel that transforms; 0 where none can run.
func (v *convShape) fft() int64 {
	if v.mode != convTF32 && v.mode != convF32 || v.stride != 1 || v.dilation != 1 || v.groups != 1 || v.isVolume() || v.h == 1 {
		return 0
	}
	side := int64(fftLeast)
	for side < max(v.h, v.w)+2*v.pad {
		side *= 2
	}
	if side > fftMost {
		return 0
	}
	return fftPointBytes * side * (side/2 + 1) * (v.c*v.k + v.n*v.c + v.n*v.k)
}

// transforms tells whether a measured workspace is that of a kernel that transforms. What
// was measured of them is within a fifth of fft.
func (v *convShape) transforms(workspace int64) bool {
	f := v.fft()
	return f > 0 && workspace > oddityTimes*v.copies() && workspace*5 > f*4 && workspace*5 < f*6
}
