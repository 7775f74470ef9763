package syntax

// maxSteps bounds the work on a text, in hundreds of tree-sitter's steps, of which ordinary
// code takes less than one a byte. Garbage, whose errors it tries to mend in many ways at
// once, is given up after five a byte. A step in garbage may cost many times what it does in code.
func maxSteps(size int) uint64 { return 1000 + uint64(size)/20 }
