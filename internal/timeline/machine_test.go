package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

const mib = 1 << 20

// machine is PyTorch's allocator at work, recorded: what a program asks of it becomes
// the events and the dump of a recording, and the simulator's own choices are what a
// replay has to find again.
type machine struct {
	*allocator.SimDevice
	sim    *allocator.Simulator
	events *snapshot.Events
	live   []held
	after  []Totals // by event
	now    Totals
	stream snapshot.StreamID // of the request that is being served
	pool   uint32
	owners []owner
}

// owner says for which stream and pool a range was got from the driver: what is given
// back is recorded under these, whoever made the allocator do it.
type owner struct {
	addr   uint64
	size   int64
	stream snapshot.StreamID
	pool   uint32
}

// held is a block that the program holds, or has let go of while a stream uses it.
type held struct {
	block          allocator.BlockID
	addr           uint64
	requestedBytes int64
	stream         snapshot.StreamID
	pool           uint32
	pending        bool
}

// pools are those that programs of a machine use.
var pools = []snapshot.PoolID{{}, {0, 1}}

func newMachine(cfg allocator.Config, namesPools bool) *machine {
	m := &machine{
		SimDevice: allocator.NewDevice(1<<40, 1<<40, allocator.LikeDriver, 0),
		events:    &snapshot.Events{Pools: pools, HasPools: namesPools},
	}
	m.sim = allocator.NewSimulator(cfg, m)
	return m
}

// Malloc and the methods after it are the driver's: they record what they do.
func (m *machine) Malloc(size int64) (uint64, bool) {
	addr, ok := m.SimDevice.Malloc(size)
	if ok {
		m.got(snapshot.SegmentAlloc, addr, size)
	}
	return addr, ok
}

func (m *machine) Release(addr uint64, size int64) {
	m.SimDevice.Release(addr, size)
	m.gave(snapshot.SegmentFree, addr, size)
}

func (m *machine) Map(addr uint64, size int64) bool {
	ok := m.SimDevice.Map(addr, size)
	if ok {
		m.got(snapshot.SegmentMap, addr, size)
	}
	return ok
}

func (m *machine) Unmap(addr uint64, size int64) {
	m.SimDevice.Unmap(addr, size)
	m.gave(snapshot.SegmentUnmap, addr, size)
}

func (m *machine) got(a snapshot.Action, addr uint64, size int64) {
	m.owners = append(m.owners, owner{addr, size, m.stream, m.pool})
	m.emit(a, addr, size, size)
}

func (m *machine) gave(a snapshot.Action, addr uint64, size int64) {
	stream, pool := m.stream, m.pool
	for _, o := range m.owners {
		if addr-o.addr < uint64(o.size) {
			m.stream, m.pool = o.stream, o.pool // the last that got this range
		}
	}
	m.emit(a, addr, size, size)
	m.stream, m.pool = stream, pool
}

// emit records an event; sizeBytes is that of the block or segment it moves.
func (m *machine) emit(a snapshot.Action, addr uint64, requestedBytes, sizeBytes int64) {
	e := snapshot.Event{Action: a, Addr: addr, SizeBytes: requestedBytes, Stream: m.stream, TimeUS: int64(1 + len(m.after))}
	if m.events.HasPools {
		e.Pool = m.pool
	}
	m.events.Append(e)
	m.now.apply(a, sizeBytes, requestedBytes)
	m.after = append(m.after, m.now)
}

func (m *machine) alloc(n int64, stream snapshot.StreamID, pool uint32) error {
	m.stream, m.pool = stream, pool
	b, err := m.sim.Malloc(n, uint32(stream), allocator.PoolID(pools[pool]))
	if err != nil {
		m.emit(snapshot.OOM, 0, n, 0)
		return err
	}
	h := held{block: b, addr: m.sim.Addr(b), requestedBytes: n, stream: stream, pool: pool}
	m.emit(snapshot.Alloc, h.addr, n, m.sim.Size(b))
	m.live = append(m.live, h)
	return nil
}

// free lets go of the k-th block that is held; it completes at once, or later.
func (m *machine) free(k int, completes bool) {
	h := &m.live[k]
	m.stream, m.pool = h.stream, h.pool
	size := m.sim.Size(h.block)
	if !h.pending {
		h.pending = true
		must(m.sim.FreeRequested(h.block))
		m.emit(snapshot.FreeRequested, h.addr, h.requestedBytes, size)
	}
	if completes {
		must(m.sim.FreeCompleted(h.block))
		m.emit(snapshot.FreeCompleted, h.addr, h.requestedBytes, size)
		m.live = slices.Delete(m.live, k, k+1)
	}
}

