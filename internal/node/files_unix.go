//go:build unix

package node

import "syscall"

// maxFiles is how many files the process may have open. Go has raised that to what the system
// allows.
func maxFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 256 // what POSIX systems give at least
	}
	return int(min(limit.Cur, 1<<20))
}
