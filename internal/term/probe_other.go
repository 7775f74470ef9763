//go:build !windows

package term

// pipesUTF8 is true: what reads our pipes on these systems takes UTF-8.
const pipesUTF8 = true

// enableANSI has nothing to do: terminals of these systems understand escape sequences.
func enableANSI(uintptr) bool { return true }
