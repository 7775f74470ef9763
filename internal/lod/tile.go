package lod

import (
	"encoding/binary"
	"math"
)

// TileVersion is the version of the form of tiles.
const TileVersion = 1

// TileHeaderBytes is where the columns of a tile begin.
const TileHeaderBytes = 64

// Kinds of tiles.
const (
	kindCounters uint16 = 1 + iota
	kindBands
	kindBlocks
	kindSegments
	kindPacked
)

// Flags of tiles.
const (
	flagTimeAxis uint32 = 1 << iota // x is microseconds
	flagTimes                       // there is a column of times
	flagTooMany                     // more than a tile may hold
)

// none stands for an event that is not in the recording.
const none = math.MaxUint32

// header is the beginning of a tile, in the order of its bytes.
type header struct {
	kind           uint16
	flags          uint32
	levelX         int32
	fromX          float64
	nx             int
	levelY         int32
	fromY          float64
	ny             int
	count, points  int
	minX, minY     int
	cellsX, cellsY int
}

// encoder appends to a tile.
type encoder struct{ out []byte }

// newTile begins a tile whose columns take that many bytes.
func newTile(h header, columnBytes int) *encoder {
	e := &encoder{make([]byte, 0, TileHeaderBytes+columnBytes)}
	e.out = append(e.out, "ULLT"...)
	e.u16(TileVersion, h.kind)
	e.u32(h.flags, uint32(h.levelX))
	e.f64(h.fromX)
	e.u32(uint32(h.nx), uint32(h.levelY))
	e.f64(h.fromY)
	e.u32(uint32(h.ny), uint32(h.count), uint32(h.points))
	e.u16(uint16(h.minX), uint16(h.minY))
	e.u32(uint32(h.cellsX), uint32(h.cellsY))
	return e
}

func (e *encoder) u16(v ...uint16) {
	for _, x := range v {
		e.out = binary.LittleEndian.AppendUint16(e.out, x)
	}
}

func (e *encoder) u32(v ...uint32) {
	for _, x := range v {
		e.out = binary.LittleEndian.AppendUint32(e.out, x)
	}
}

func (e *encoder) f32(v float32) { e.u32(math.Float32bits(v)) }

func (e *encoder) f64(v float64) {
	e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(v))
}

// bytes appends a column of bytes as f64.
func (e *encoder) bytes(v []int64) {
	for _, x := range v {
		e.f64(float64(x))
	}
}

// events appends a column of events; -1 is none.
func (e *encoder) events(v []int) {
	for _, x := range v {
		e.u32(uint32(x))
	}
}

// end returns an event as u32, none where it is not in the recording.
func (d *Device) end(event int) uint32 {
	if event >= d.Events {
		return none
	}
	return uint32(max(event, 0))
}
