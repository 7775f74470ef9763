package doctor

import (
	"strconv"
	"strings"
)

// release is a version of a driver, of CUDA or of a GPU's capability: numbers between dots.
type release []int

// parseRelease reads the numbers that a text begins with: "580.95.05", "12.8", "9.0".
func parseRelease(text string) release {
	var r release
	for part := range strings.SplitSeq(strings.TrimSpace(text), ".") {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		r = append(r, n)
		if digits != part {
			break
		}
	}
	return r
}

func (r release) part(i int) int {
	if i < len(r) {
		return r[i]
	}
	return 0
}

func (r release) major() int { return r.part(0) }

// known tells whether there was a number at all.
func (r release) known() bool { return len(r) > 0 }

// before tells whether r is older than other, or a lower number.
func (r release) before(other release) bool {
	for i := range max(len(r), len(other)) {
		if a, b := r.part(i), other.part(i); a != b {
			return a < b
		}
	}
	return false
}
