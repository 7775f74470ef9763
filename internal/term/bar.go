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

// Blocks returns a row of blocks, one a value, each as high as the value is to the highest:
// a curve on one line. Values below 1 show as a space.
func (l Look) Blocks(values []int64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if !l.Unicode {
		levels = []rune(".:-=+*#@")
	}
	var top int64
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		if v < 1 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[int(float64(v)/float64(top)*float64(len(levels)-1)+0.5)])
	}
	return b.String()
}
