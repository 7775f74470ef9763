package analyze

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// scene is a recording of hand-made segments, complete from the first allocation on.
type scene struct {
	made
	dev   snapshot.Device
	sites map[string]snapshot.StackID
	next  uint64
	used  map[uint64]piece // what is held, by address
}

// piece is a part of a segment as a scene's text has it.
type piece struct {
	addr      uint64
	sizeBytes int64
	stream    snapshot.StreamID
	pool      uint32
	stack     snapshot.StackID
}

func newScene() *scene {
	s := &scene{next: 1 << 40, sites: map[string]snapshot.StackID{}, used: map[uint64]piece{}}
	s.dev.Events = &snapshot.Events{Pools: []snapshot.PoolID{{}, {0, 1}}, HasPools: true, HasTimes: true}
	s.rec = snapshot.Recording{Devices: []*snapshot.Device{&s.dev}, Streams: []uint64{0, 0x5500}, Settings: &snapshot.Settings{MaxSplitBytes: -1}}
	s.rec.Stacks.Add(nil)
	return s
}

// site is the stack of a function of the user's.
func (s *scene) site(name string) snapshot.StackID {
	if name == "" {
		return 0
	}
	if _, ok := s.sites[name]; !ok {
		s.sites[name] = s.stack(frame("/home/ann/train.py", 10+len(s.sites), name))
	}
	return s.sites[name]
}

// event adds an event about p; there is one every millisecond.
func (s *scene) event(a snapshot.Action, p piece) {
	s.dev.Events.Append(snapshot.Event{Action: a, Addr: p.addr, SizeBytes: p.sizeBytes, Stream: p.stream, Stack: p.stack, Pool: p.pool, TimeUS: int64(1_000_000 + 1000*s.dev.Events.Len())})
}

// segment adds a segment that pieces fill, each "MIB" and a state, "a" for allocated,
// "p" for pending free, "." for free, with "@" and a function behind it: "8a@step 4.
// 8p". It returns the address.
func (s *scene) segment(stream snapshot.StreamID, pool uint32, pieces string) uint64 {
	var list []piece
	var states []byte
	at := s.next
	for field := range strings.FieldsSeq(pieces) {
		text, site, _ := strings.Cut(field, "@")
		mibs, err := strconv.ParseFloat(text[:len(text)-1], 64)
		if err != nil {
			panic(err)
		}
		list = append(list, piece{at, int64(mibs * mib), stream, pool, s.site(site)})
		states = append(states, text[len(text)-1])
		at += uint64(list[len(list)-1].sizeBytes)
	}
	s.event(snapshot.SegmentAlloc, piece{s.next, int64(at - s.next), stream, pool, list[0].stack})
	for _, p := range list {
		s.event(snapshot.Alloc, p)
		s.used[p.addr] = p
	}
	for i, p := range list {
		if states[i] != 'a' {
			s.event(snapshot.FreeRequested, p)
		}
		if states[i] == '.' {
			s.event(snapshot.FreeCompleted, p)
			delete(s.used, p.addr)
		}
	}
	start := s.next
	s.next = at + 2*mib
	return start
}

// oom adds a failed request; deviceFree is what the driver had left.
func (s *scene) oom(mibs float64, deviceFreeMiB int64, stream snapshot.StreamID, pool uint32) int {
	s.dev.Events.Append(snapshot.Event{Action: snapshot.OOM, Addr: uint64(deviceFreeMiB * mib), SizeBytes: int64(mibs * mib), Stream: stream, Pool: pool, Stack: s.site("ask"), TimeUS: int64(1_000_000 + 1000*s.dev.Events.Len())})
	return s.dev.Events.Len() - 1
}

// release frees what is held at addr.
func (s *scene) release(addr uint64) {
	p := s.used[addr]
	delete(s.used, addr)
	s.event(snapshot.FreeRequested, p)
	s.event(snapshot.FreeCompleted, p)
}

// replay replays the scene. Its dump says nothing, so that the end is not compared.
func (s *scene) replay() *timeline.Timeline {
	for _, e := range segmentsLeft(s.dev.Events) {
		s.dev.Segments = append(s.dev.Segments, snapshot.Segment{Addr: e.Addr, SizeBytes: e.SizeBytes, Stream: e.Stream, Pool: s.dev.Events.Pools[e.Pool]})
	}
	return timeline.Build(&s.rec, &s.dev)
}

func segmentsLeft(e *snapshot.Events) []snapshot.Event {
	var list []snapshot.Event
	for i := range e.Len() {
		switch v := e.At(i); v.Action {
		case snapshot.SegmentAlloc:
			list = append(list, v)
		case snapshot.SegmentFree:
			list = slices.DeleteFunc(list, func(g snapshot.Event) bool { return g.Addr == v.Addr })
		}
	}
	return list
}
