package child

import (
	"fmt"
	"os"
	"strings"
)

// startedAt tells when a process started, in the kernel's count, which is how one is told
// from an earlier one of the same number. It is "" for a process that has ended and that its
// parent has not looked at yet. known is false where the system does not tell: only Linux does.
func startedAt(pid int) (started string, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// See proc_pid_stat(5), fields 3 and 22: the second, the program's name in brackets, may
	// have spaces and brackets of its own.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const state, starttime = 0, 19
	if len(fields) <= starttime {
		return "", false
	}
	if s := fields[state]; s == "Z" || s == "X" {
		return "", true
	}
	return fields[starttime], true
}
