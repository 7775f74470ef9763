package node

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// machine puts a fake machine of package gpu on the bench, with what its programs use.
func (r *rig) machine(spec string) (uuids []string) {
	r.t.Helper()
	p, err := gpu.Open(r.t.Context(), spec, gpu.NoMachine(r.clock))
	if err != nil {
		r.t.Fatal(err)
	}
	read, err := p.Read(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.bench.cards, r.bench.links = nil, read.Links
	for _, d := range read.Devices {
		c := newCard(d.UUID, d.Memory.TotalBytes)
		c.hidden = d.Memory.UsedBytes
		r.bench.cards = append(r.bench.cards, c)
		uuids = append(uuids, d.UUID)
	}
	r.rounds(2)
	return uuids
}

// placed returns the numbers of the devices that a lease was placed on.
func (r *rig) placed(id lease.ID, uuids []string) (all []int) {
	for _, s := range r.lease(id).Shares {
		all = append(all, slices.Index(uuids, s.Device))
	}
	return all
}

func (r *rig) several(devices int, gibs int64) lease.ID {
	p := r.user()
	return r.ask(lease.Request{Devices: devices, MemoryBytes: gibs * gib, HolderPID: p.PID, HolderStart: p.Start})
}

// TestPlacementByLinks: several GPUs are those that are closest to each other, unless memory
// leaves no choice.
func TestPlacementByLinks(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		unlinked   bool
		devices    int
		gibs       int64
		want       []int
	}{
		{"the fuller of two bridged pairs", "fake:a40x4", false, 2, 8, []int{2, 3}},
		{"by memory alone", "fake:a40x4", true, 2, 8, []int{0, 2}},
		{"the only bridged pair with room", "fake:a40x4", false, 2, 30, []int{0, 1}},
		{"no bridged pair has room", "fake:a40x4", false, 2, 38, []int{1, 3}},
		{"a NUMA node", "fake:a40x8", false, 4, 8, []int{4, 5, 6, 7}},
		{"the NUMA nodes, by memory alone", "fake:a40x8", true, 4, 8, []int{1, 3, 5, 7}},
		{"the only NUMA nodes with room are both", "fake:a40x8", false, 4, 30, []int{0, 2, 4, 6}},
		{"three: a bridge, and one of its node", "fake:a40x8", false, 3, 8, []int{4, 5, 7}},
	} {
		r := newRig(t, nil)
		uuids := r.machine(tt.spec)
		if tt.unlinked {
			r.bench.links = nil
			r.round()
		}
		if diff := cmp.Diff(tt.want, r.placed(r.several(tt.devices, tt.gibs), uuids)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLinksTold: the book is told of links when they change, and not by a new agent of what it
// knows.
func TestLinksTold(t *testing.T) {
	r := newRig(t, nil)
	uuids := r.machine("fake:a40x4")
	told := func() (n int) {
		t.Helper()
		reader, err := r.Ledger.Reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		set := lease.Event{Body: &lease.DevicesSet{}}
		if err := reader.Export(t.Context(), 0, func(e ledger.Exported) error {
			if e.Kind == set.Kind() {
				n++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := told()
	r.rounds(3)
	r.restart(nil)
	r.rounds(3)
	if n := told(); n != before {
		t.Errorf("told %d times more of what was known", n-before)
	}
	r.bench.links = r.bench.links[1:] // how close 0 and 1 are is not told any more
	r.rounds(3)
	if n := told(); n != before+1 {
		t.Errorf("told %d times of a change, want once", n-before)
	}
	if diff := cmp.Diff([]int{0, 3}, r.placed(r.several(2, 25), uuids)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLinksOfInstances: MIG instances have no access to peers, on whichever GPU they are.
func TestLinksOfInstances(t *testing.T) {
	places := []place{
		{Device: lease.Device{UUID: "A"}},
		{Device: lease.Device{UUID: "B"}},
		{Device: lease.Device{UUID: "S"}, split: true},
		{Device: lease.Device{UUID: "S-1", Parent: "S"}},
		{Device: lease.Device{UUID: "S-2", Parent: "S"}},
		{Device: lease.Device{UUID: "T-1", Parent: "T"}},
	}
	r := &gpu.Reading{Links: []gpu.Link{
		{A: "A", B: "B", Kind: gpu.LinkNVLink, Lanes: 18},
		{A: "A", B: "S", Kind: gpu.LinkPIX},
		{A: "S", B: "T", Kind: gpu.LinkNVLink, Lanes: 18},
		{A: "T", B: "A", Kind: gpu.LinkSys},
	}}
	links := linksOf(r, places)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"A", "B", 28},
		{"A", "S-1", 3}, // closer than a host bridge, and no closer for an instance
		{"A", "T-1", 1},
		{"S-1", "S-2", 3},
		{"S-1", "T-1", 3},
		{"S", "S-1", 0},
		{"B", "S-1", 0}, // not told
		{"A", "A", 0},
	} {
		at := func(uuid string) int {
			return slices.IndexFunc(places, func(p place) bool { return p.UUID == uuid })
		}
		if got, back := links[at(tt.a)][at(tt.b)], links[at(tt.b)][at(tt.a)]; got != tt.want || back != tt.want {
			t.Errorf("%s and %s: %d and back %d, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
	if got := linksOf(&gpu.Reading{}, places[:2]); got != nil {
		t.Errorf("nothing is told, got %v", got)
	}
	for i, kind := range gpu.LinkKinds()[1:] {
		if closer := gpu.LinkKinds()[i]; linkScores[kind] >= linkScores[closer] || linkScores[kind] < 1 {
			t.Errorf("%s is not farther than %s", kind, closer)
		}
	}
}
