package viewer

import (
	"fmt"
	"slices"
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

// addPictures adds the tiles of every device, a round for each level, until nothing fits any
// more. Round r has the tiles that are r steps finer than the one that holds all: along
// events, along places, or some along each. So each round of a kind is of about as many
// tiles as all before it together, and no kind gets far ahead of another.
func (e *export) addPictures(all []*pictures) {
	for round := 0; ; round++ {
		more := false
		for _, p := range all {
			for _, k := range p.kinds {
				more = e.addRound(p, k, round) || more
			}
		}
		if !more {
			break
		}
	}
	for _, p := range all {
		e.index.LeftOut = append(e.index.LeftOut, e.leftOut(p)...)
	}
}

// addRound adds one round of a kind, and tells whether there may be another.
func (e *export) addRound(p *pictures, k *picture, round int) bool {
	top := p.d.tiles()
	if !k.room || round > top.MaxLevel+boolInt(k.high)*top.MaxLevelY {
		return false
	}
	for stepY := 0; stepY <= round*boolInt(k.high); stepY++ {
		level, levelY := top.MaxLevel-(round-stepY), top.MaxLevelY-stepY
		if level < 0 || levelY < 0 || !k.room {
			continue
		}
		name := k.name
		if k.high {
			name = fmt.Sprintf("%s-%d", k.name, levelY)
		}
		if k.room = e.addLevel(p, k, level, levelY); k.room {
			e.index.Tiles[p.key()][name] = level
		}
	}
	return k.room
}

// addLevel adds all tiles of one level of a kind, or none.
func (e *export) addLevel(p *pictures, k *picture, level, levelY int) bool {
	rows := int64(1)
	if k.high {
		rows = tileCount(int64(p.d.LOD.Lanes.Size), levelY)
	}
	var list []answer
	for row := range rows {
		for i := range tileCount(int64(p.d.Events()), level) {
			name := k.name
			if k.high {
				name = fmt.Sprintf("%s-%d-%d", k.name, levelY, row)
			}
			a, err := e.ask(fmt.Sprintf("rec/%s/tile/%s/%d/%d", p.key(), name, level, i))
			if err != nil {
				return false
			}
			list = append(list, a)
		}
		if e.used+packedSize(list) > e.opt.MaxBytes {
			return false
		}
	}
	return e.add(list)
}

// leftOut says how far a device can be zoomed into in the page, where that is not all the way.
func (e *export) leftOut(p *pictures) (lines []string) {
	words := map[string]string{"counters": "the timeline", "map-category": "the map"}
	for _, k := range p.kinds {
		what, ok := words[k.name]
		if !ok || k.room {
			continue
		}
		name := k.name
		if k.high {
			name = fmt.Sprintf("%s-%d", k.name, p.d.tiles().MaxLevelY)
		}
		line := "is left out"
		if level, ok := e.index.Tiles[p.key()][name]; ok {
			line = fmt.Sprintf("can be zoomed into down to %d events a point", 1<<level)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s", p.d.File, what, line))
	}
	slices.Sort(lines)
	return lines
}