// completeAll ends every free that is pending, as the allocator does before it gives
// memory back.
func (m *machine) completeAll() {
	for k := len(m.live) - 1; k >= 0; k-- {
		if m.live[k].pending {
			m.free(k, true)
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// dump returns the recording of events from the first on: all of them, or what a ring
// kept of them.
func (m *machine) dump(first int) (*snapshot.Recording, *snapshot.Device) {
	dev := &snapshot.Device{Events: &snapshot.Events{Pools: m.events.Pools, HasPools: m.events.HasPools}}
	for i := first; i < m.events.Len(); i++ {
		dev.Events.Append(m.events.At(i))
	}
	for _, g := range m.sim.Segments() {
		dev.Segments = append(dev.Segments, snapshot.Segment{
			Addr: g.Addr, SizeBytes: g.SizeBytes, Stream: snapshot.StreamID(g.Stream), Pool: snapshot.PoolID(g.Pool), Kind: kindOf(g.Small),
			Expandable: g.Expandable, FirstBlock: len(dev.Blocks), NumBlocks: len(g.Blocks),
		})
		for _, b := range g.Blocks {
			dev.Blocks = append(dev.Blocks, snapshot.Block{Addr: b.Addr, SizeBytes: b.SizeBytes, RequestedBytes: b.RequestedBytes, State: stateOf(b.State)})
		}
	}
	cfg := m.sim.Config()
	return &snapshot.Recording{
		Devices: []*snapshot.Device{dev}, Streams: []uint64{0, 77},
		Settings: &snapshot.Settings{MaxSplitBytes: cmp.Or(cfg.MaxSplitBytes, -1), ExpandableSegments: cfg.Expandable, RoundupDivisions: cfg.RoundupDivisions},
	}, dev
}

func kindOf(small bool) snapshot.SegmentKind {
	if small {
		return snapshot.SmallSegment
	}
	return snapshot.LargeSegment
}

func stateOf(s allocator.BlockState) snapshot.BlockState {
	return map[allocator.BlockState]snapshot.BlockState{allocator.Allocated: snapshot.Allocated, allocator.PendingFree: snapshot.PendingFree}[s]
}

func sorted(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.Addr, b.Addr) })
	return list
}

// drawMachine runs a random program.
func drawMachine(t *rapid.T) *machine {
	cfg := allocator.Config{Expandable: rapid.Bool().Draw(t, "expandable")}
	if rapid.IntRange(0, 3).Draw(t, "max split") == 0 {
		cfg.MaxSplitBytes = rapid.Int64Range(20, 64).Draw(t, "max split MiB") * mib
	}
	if rapid.IntRange(0, 3).Draw(t, "roundup") == 0 {
		for i := range cfg.RoundupDivisions {
			cfg.RoundupDivisions[i] = 1 << rapid.IntRange(0, 4).Draw(t, "divisions")
		}
	}
	m := newMachine(cfg, true)
	for range rapid.IntRange(1, 120).Draw(t, "operations") {
		m.draw(t)
	}
	return m
}

func (m *machine) draw(t *rapid.T) {
	switch op := rapid.IntRange(0, 20).Draw(t, "operation"); {
	case op < 11:
		n := rapid.SampledFrom([]int64{1, 512, 3000, mib - 1, mib, mib + 1, 3 * mib, 9*mib + 12345, 10 * mib, 15 * mib, 20 * mib, 33*mib + 1, 70 * mib}).Draw(t, "bytes")
		must(m.alloc(n, snapshot.StreamID(rapid.IntRange(0, 1).Draw(t, "stream")), uint32(rapid.IntRange(0, 1).Draw(t, "pool"))))
	case op < 19 && len(m.live) > 0:
		m.free(rapid.IntRange(0, len(m.live)-1).Draw(t, "block"), rapid.IntRange(0, 4).Draw(t, "completes") > 0)
	case op == 19:
		m.completeAll()
		m.sim.EmptyCache()
	case op == 20:
		m.completeAll()
		if m.alloc(1<<41, 0, 0) == nil {
			panic("the device is smaller than that")
		}
	}
}

// sameCounters checks that the machine's own books agree with the simulator's.
func (m *machine) sameCounters(t *rapid.T) {
	s := m.sim.Stats()
	if got := (Totals{s.Requested, s.Allocated, s.Active, s.Reserved}); got != m.now {
		t.Fatalf("the machine counts %+v, the allocator %+v", m.now, got)
	}
}

func ExampleBuild() {
	m := newMachine(allocator.Config{}, true)
	must(m.alloc(3*mib, 0, 0)) // a segment of 20 MiB, and a block in it
	must(m.alloc(100, 0, 0))   // a segment of 2 MiB for small requests
	m.free(0, true)
	tl := Build(m.dump(0))
	fmt.Println("allocations at their recorded address:", tl.Replay.Equal, "of", tl.Replay.Allocs)
	tl.Walk(0, 6, func(event int, now Totals) {
		fmt.Println(m.events.At(event).Action, now.Requested, now.Allocated, now.Reserved)
	})
	// Output:
	// allocations at their recorded address: 2 of 2
	// 4 0 0 20971520
	// 1 3145728 3145728 20971520
	// 4 3145728 3145728 23068672
	// 1 3145828 3146240 23068672
	// 2 3145828 512 23068672
	// 3 100 512 23068672
}
