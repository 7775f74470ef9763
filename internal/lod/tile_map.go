package lod

import "math"

// BlocksTile returns the map of blocks in the form of docs/formats/tile.md; false where
// there is nothing. group fills the column of groups and may be nil.
func (d *Device) BlocksTile(v MapView, group *Grouping) ([]byte, bool) {
	p, ok := d.Blocks.Picture(v)
	if !ok {
		return nil, false
	}
	of := func(uint32) uint32 { return 0 }
	if group != nil {
		of = func(id uint32) uint32 { return group.Of(int(id)) }
	}
	freed := func(r Rect) int { return d.TL.Life(int(r.ID)).FreeRequested }
	return d.mapTile(kindBlocks, p, of, freed), true
}

// SegmentsTile returns the map of segments, as BlocksTile does that of blocks.
func (d *Device) SegmentsTile(v MapView) ([]byte, bool) {
	p, ok := d.Segments.Picture(v)
	if !ok {
		return nil, false
	}
	return d.mapTile(kindSegments, p, func(uint32) uint32 { return 0 }, func(r Rect) int { return r.End }), true
}

func (d *Device) mapTile(kind uint16, p *MapPicture, group func(id uint32) uint32, freed func(Rect) int) []byte {
	h := headerX(kind, p.X, false)
	h.levelY, h.fromY, h.ny = int32(p.Y.Level), float64(p.Y.From()), p.Y.N
	h.count, h.minX, h.minY = len(p.Rects), p.MinX, p.MinY
	h.cellsX, h.cellsY = p.CellsX, p.CellsY
	e := newTile(h, 4*7*h.count+len(p.Density))
	for _, value := range []func(Rect) uint32{
		func(r Rect) uint32 { return r.ID },
		func(r Rect) uint32 { return group(r.ID) },
		func(r Rect) uint32 { return uint32(r.Start) },
		func(r Rect) uint32 { return d.end(freed(r)) },
		func(r Rect) uint32 { return d.end(r.End) },
		func(r Rect) uint32 { return uint32(r.Place) },
		func(r Rect) uint32 { return uint32(r.Size) },
	} {
		for _, r := range p.Rects {
			e.u32(value(r))
		}
	}
	for _, share := range p.Density {
		e.out = append(e.out, uint8(math.Ceil(float64(share)*math.MaxUint8)))
	}
	return e.out
}

// PackedTile returns the packed blocks of events [from, to) in the form of
// docs/formats/tile.md. group fills the column of groups and may be nil.
func (d *Device) PackedTile(from, to int, limits PackedLimits, group *Grouping) []byte {
	p := d.Packed(from, to, limits)
	h := header{kind: kindPacked, levelX: -1, fromX: float64(p.From), nx: max(p.To-p.From, 0), count: len(p.Blocks)}
	if p.TooMany {
		h.flags |= flagTooMany
	}
	for i := range p.Blocks {
		h.points += len(p.Blocks[i].Steps)
	}
	e := newTile(h, 8*(h.count+h.points)+4*(5*h.count+1+h.points))
	d.packedColumns(e, p.Blocks, group)
	return e.out
}

func (d *Device) packedColumns(e *encoder, blocks []PackedBlock, group *Grouping) {
	each := func(f func(b *PackedBlock)) {
		for i := range blocks {
			f(&blocks[i])
		}
	}
	each(func(b *PackedBlock) { e.f64(float64(b.SizeBytes)) })
	each(func(b *PackedBlock) {
		for _, s := range b.Steps {
			e.f64(float64(s.OffsetBytes))
		}
	})
	each(func(b *PackedBlock) { e.u32(b.ID) })
	each(func(b *PackedBlock) {
		if group == nil {
			e.u32(0)
		} else {
			e.u32(group.Of(int(b.ID)))
		}
	})
	each(func(b *PackedBlock) { e.u32(uint32(b.Start)) })
	each(func(b *PackedBlock) { e.u32(d.end(b.End)) })
	first := uint32(0)
	each(func(b *PackedBlock) {
		e.u32(first)
		first += uint32(len(b.Steps))
	})
	e.u32(first)
	each(func(b *PackedBlock) {
		for _, s := range b.Steps {
			e.u32(uint32(s.Event))
		}
	})
}
