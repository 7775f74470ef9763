package viewer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// pictures are the tiles of a device that go into a page, from the coarsest level down.
type pictures struct {
	d     *Device
	kinds []*picture
}

// picture is one kind of tile.
type picture struct {
	name string // "counters", "map-category"
	high bool   // it has levels of places too
	room bool   // what was tried so far fitted
}

func newPictures(e *export, d *Device) *pictures {
	p := &pictures{d: d}
	add := func(name string, high bool) { p.kinds = append(p.kinds, &picture{name, high, true}) }
	add("counters", false)
	for _, by := range groupingNames {
		if len(d.Grouping(by).Groups) > 1 {
			add("bands-"+by, false)
		}
	}
	add("map-category", true)
	add("segments", true)
	add("packed-category", false)
	e.index.Tiles[p.key()] = map[string]int{}
	return p
}

// key names the device in the index.
func (p *pictures) key() string { return fmt.Sprintf("%s/%d", p.d.ID, p.d.Dev) }

// mostSteps bounds how much finer than the coarsest the levels of places are: 16 tiles of
// 512 buckets are more than any screen is high, and a rectangle is as exact in each of them.
const mostSteps = 4

// wholeRounds is how many rounds come before all that is no picture: those that show a whole
// recording on a screen of any width.
const wholeRounds = 2

// addRounds adds the tiles of every device, a round for each level, until nothing fits any
// more. Round r has the tiles that are r steps finer than the one that holds all: along
// events, along places, or some along each. So each round of a kind is of about as many
// tiles as all before it together, and no kind gets far ahead of another.
func (e *export) addRounds(all []*pictures, from, to int) error {
	for round, more := from, true; more && round < to; round++ {
		more = false
		for _, p := range all {
			for _, k := range p.kinds {
				if err := e.addRound(p, k, round); err != nil {
					return err
				}
				more = more || k.room && round < p.rounds(k)
			}
		}
	}
	return nil
}

// rounds is the last round in which a kind has tiles.
func (p *pictures) rounds(k *picture) int {
	top := p.d.tiles()
	if k.high {
		return top.MaxLevel + min(top.MaxLevelY, mostSteps)
	}
	return top.MaxLevel
}

// addRound adds one round of a kind, unless one before did not fit.
func (e *export) addRound(p *pictures, k *picture, round int) error {
	top := p.d.tiles()
	for stepY := 0; stepY <= min(round, mostSteps) && k.room; stepY++ {
		level, levelY := top.MaxLevel-(round-stepY), top.MaxLevelY-stepY
		if stepY > 0 && !k.high || level < 0 || levelY < 0 {
			continue
		}
		fits, err := e.addLevel(p, k, level, levelY)
		if err != nil {
			return err
		}
		if k.room = fits; fits {
			e.index.Tiles[p.key()][k.at(levelY)] = level
		}
	}
	return nil
}

// at names the kind of one level of places, without the row.
func (k *picture) at(levelY int) string {
	if k.high {
		return fmt.Sprintf("%s-%d", k.name, levelY)
	}
	return k.name
}

// addLevel adds all tiles of one level of a kind, or none.
func (e *export) addLevel(p *pictures, k *picture, level, levelY int) (fits bool, err error) {
	names := []string{k.name}
	if k.high {
		names = nil
		for row := range tileCount(int64(p.d.LOD.Lanes.Size), levelY) {
			names = append(names, fmt.Sprintf("%s-%d", k.at(levelY), row))
		}
	}
	var list []answer
	for _, name := range names {
		for i := range tileCount(int64(p.d.Events()), level) {
			a, err := e.ask(fmt.Sprintf("rec/%s/tile/%s/%d/%d", p.key(), name, level, i))
			if err != nil {
				return false, err
			}
			list = append(list, a)
		}
		if !e.fits(list) {
			return false, nil
		}
	}
	return e.add(list), nil
}

// pictureViews are the page's pictures and the kinds of tiles that each is made of.
var pictureViews = []struct {
	name  string
	kinds []string
}{
	{"the timeline", []string{"counters", "bands"}},
	{"the map", []string{"map", "segments"}},
	{"the timeline of single blocks", []string{"packed"}},
}

// leftOut says how far a device can be zoomed into in the page, where that is not all the way.
func (e *export) leftOut(p *pictures) (lines []string) {
	top := p.d.tiles()
	for _, view := range pictureViews {
		worst := -1
		for _, k := range p.kinds {
			kind, _, _ := strings.Cut(k.name, "-")
			if k.room || !slices.Contains(view.kinds, kind) {
				continue
			}
			level, ok := e.index.Tiles[p.key()][k.at(top.MaxLevelY)]
			if !ok {
				level = top.MaxLevel + 1
			}
			worst = max(worst, level)
		}
		if worst >= 0 {
			lines = append(lines, fmt.Sprintf("%s: %s %s", p.d.File, view.name, farTo(worst, top.MaxLevel)))
		}
	}
	return lines
}

// farTo says how far a picture goes whose finest level is the one given.
func farTo(level, top int) string {
	switch {
	case level > top:
		return "is left out, or a part of it"
	case level == 0:
		return "can be zoomed into along events, but not along addresses all the way"
	}
	return "can be zoomed into down to " + units.FormatPlural(1<<level, "event", "events") + " a point"
}
