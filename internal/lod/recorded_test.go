package lod

import (
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestRecorded: of recordings that PyTorch made, the tile of all events has the peak in
// its counters and in its bands, the map of all places has every block, and the packed
// blocks are as high as what is allocated.
func TestRecorded(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "gpu", "*.pickle.xz"))
	if err != nil || len(names) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for _, d := range recordedDevices(t, name) {
				checkRecorded(t, d)
			}
		})
	}
}

func recordedDevices(t *testing.T, name string) (list []*Device) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f, snapshot.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, dev := range rec.Devices {
		if dev.Events.Len() > 0 {
			list = append(list, New(timeline.Build(rec, dev)))
		}
	}
	return list
}

func checkRecorded(t *testing.T, d *Device) {
	_, edge, ok := d.EventEdges(Tile(levels(int64(d.Events)), 0))
	if !ok {
		t.Fatalf("no tile of all %d events", d.Events)
	}
	g := d.Group(byStack(d))
	counters, bands := d.Counters.Buckets(edge), g.Bands(edge, largest(d, g, 10))
	peak := max(slices.Max(counters.Max[Allocated]), d.TL.Start.Allocated)
	if peak != d.TL.Peak.Allocated.Bytes {
		t.Errorf("the highest bucket has %d, the peak is %d", peak, d.TL.Peak.Allocated.Bytes)
	}
	for j, want := range counters.Max[Allocated] {
		var sum int64
		for k := range bands.Groups {
			if bands.Peak[k][j] < 0 {
				t.Errorf("bucket %d: band %d is %d", j, k, bands.Peak[k][j])
			}
			sum += bands.Peak[k][j]
		}
		if sum != want {
			t.Errorf("bucket %d: bands add up to %d, not %d", j, sum, want)
		}
	}
	checkRecordedMap(t, d)
	checkRecordedPacked(t, d, d.TL.Peak.Allocated.Event)
}

// checkRecordedMap looks at the whole map from so near that every block has a
// rectangle, and from so far that one tile holds it.
func checkRecordedMap(t *testing.T, d *Device) {
	visible := 0
	d.Blocks.index.each(func(uint32, box) { visible++ })
	index := d.Blocks.index
	for k, id := range index.ids {
		if index.at(k) != index.box(id) {
			t.Fatalf("block %d is kept as %+v, and is %+v", id, index.at(k), index.box(id))
		}
	}
	n := 0
	see := view{0, d.Events, 0, int64(d.Lanes.Size)}
	for range d.Blocks.rects(see, 0, 0) {
		n++
	}
	if n != visible || n > d.TL.NumBlocks() || n < d.TL.NumBlocks()*9/10 {
		t.Errorf("%d rectangles of %d blocks, %d of which last", n, d.TL.NumBlocks(), visible)
	}
	far := MapView{X: Tile(bits.Len(uint(d.Events)), 0), Y: Tile(levels(int64(d.Lanes.Size)), 0)}
	p, ok := d.Blocks.Picture(far)
	if !ok {
		t.Fatal("no tile of the whole map")
	}
	checkPicture(t, d.Blocks, p)
}

func checkRecordedPacked(t *testing.T, d *Device, event int) {
	if event < 0 {
		return // before the first event
	}
	p := d.Packed(event, event+1, PackedLimits{Blocks: d.TL.NumBlocks()})
	var top int64
	for _, b := range p.Blocks {
		if b.Steps[0].OffsetBytes != top {
			t.Errorf("block %d lies at %d, not %d", b.ID, b.Steps[0].OffsetBytes, top)
		}
		top += b.SizeBytes
	}
	if top != d.TL.Peak.Allocated.Bytes {
		t.Errorf("the blocks at the peak are %d high, not %d", top, d.TL.Peak.Allocated.Bytes)
	}
}
