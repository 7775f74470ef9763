package lod

// CountersTile returns the counters over buckets of events, or of microseconds from the
// first event, in the form of docs/formats/tile.md; false where the recording has none
// there.
func (d *Device) CountersTile(r Range, byTime bool) ([]byte, bool) {
	r, edge, ok := d.edges(r, byTime)
	if !ok {
		return nil, false
	}
	b := d.Counters.Buckets(edge)
	h := headerX(kindCounters, r, byTime)
	times := 0
	if d.Times.Known {
		h.flags |= flagTimes
		times = r.N + 1
	}
	e := newTile(h, 8*times+8*3*int(numSeries)*r.N+4*(r.N+1))
	for j := range times {
		e.f64(d.edgeTime(r, edge, byTime, j))
	}
	for s := range numSeries {
		e.bytes(b.Min[s])
		e.bytes(b.Max[s])
		e.bytes(b.Last[s])
	}
	e.events(edge)
	return e.out, true
}

func (d *Device) edges(r Range, byTime bool) (Range, []int, bool) {
	if byTime {
		return d.TimeEdges(r)
	}
	return d.EventEdges(r)
}

func headerX(kind uint16, r Range, byTime bool) header {
	h := header{kind: kind, levelX: int32(r.Level), fromX: float64(r.From()), nx: r.N}
	if byTime {
		h.flags |= flagTimeAxis
	}
	return h
}

// edgeTime returns the microseconds at edge j of r. The end of the recording is the
// time of its last event.
func (d *Device) edgeTime(r Range, edge []int, byTime bool, j int) float64 {
	switch {
	case byTime:
		return float64((r.First + int64(j)) << r.Level)
	case edge[j] == d.Events:
		return float64(d.Times.EndUS)
	}
	return float64(d.Times.At(edge[j]))
}

// BandsTile returns what groups have allocated, as CountersTile returns the counters.
func (g *Grouping) BandsTile(r Range, byTime bool, groups []uint32) ([]byte, bool) {
	r, edge, ok := g.d.edges(r, byTime)
	if !ok {
		return nil, false
	}
	b := g.Bands(edge, groups)
	h := headerX(kindBands, r, byTime)
	h.count = len(b.Groups)
	e := newTile(h, (8+4)*h.count*r.N+4*(r.N+1)+4*r.N+4*h.count)
	for _, peak := range b.Peak {
		e.bytes(peak)
	}
	for _, mean := range b.Mean {
		for _, v := range mean {
			e.f32(float32(v))
		}
	}
	e.events(edge)
	e.events(b.At)
	e.u32(b.Groups...)
	return e.out, true
}
