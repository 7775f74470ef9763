package tui

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/term"
)

// span is a piece of a line in one style.
type span struct {
	text  string
	style term.Style
}

// reverse is the style of what is chosen.
const reversed term.Style = "7"

func plain(text string) span { return span{text, term.Plain} }

// paint joins spans, cut to width columns.
func paint(look term.Look, width int, spans ...span) string {
	var b strings.Builder
	for _, s := range spans {
		text := look.CutEnd(term.Clean(s.text), width)
		width -= term.Width(text)
		b.WriteString(look.Paint(s.style, text))
		if width <= 0 {
			break
		}
	}
	return b.String()
}

// part is a piece of a bar that has several.
type part struct {
	bytes  int64
	glyph  string // one column
	ascii  string
	style  term.Style
	always bool // shows however small it is
}

// stacked draws parts of a whole side by side, width columns in all. The ends of parts are
// where they belong, to the nearest column, but for small ones that show all the same.
func stacked(look term.Look, width int, whole int64, parts ...part) []span {
	var spans []span
	var sum int64
	column := 0
	for _, p := range parts {
		sum += p.bytes
		if p.bytes <= 0 || whole <= 0 {
			continue
		}
		end := int(float64(sum)/float64(whole)*float64(width) + 0.5)
		end = max(end, column)
		if p.always {
			end = max(end, column+1)
		}
		end = min(end, width)
		glyph := p.glyph
		if !look.Unicode {
			glyph = p.ascii
		}
		spans = append(spans, span{strings.Repeat(glyph, end-column), p.style})
		column = end
	}
	return append(spans, plain(strings.Repeat(" ", width-column)))
}

// Levels of a column, from nothing to full.
var (
	levels      = []rune(" ▁▂▃▄▅▆▇█")
	levelsASCII = []rune(" .:-=+*#@")
)

func levelsOf(look term.Look) []rune {
	if look.Unicode {
		return levels
	}
	return levelsASCII
}

// spark draws amounts as a line of columns, between the least and the most of them. Amounts
// that hardly differ, by less than a hundredth, are drawn level: noise is no trend.
func spark(look term.Look, amounts []int64, width int) string {
	if len(amounts) == 0 {
		return strings.Repeat(" ", width)
	}
	amounts = amounts[max(0, len(amounts)-width):]
	low, high := slices.Min(amounts), slices.Max(amounts)
	glyphs := levelsOf(look)
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(amounts)))
	for _, a := range amounts {
		level := 4
		if high-low > high/100 {
			level = 1 + int(float64(a-low)/float64(high-low)*float64(len(glyphs)-2)+0.5)
		}
		b.WriteRune(glyphs[level])
	}
	return b.String()
}

// plot draws amounts from zero to top as columns, the newest at the right, height lines
// high.
func plot(look term.Look, amounts []int64, top int64, width, height int) []string {
	amounts = amounts[max(0, len(amounts)-width):]
	glyphs := levelsOf(look)
	lines := make([]string, height)
	for i := range lines {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", width-len(amounts)))
		for _, a := range amounts {
			filled := 0.0
			if top > 0 {
				filled = float64(a)/float64(top)*float64(height) - float64(height-1-i)
			}
			b.WriteRune(glyphs[int(min(max(filled, 0), 1)*float64(len(glyphs)-1)+0.5)])
		}
		lines[i] = b.String()
	}
	return lines
}
