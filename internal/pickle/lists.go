package pickle

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/ullage-dev/ullage/internal/value"
)

// listCache knows lists that hold nothing but GETs by their bytes. Memo slots are
// written once, so equal bytes are equal lists. In recordings these are the
// stacks: a few hundred distinct ones make nine tenths of a file.
type listCache struct {
	seed  maphash.Seed
	known []knownList
	index map[uint64]uint32 // by hash of the bytes
	bytes int               // of all known
	last  uint32            // the list that was met last
}

type knownList struct {
	raw  []byte // from MARK to APPENDS, or a single GET and APPEND
	v    value.Value
	next [4]uint32 // the lists that followed this one, the last one first: programs are loops
}

const (
	maxKnownBytes = 16 << 20
	maxKnownList  = 16 << 10 // a longer list is not a stack
)

func newListCache() listCache {
	c := listCache{seed: maphash.MakeSeed()}
	c.reset()
	return c
}

// reset forgets everything.
func (c *listCache) reset() {
	c.index = make(map[uint64]uint32)
	c.known = append(c.known[:0:0], knownList{}) // list 0 is none
	c.bytes, c.last = 0, 0
}

// follow returns the list that b begins with if it came after the last one before.
func (c *listCache) follow(b []byte) *knownList {
	next := &c.known[c.last].next
	for i, id := range next {
		k := &c.known[id]
		if id == 0 {
			return nil
		}
		if len(b) < len(k.raw) || !bytes.Equal(b[:len(k.raw)], k.raw) {
			continue
		}
		copy(next[1:i+1], next[:i])
		next[0] = id
		c.last = id
		return k
	}
	return nil
}

// met notes that list id came after the last one.
func (c *listCache) met(id uint32) {
	next := &c.known[c.last].next
	copy(next[1:], next[:])
	next[0] = id
	c.last = id
}

// find returns the list with the bytes raw, and the hash with which to add it.
func (c *listCache) find(raw []byte) (*knownList, uint64) {
	h := maphash.Bytes(c.seed, raw)
	id, ok := c.index[h]
	if !ok || !bytes.Equal(c.known[id].raw, raw) {
		return nil, h
	}
	c.met(id)
	return &c.known[id], h
}

func (c *listCache) add(h uint64, raw []byte, v value.Value) {
	if c.bytes+len(raw) > maxKnownBytes {
		c.reset()
	}
	id := uint32(len(c.known))
	c.known = append(c.known, knownList{raw: bytes.Clone(raw), v: v})
	c.index[h] = id
	c.bytes += len(raw)
	c.met(id)
}

// scan returns how many bytes of b a list of nothing but GETs takes, 0 if it is none.
func scan(b []byte) int {
	i := 0
	if len(b) == 0 {
		return 0
	}
	if b[0] == opMark {
		i = 1
	}
	for n := 0; i+5 < len(b); n++ {
		switch b[i] {
		case opBinGet:
			i += 2
		case opLongBinGet:
			i += 5
		case opAppends:
			if n > 0 && b[0] == opMark {
				return i + 1
			}
			return 0
		case opAppend:
			if n == 1 && b[0] != opMark {
				return i + 1
			}
			return 0
		default:
			return 0
		}
		if i > maxKnownList {
			return 0
		}
	}
	return 0
}

// emptyList is EMPTY_LIST, together with the elements if they are known.
func (d *decoder) emptyList() error {
	d.push(true)
	if d.plain {
		return nil
	}
	if err := d.memoizeNow(); err != nil {
		return err
	}
	if d.end-d.pos < maxKnownList {
		d.more(maxKnownList)
	}
	known, err := d.knownAt(d.pos)
	if known == nil {
		return err
	}
	start := d.pos
	d.pos += len(known.raw)
	if !completes[d.next()] { // it may be extended, and others share the known value
		d.pos = start
		return nil
	}
	d.settle(&d.open[len(d.open)-1], known.v)
	d.stack[len(d.stack)-1] = known.v
	d.open = d.open[:len(d.open)-1]
	return nil
}

// knownAt returns the list whose elements begin at p, nil if it is none of only GETs,
// or not wholly in the window.
func (d *decoder) knownAt(p int) (*knownList, error) {
	rest := d.buf[p:d.end]
	if known := d.lists.follow(rest); known != nil {
		return known, nil
	}
	if n := scan(rest); n > 0 {
		return d.knownOrNew(rest[:n])
	}
	return nil, nil
}

// memoizeNow executes a PUT of the container just pushed.
func (d *decoder) memoizeNow() error {
	arg := d.buf[d.pos:]
	switch arg[0] {
	case opMemoize:
		d.pos++
		return d.put(uint32(d.memo.used))
	case opBinPut, opLongBinPut:
		if d.end-d.pos >= 5 {
			d.pos++
			return d.memoOp(arg[0])
		}
	}
	return nil
}

// knownOrNew returns the list whose bytes are raw. It builds it at the first time, or
// returns nil if one of its elements is not complete yet.
func (d *decoder) knownOrNew(raw []byte) (*knownList, error) {
	known, h := d.lists.find(raw)
	if known != nil {
		return known, nil
	}
	items := make([]value.Value, 0, len(raw)/2)
	for i := 0; i < len(raw); {
		switch raw[i] {
		case opBinGet:
			items = append(items, d.memo.get(uint32(raw[i+1])))
			i += 2
		case opLongBinGet:
			items = append(items, d.memo.get(binary.LittleEndian.Uint32(raw[i+1:])))
			i += 5
		default:
			i++
		}
	}
	for _, v := range items {
		if v == value.Nothing || v.Kind() == value.KindReader {
			return nil, nil
		}
	}
	v, err := d.b.List(value.Nothing, items)
	if err != nil {
		return nil, err
	}
	d.lists.add(h, raw, v)
	return &d.lists.known[d.lists.last], nil
}
