package report

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/units"
)

const maxKept = 12 // keepers in a report

// kept prints what in the program kept the memory that was allocated at the end.
func (p *page) kept() {
	k := p.x.Kept
	if k == nil || k.AllocatedBytes == 0 {
		return
	}
	p.heading(fmt.Sprintf("What in the program kept the %s that were allocated when it was written", units.FormatBytes(k.AllocatedBytes)))
	t := newGrid(">bytes", ">share", ">blocks", "kept by", "allocated at")
	row := func(bytes int64, blocks int, by, at string) {
		t.row(units.FormatBytes(bytes), units.FormatShare(bytes, k.AllocatedBytes), units.FormatCount(int64(blocks)), by, at)
	}
	for _, one := range k.Keepers[:min(len(k.Keepers), maxKept)] {
		row(one.Bytes, one.Blocks, one.Text, linesText(one.AllocatedAt))
	}
	var bytes int64
	var blocks, more int
	for _, one := range k.Keepers[min(len(k.Keepers), maxKept):] {
		bytes, blocks, more = bytes+one.Bytes, blocks+one.Blocks, more+1
	}
	if more > 0 {
		row(bytes, blocks, units.FormatPlural(more, "more", "more"), "")
	}
	for _, one := range k.Unnamed {
		row(one.Bytes, one.Blocks, fmt.Sprintf("C++, by no name (%s)", one.Category), linesText(one.AllocatedAt))
	}
	p.grid(t)
	for _, note := range k.Notes {
		p.text(2, "Note: "+note+".")
	}
}

// linesText names the first of some lines, and how many others there are.
func linesText(sites []analyze.KeptSite) string {
	switch len(sites) {
	case 0:
		return ""
	case 1:
		return sites[0].Name
	}
	return fmt.Sprintf("%s and %s", sites[0].Name, units.FormatPlural(len(sites)-1, "more line", "more lines"))
}
