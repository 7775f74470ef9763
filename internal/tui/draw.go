package tui

import (
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

// The parts of a bar, and of a plot. Without the agent there are processes, other and
// driver; with it what processes hold is told apart by what PyTorch says of it.
var (
	partProcesses = part{glyph: "█", ascii: "#", style: term.Green, always: true}
	partOther     = part{glyph: "▓", ascii: "+", style: term.Yellow}
	partDriver    = part{glyph: "░", ascii: "-", style: term.Dim}

	partAllocated = part{glyph: "█", ascii: "#", style: term.Green, always: true}
	partReserved  = part{glyph: "▓", ascii: "=", style: term.Cyan}
	partRest      = part{glyph: "▒", ascii: "+", style: term.Yellow, always: true}
	partIdle      = part{glyph: "·", ascii: ".", style: term.Cyan}
)

func (p part) glyphFor(look term.Look) string {
	if look.Unicode {
		return p.glyph
	}
	return p.ascii
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
		spans = append(spans, span{strings.Repeat(p.glyphFor(look), end-column), p.style})
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

// spark draws what was used as a line of columns, between the least and the most of it.
// Amounts that hardly differ, by less than a hundredth, are drawn level: noise is no trend.
func spark(look term.Look, samples []sample, width int) string {
	if len(samples) == 0 {
		return strings.Repeat(" ", width)
	}
	samples = samples[max(0, len(samples)-width):]
	low, high := samples[0].used, samples[0].used
	for _, s := range samples {
		low, high = min(low, s.used), max(high, s.used)
	}
	glyphs := levelsOf(look)
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(samples)))
	for _, s := range samples {
		level := 4
		if high-low > high/100 {
			level = 1 + int(float64(s.used-low)/float64(high-low)*float64(len(glyphs)-2)+0.5)
		}
		b.WriteRune(glyphs[level])
	}
	return b.String()
}

// plot draws what was used from zero to top as columns, the newest at the right, height
// lines high. Where PyTorch told of its part, a column shows it: allocated below, then
// what is reserved, then the rest.
func plot(look term.Look, samples []sample, top int64, width, height int) [][]span {
	samples = samples[max(0, len(samples)-width):]
	lines := make([][]span, height)
	for i := range lines {
		line := []span{plain(strings.Repeat(" ", width-len(samples)))}
		for _, s := range samples {
			cell := plotCell(look, s, top, height, height-1-i)
			if last := &line[len(line)-1]; last.style == cell.style {
				last.text += cell.text
				continue
			}
			line = append(line, cell)
		}
		lines[i] = line
	}
	return lines
}

// plotCell is one cell of a plot, the one of index 0 at the bottom. A column of one part
// ends within a cell, in eighths; of one with several parts each cell is of the part that
// is at its middle.
func plotCell(look term.Look, s sample, top int64, height, index int) span {
	if top <= 0 {
		return plain(" ")
	}
	reach := func(bytes int64) float64 { return float64(bytes)/float64(top)*float64(height) - float64(index) }
	if s.reserved == 0 {
		glyphs := levelsOf(look)
		return span{string(glyphs[int(min(max(reach(s.used), 0), 1)*float64(len(glyphs)-1)+0.5)]), term.Green}
	}
	const middle = 0.5
	for _, layer := range []struct {
		bytes int64
		part  part
	}{{s.allocated, partAllocated}, {s.reserved, partReserved}, {s.used, partRest}} {
		if reach(layer.bytes) >= middle {
			return span{layer.part.glyphFor(look), layer.part.style}
		}
	}
	return plain(" ")
}
