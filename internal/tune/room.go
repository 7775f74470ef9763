package tune

import "github.com/ullage-dev/ullage/allocator"

// Room is the memory that a run may take. The zero Room is a device without end.
type Room struct {
	LimitBytes  int64 // a memory fraction; 0 for none. Settings can have one of their own
	DeviceBytes int64 // the whole device; 0 where it is not known
	FreeBytes   int64 // what the driver can give to the allocator; 0: all but ContextBytes
	Source      Source
}

// Source is where a Room is known from.
type Source uint8

// String returns the source as JSON has it.
func (s Source) String() string {
	return [...]string{"none", "given", "recorded-failure", "recorded-retries"}[s]
}

// Sources.
const (
	Unlimited   Source = iota // nowhere: nothing limits the runs
	Given                     // the user said so
	FromFailure               // a request failed in the recording
	FromRetries               // memory was released for a request in the recording: growth had failed
)

// ContextBytes is what is taken of a device before PyTorch gets any: the CUDA context,
// kernels and libraries. On an H200 with PyTorch 2.11 it was some 600 MiB; it depends on
// the device, the driver and the libraries that are loaded.
const ContextBytes = 600 << 20

// boundless is a device in which no recorded program runs out of memory.
const boundless = int64(1) << 43

// device returns a fresh device with this room.
func (r Room) device(order allocator.AddressOrder, seed uint64) *allocator.SimDevice {
	total, free := r.size(), r.FreeBytes
	if free == 0 {
		free = total
		if r.DeviceBytes > 0 {
			free = max(total-ContextBytes, 0)
		}
	}
	return allocator.NewDevice(max(total, free), free, order, seed)
}

// size is the size of the device, as far as it matters.
func (r Room) size() int64 {
	if r.DeviceBytes > 0 {
		return r.DeviceBytes
	}
	return boundless
}

// config returns a setting as it takes effect in this room.
func (r Room) config(s *Setting) allocator.Config {
	c := s.ForDevice(r.size())
	if r.DeviceBytes == 0 && s.MemoryFraction < 1 {
		c.LimitBytes = 0 // a share of what is not known; Try refuses it
	}
	if r.LimitBytes > 0 && (c.LimitBytes == 0 || r.LimitBytes < c.LimitBytes) {
		c.LimitBytes = r.LimitBytes
	}
	return c
}

// Bytes is the least of what bounds reserved memory; 0 for nothing.
func (r Room) Bytes() int64 {
	free := r.FreeBytes
	if free == 0 && r.DeviceBytes > 0 {
		free = max(r.DeviceBytes-ContextBytes, 0)
	}
	if r.LimitBytes > 0 && (free == 0 || r.LimitBytes < free) {
		return r.LimitBytes
	}
	return free
}

// with returns r with reserved memory bounded by limit, in the way r bounds it: by a
// memory fraction, else by the device.
func (r Room) with(limit int64) Room {
	if r.LimitBytes > 0 {
		return Room{LimitBytes: limit, DeviceBytes: r.DeviceBytes, FreeBytes: boundless}
	}
	return Room{DeviceBytes: r.DeviceBytes, FreeBytes: limit}
}

// Bound is what a recording shows of the limit that it was made under.
type Bound struct {
	LowBytes  int64 // of reserved memory: at least this was allowed
	HighBytes int64 // and less than this; 0: nothing shows a limit
	Fraction  bool  // the driver had room: a memory fraction, not the device
	Failures  int
	Retries   int // growths that failed and were tried again after a release
}

// bound narrows down the limit. Reserved memory never went above it; each request that
// failed, and each growth before which memory was released, would have.
func (p *Program) bound() Bound {
	b := Bound{LowBytes: p.TL.Peak.Reserved.Bytes, Retries: len(p.retries)}
	narrow := func(high int64) {
		if high > b.LowBytes && (b.HighBytes == 0 || high < b.HighBytes) {
			b.HighBytes = high
		}
	}
	for _, r := range p.retries {
		narrow(r.WouldBytes)
	}
	for i := range p.ops {
		if p.ops[i].what&^slotMask != opFail {
			continue
		}
		b.Failures++
		e := p.TL.Dev.Events.At(int(p.ops[i].event))
		need := p.TL.Config.SegmentSize(e.SizeBytes)
		reserved := p.TL.TotalsAt(int(p.ops[i].event)).Reserved
		if int64(e.Addr) >= need {
			b.Fraction = true
			narrow(reserved + need)
		} else if !b.Fraction {
			b.LowBytes = max(b.LowBytes, reserved+int64(e.Addr)) // what the driver could still have given
		}
	}
	return b
}

// RecordedRoom returns the room that the recordings of one job were made in, as far as
// they show one: the least that any of them shows.
func RecordedRoom(programs []*Program) Room {
	var room Room
	for _, p := range programs {
		b := p.bound()
		switch {
		case b.HighBytes == 0 && b.Failures == 0:
			continue
		case room.Bytes() != 0 && room.Bytes() <= b.LowBytes:
			continue
		}
		room = Room{Source: FromRetries}
		if b.Failures > 0 {
			room.Source = FromFailure
		}
		if b.Fraction {
			room.LimitBytes = b.LowBytes
		} else {
			room.FreeBytes = b.LowBytes
		}
	}
	return room
}
