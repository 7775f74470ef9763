package pickle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ullage-dev/ullage/internal/value"
)

// hasher is a Builder that keeps a hash of every container, so that values can be
// compared however often they are shared.
type hasher struct {
	pool   value.Pool
	hashes []uint64
}

var hashSeed = maphash.MakeSeed()

func (b *hasher) Pool() *value.Pool { return &b.pool }

func (b *hasher) add(kind string, items []value.Value) value.Value {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	h.WriteString(kind)
	for _, v := range items {
		fmt.Fprint(&h, b.of(v), ",")
	}
	b.hashes = append(b.hashes, h.Sum64())
	return value.Of(value.KindObject, uint64(len(b.hashes)-1))
}

func (b *hasher) of(v value.Value) string {
	if v.IsObject() {
		return fmt.Sprint(b.hashes[v.Payload()])
	}
	f, _ := b.pool.Float64(v)
	return fmt.Sprint(v.Kind(), f, b.pool.Text(v), v.Kind() == value.KindConst && v == value.None)
}

func (b *hasher) Dict(_ value.Place, items []value.Value) (value.Value, error) {
	return b.add("dict", items), nil
}

func (b *hasher) Tuple(items []value.Value) (value.Value, error) { return b.add("list", items), nil }
func (b *hasher) CutDict(items []value.Value) value.Value        { return b.add("cut", items) }

func (b *hasher) List(list value.Value, items []value.Value) (value.Value, error) {
	if list == value.Nothing {
		list = b.add("list", nil)
	}
	for _, v := range items {
		list = b.add("more", []value.Value{list, v})
	}
	return list, nil
}

// FuzzPickle reads arbitrary bytes in three ways that must agree, in memory that is
// bounded by the input's size.
func FuzzPickle(f *testing.F) {
	text, err := os.ReadFile("testdata/python.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if data, err := hex.DecodeString(strings.Split(line, "\t")[2]); err == nil && len(data) < 1000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		opt := Options{MaxStack: 1 << 16, MaxString: 1 << 16}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := &hasher{}
		res, err := Decode(bytes.NewReader(data), b, opt)
		runtime.ReadMemStats(&after)
		// The window and the first stack are 300 KB; every byte of input can open a
		// container, which takes 72 bytes in decoder.open, 128 while that grows, and
		// what the hasher allocates to print it.
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20+2000*uint64(len(data)) {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), used)
		}
		slow := &hasher{}
		slowRes, slowErr := Decode(iotest.OneByteReader(bytes.NewReader(data)), slow, opt)
		if fmt.Sprint(err) != fmt.Sprint(slowErr) || b.of(res.Root) != slow.of(slowRes.Root) {
			t.Errorf("read whole: %v; byte by byte: %v", err, slowErr)
		}
		plain := &hasher{}
		d := newDecoder(bytes.NewReader(data), plain, opt)
		d.plain = true
		root, plainErr := d.run()
		if (err == nil) != (plainErr == nil) || err == nil && b.of(res.Root) != plain.of(root) {
			t.Errorf("with short cuts: %v; without: %v", err, plainErr)
		}
	})
}
