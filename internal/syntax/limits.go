package syntax

// maxSteps bounds the work on a text, in hundreds of tree-sitter's steps.
func maxSteps(size int) uint64 { return 10_000 + uint64(size) }
