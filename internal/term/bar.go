package term

import "strings"

// eighths are the parts of a full block, from one eighth up.
var eighths = []rune("▏▎▍▌▋▊▉")

// Bar draws part of whole as a bar, width columns at most, padded to width. A part that is
// there shows, however small.
func (l Look) Bar(part, whole int64, width int) string {
	if whole <= 0 || part <= 0 || width <= 0 {
		return strings.Repeat(" ", max(0, width))
	}
	share := min(1, float64(part)/float64(whole))
	if !l.Unicode {
		n := max(1, int(share*float64(width)+0.5))
		return strings.Repeat("#", n) + strings.Repeat(" ", width-n)
	}
	n := max(1, int(share*float64(width)*8+0.5)) // in eighths of a column
	bar := strings.Repeat("█", n/8)
	if n%8 > 0 {
		bar += string(eighths[n%8-1])
	}
	return bar + padding(bar, width)
}
