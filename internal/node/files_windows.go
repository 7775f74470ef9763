package node

// maxFiles is how many files the process may have open: on Windows memory is the limit.
func maxFiles() int { return 1 << 20 }
