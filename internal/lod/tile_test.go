package lod

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// decoded is a tile as docs/formats/tile.md reads it.
type decoded struct {
	Header  map[string]float64   `json:"header"`
	Columns []tileColumn         `json:"columns"`
	byName  map[string][]float64 // the same
}

type tileColumn struct {
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Values []float64 `json:"values"`
}

// decoder reads a tile from its beginning on.
type decoder struct {
	t    *testing.T
	data []byte
	at   int
	d    decoded
}

func (r *decoder) number(kind string) float64 {
	size := map[string]int{"u8": 1, "u16": 2, "u32": 4, "i32": 4, "f32": 4, "f64": 8}[kind]
	if r.at%size != 0 {
		r.t.Fatalf("%s at offset %d is not aligned", kind, r.at)
	}
	if r.at+size > len(r.data) {
		r.t.Fatalf("the tile ends at %d, within a %s at %d", len(r.data), kind, r.at)
	}
	b := r.data[r.at:]
	r.at += size
	switch kind {
	case "u8":
		return float64(b[0])
	case "u16":
		return float64(binary.LittleEndian.Uint16(b))
	case "u32":
		return float64(binary.LittleEndian.Uint32(b))
	case "i32":
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case "f32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	default:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

func (r *decoder) column(name, kind string, n float64) {
	c := tileColumn{Name: name, Type: kind, Values: make([]float64, int(n))}
	for i := range c.Values {
		c.Values[i] = r.number(kind)
	}
	r.d.Columns = append(r.d.Columns, c)
	r.d.byName[name] = c.Values
}

func decode(t *testing.T, tile []byte) decoded {
	r := decoder{t: t, data: tile, at: 4, d: decoded{Header: map[string]float64{}, byName: map[string][]float64{}}}
	if !bytes.HasPrefix(tile, []byte("ULLT")) {
		t.Fatalf("magic is %q", tile[:4])
	}
	h := r.d.Header
	for _, f := range []struct{ name, kind string }{
		{"version", "u16"},
		{"kind", "u16"},
		{"flags", "u32"},
		{"level_x", "i32"},
		{"from_x", "f64"},
		{"nx", "u32"},
		{"level_y", "i32"},
		{"from_y", "f64"},
		{"ny", "u32"},
		{"count", "u32"},
		{"points", "u32"},
		{"min_x", "u16"},
		{"min_y", "u16"},
		{"cells_x", "u32"},
		{"cells_y", "u32"},
	} {
		h[f.name] = r.number(f.kind)
	}
	if r.at != TileHeaderBytes || h["version"] != TileVersion {
		t.Fatalf("the header is %d bytes, of version %g", r.at, h["version"])
	}
	r.columns(h)
	if r.at != len(tile) || cap(tile) != len(tile) {
		t.Fatalf("the columns end at %d of %d bytes; %d were set aside", r.at, len(tile), cap(tile))
	}
	return r.d
}

func (r *decoder) columns(h map[string]float64) {
	nx, count := h["nx"], h["count"]
	switch uint16(h["kind"]) {
	case kindCounters:
		if uint32(h["flags"])&flagTimes != 0 {
			r.column("time", "f64", nx+1)
		}
		for _, s := range []string{"allocated", "reserved", "active", "requested"} {
			for _, what := range []string{"min", "max", "last"} {
				r.column(s+"_"+what, "f64", nx)
			}
		}
		r.column("edge", "u32", nx+1)
	case kindBands:
		r.column("peak", "f64", count*nx)
		r.column("mean", "f32", count*nx)
		r.column("edge", "u32", nx+1)
		r.column("at", "u32", nx)
		r.column("group", "u32", count)
	case kindBlocks, kindSegments:
		for _, name := range []string{"id", "group", "start", "freed", "end", "place", "size"} {
			r.column(name, "u32", count)
		}
		r.column("density", "u8", h["cells_x"]*h["cells_y"])
	case kindPacked:
		r.column("size", "f64", count)
		r.column("offset", "f64", h["points"])
		for _, name := range []string{"id", "group", "start", "end"} {
			r.column(name, "u32", count)
		}
		r.column("first", "u32", count+1)
		r.column("event", "u32", h["points"])
	default:
		r.t.Fatalf("kind %g", h["kind"])
	}
}

// TestGoldenTiles pins the bytes of tiles. Run with -update after a change that is
// meant, raise TileVersion, and say it in docs/formats/tile.md.
func TestGoldenTiles(t *testing.T) {
	s := newScene(4, false)
	s.run(400)
	d := New(s.build(150))
	g := d.Group(bySize(d))
	must := func(tile []byte, ok bool) []byte {
		if !ok {
			t.Fatal("there is no such tile")
		}
		return tile
	}
	view := MapView{X: Tile(3, 0), Y: Tile(11, 0)}
	for name, tile := range map[string][]byte{
		"counters":        must(d.CountersTile(Tile(4, 0), false)),
		"counters-time":   must(d.CountersTile(Tile(9, 0), true)),
		"bands":           must(g.BandsTile(Tile(4, 0), false, largest(d, g, 3))),
		"bands-time":      must(g.BandsTile(Tile(10, 0), true, []uint32{0})),
		"blocks":          must(d.BlocksTile(view, g)),
		"segments":        must(d.SegmentsTile(view)),
		"packed":          d.PackedTile(100, 160, PackedLimits{}, g),
		"packed-too-many": d.PackedTile(100, 160, PackedLimits{Blocks: 3}, nil),
	} {
		path := filepath.Join("testdata", "tiles", name)
		content, err := json.MarshalIndent(decode(t, tile), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			write(t, path+".tile", tile)
			write(t, path+".json", append(content, '\n'))
			continue
		}
		want, err := os.ReadFile(path + ".tile")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, tile) {
			wantContent, _ := os.ReadFile(path + ".json")
			t.Errorf("%s is not what it was (-was +is); run with -update if that is meant:\n%s", name, gocmp.Diff(string(wantContent), string(content)+"\n"))
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTilesSayWhatQueriesSay: the columns of a tile are the answer that they encode.
func TestTilesSayWhatQueriesSay(t *testing.T) {
	s := newScene(6, true)
	s.run(3000)
	d := New(s.build(500))
	g := d.Group(bySize(d))
	r, edge, _ := d.EventEdges(Tile(3, 0))
	n, b := d.Counters.Buckets(edge), g.Bands(edge, largest(d, g, 2))
	counters, _ := d.CountersTile(r, false)
	c := decode(t, counters)
	bandsTile, _ := g.BandsTile(r, false, largest(d, g, 2))
	bands := decode(t, bandsTile)
	for j := range r.N {
		for k, column := range []string{"allocated_min", "allocated_max", "allocated_last", "requested_last"} {
			want := []int64{n.Min[Allocated][j], n.Max[Allocated][j], n.Last[Allocated][j], n.Last[Requested][j]}[k]
			if got := c.byName[column][j]; got != float64(want) {
				t.Errorf("bucket %d: %s is %g, not %d", j, column, got, want)
			}
		}
		for k := range b.Groups {
			if got := bands.byName["peak"][k*r.N+j]; got != float64(b.Peak[k][j]) {
				t.Errorf("bucket %d, band %d: %g, not %d", j, k, got, b.Peak[k][j])
			}
		}
		if us := c.byName["time"][j]; us != float64(d.Times.At(edge[j])) {
			t.Errorf("edge %d is at %g us, not %d", j, us, d.Times.At(edge[j]))
		}
	}
	v := MapView{X: Tile(3, 0), Y: Tile(9, 0), Limit: 50}
	p, _ := d.Blocks.Picture(v)
	tile, _ := d.BlocksTile(v, g)
	blocks := decode(t, tile)
	for k, q := range p.Rects {
		l := d.TL.Life(int(q.ID))
		for name, want := range map[string]int64{
			"id": int64(q.ID), "group": int64(g.Of(int(q.ID))), "start": int64(q.Start), "freed": eventOr(d, l.FreeRequested), "end": eventOr(d, l.FreeCompleted),
			"place": q.Place, "size": q.Size,
		} {
			if got := blocks.byName[name][k]; got != float64(want) {
				t.Errorf("rectangle %d: %s is %g, not %d", k, name, got, want)
			}
		}
	}
	for i, share := range p.Density {
		if got := blocks.byName["density"][i]; got != math.Ceil(float64(share)*255) {
			t.Errorf("cell %d: %g for a share of %g", i, got, share)
		}
	}
}

func eventOr(d *Device, event int) int64 {
	if event >= d.Events {
		return none
	}
	return int64(max(event, 0))
}
