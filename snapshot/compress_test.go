package snapshot

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// bzip2Hello is "hello, recording\n" as bzip2 writes it: Go has no writer.
const bzip2Hello = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x95\x8c\x3e\xbd\x00\x00\x04\x51\x80\x00\x10\x40\x04\x0e\xe5\x90\x00\x20\x00\x22\x98\x8c\x0f\x50\x80\x68\x01\xdb\x20\xe5\x11\x7f\x04\x28\xd1\x77\x24\x53\x85\x09\x09\x58\xc3\xeb\xd0"

var packers = map[string]func(t testing.TB, data []byte) []byte{
	"gzip": func(t testing.TB, data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		mustWrite(t, w, data)
		return b.Bytes()
	},
	"zstd": func(t testing.TB, data []byte) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, w, data)
		return b.Bytes()
	},
	"xz": func(t testing.TB, data []byte) []byte {
		var b bytes.Buffer
		w, err := xz.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, w, data)
		return b.Bytes()
	},
}

func mustWrite(t testing.TB, w io.WriteCloser, data []byte) {
	t.Helper()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// sample is n bytes that compress about as a recording does.
func sample(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, n+32)
	for len(b) < n {
		b = append(b, "action\x94alloc\x94addr\x94size"...)
		b = append(b, byte(r.Uint32()), byte(r.Uint32()))
	}
	return b[:n]
}

// big is what the tests of streams pack: more than is unpacked ahead.
var big = sample(5 << 18)

// packedBig packs big once for every test: writing xz takes seconds under the
// race detector.
var packedBig = map[string]func() []byte{
	"gzip": sync.OnceValue(func() []byte { return packers["gzip"](panicker{}, big) }),
	"zstd": sync.OnceValue(func() []byte { return packers["zstd"](panicker{}, big) }),
	"xz":   sync.OnceValue(func() []byte { return packers["xz"](panicker{}, big) }),
}

// panicker is a testing.TB for what runs once for several tests.
type panicker struct{ testing.TB }

func (panicker) Helper()           {}
func (panicker) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func readStream(r io.Reader, limit int64) ([]byte, string, error) {
	s, err := newStream(r, limit, false)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	data, err := io.ReadAll(s)
	return data, s.Compression, err
}

func TestStreamUnpacks(t *testing.T) {
	want := big
	gz, zs, x := packedBig["gzip"](), packedBig["zstd"](), packedBig["xz"]()
	half := len(want) / 2
	tests := []struct {
		name        string
		in          []byte
		compression string
		want        []byte
	}{
		{"plain", want, "", want},
		{"empty", nil, "", nil},
		{"shorter than a magic", []byte("x"), "", []byte("x")},
		{"gzip", gz, "gzip", want},
		{"zstd", zs, "zstd", want},
		{"xz", x, "xz", want},
		{"bzip2", []byte(bzip2Hello), "bzip2", []byte("hello, recording\n")},
		{"gzip of two members", append(packers["gzip"](t, want[:half]), packers["gzip"](t, want[half:])...), "gzip", want},
		{"zstd of two frames", append(packers["zstd"](t, want[:half]), packers["zstd"](t, want[half:])...), "zstd", want},
		{"xz of two streams", append(packers["xz"](t, want[:half]), packers["xz"](t, want[half:])...), "xz", want},
		{"zstd after a skippable frame", append([]byte("\x50\x2a\x4d\x18\x02\x00\x00\x00ab"), zs...), "zstd", want},
		{"xz in gzip", packers["gzip"](t, x), "gzip, xz", want},
		{"gzip in zstd in xz", packers["xz"](t, packers["zstd"](t, gz)), "xz, zstd, gzip", want},
		{"gzip of nothing", packers["gzip"](t, nil), "gzip", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(tt.in), iotest.HalfReader(bytes.NewReader(tt.in)), iotest.DataErrReader(bytes.NewReader(tt.in))} {
				got, compression, err := readStream(r, 0)
				if err != nil || compression != tt.compression || !bytes.Equal(got, tt.want) {
					t.Fatalf("got %d bytes, %q, %v; want %d bytes, %q", len(got), compression, err, len(tt.want), tt.compression)
				}
			}
		})
	}
}

// TestStreamBreaksOff cuts each compressed form in the middle: all but the last
// block or so must come out, and the error says that the file breaks off.
func TestStreamBreaksOff(t *testing.T) {
	want := big
	for name, pack := range packedBig {
		t.Run(name, func(t *testing.T) {
			packed := pack()
			for _, cut := range []int{len(packed) / 2, len(packed) - 1} {
				got, _, err := readStream(bytes.NewReader(packed[:cut]), 0)
				var bad *DamagedError
				if !errors.As(err, &bad) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "breaks off") {
					t.Fatalf("cut at %d: error %v, want one that says it breaks off", cut, err)
				}
				if bad.Offset != int64(len(got)) || bad.InOffset != int64(cut) {
					t.Errorf("cut at %d: error says %d bytes of %d, there are %d of %d", cut, bad.Offset, bad.InOffset, len(got), cut)
				}
				if !bytes.HasPrefix(want, got) {
					t.Fatalf("cut at %d: other bytes came out than went in", cut)
				}
				// zstd hands out whole blocks, of 128 KiB.
				if least := len(want)*cut/len(packed)*9/10 - 128<<10; len(got) < least {
					t.Errorf("cut at %d of %d: only %d bytes came out", cut, len(packed), len(got))
				}
			}
		})
	}
}

func TestStreamDamaged(t *testing.T) {
	for name, pack := range packedBig {
		t.Run(name, func(t *testing.T) {
			packed := bytes.Clone(pack())
			for i := range 40 {
				packed[len(packed)/2+i] ^= 0x55
			}
			got, _, err := readStream(bytes.NewReader(packed), 0)
			var bad *DamagedError
			if !errors.As(err, &bad) {
				t.Fatalf("got %d bytes and error %v, want a DamagedError", len(got), err)
			}
		})
	}
}

func TestStreamHeaderCut(t *testing.T) {
	for name, pack := range packers {
		packed := pack(t, sample(1000))
		_, _, err := readStream(bytes.NewReader(packed[:8]), 0)
		var bad *DamagedError
		if !errors.As(err, &bad) {
			t.Errorf("%s: header alone: error %v, want a DamagedError", name, err)
		}
	}
}

func TestStreamLimits(t *testing.T) {
	zeros := make([]byte, 80<<20)
	bomb := packers["zstd"](t, zeros)
	nested := sample(100)
	for range maxLayers + 1 {
		nested = packers["gzip"](t, nested)
	}
	tests := []struct {
		name  string
		in    []byte
		limit int64
		want  string
	}{
		{"too many bytes", packers["gzip"](t, sample(1<<20)), 1 << 19, "more than 524288 bytes"},
		{"exactly enough", packers["gzip"](t, sample(1<<20)), 1 << 20, ""},
		{"bomb", bomb, 0, "for each byte of the packed one, is more than 1100 bytes"},
		{"layers", nested, 0, "nested compression is more than 3 layers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := readStream(bytes.NewReader(tt.in), tt.limit)
			var large *TooLargeError
			if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &large) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestStreamSourceFails keeps a disk's error apart from damaged data.
func TestStreamSourceFails(t *testing.T) {
	disk := errors.New("input/output error")
	for name, pack := range packedBig {
		packed := pack()
		r := io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(disk))
		if _, _, err := readStream(r, 0); err != disk {
			t.Errorf("%s: error %v, want the source's own", name, err)
		}
	}
}

// TestStreamCloseEndsGoroutine stops reading early, at several places. The bubble fails
// where a goroutine outlives it.
func TestStreamCloseEndsGoroutine(t *testing.T) {
	for name, pack := range packedBig {
		packed := pack()
		synctest.Test(t, func(t *testing.T) {
			for _, n := range []int64{0, 1, 100 << 10, int64(len(big))} {
				s, err := newStream(bytes.NewReader(packed), 0, false)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, s, n); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				s.Close()
				if _, err := io.Copy(io.Discard, s.ahead); err == nil {
					t.Errorf("%s: reading after Close succeeds", name)
				}
			}
		})
	}
}

func TestStreamTrailing(t *testing.T) {
	data := sample(1 << 20)
	gz := packers["gzip"](t, data)
	badSum := bytes.Clone(gz)
	badSum[len(badSum)-6] ^= 1
	for name, tt := range map[string]struct {
		in  []byte
		bad bool
	}{
		"whole":          {gz, false},
		"padded":         {append(bytes.Clone(gz), make([]byte, 512)...), false},
		"text follows":   {append(bytes.Clone(gz), "and more"...), false},
		"wrong checksum": {badSum, true},
		"cut in the sum": {gz[:len(gz)-3], true},
	} {
		s, err := newStream(bytes.NewReader(tt.in), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, s, int64(len(data))-10); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.trailing(); (err != nil) != tt.bad {
			t.Errorf("%s: trailing() = %v, want an error: %v", name, err, tt.bad)
		}
		s.Close()
	}
}

// BenchmarkUnpack: budgets on one core are gzip 400 MB/s, zstd 500 MB/s, xz 80
// MB/s. The data packs a third as well as recordings do, which unpack about twice
// as fast (docs/decisions/compression.md).
func BenchmarkUnpack(b *testing.B) {
	data := sample(16 << 20)
	for name, pack := range packers {
		packed := pack(b, data)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, _, err := readStream(bytes.NewReader(packed), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzStream: whatever is packed wrongly ends in one of our errors, and never
// unpacks to more than the limit.
func FuzzStream(f *testing.F) {
	f.Add([]byte(bzip2Hello))
	for _, pack := range packers {
		packed := pack(f, sample(2000))
		f.Add(packed)
		f.Add(packed[:len(packed)/2])
		f.Add(append(bytes.Clone(packed), packed...))
	}
	f.Add(zipOf(f, zip.Deflate, "a/", "a/b"))
	f.Add(storedZip(sample(100)))
	f.Add(packers["gzip"](f, packers["zstd"](f, packers["xz"](f, sample(100)))))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		got, compression, err := readStream(bytes.NewReader(in), limit)
		var bad *DamagedError
		var large *TooLargeError
		switch {
		case err != nil && !errors.As(err, &bad) && !errors.As(err, &large):
			t.Fatalf("error %v", err)
		case compression != "" && len(got) > limit:
			t.Fatalf("%d bytes out", len(got))
		case compression == "" && err == nil && !bytes.Equal(got, in):
			t.Fatal("plain bytes were changed")
		}
	})
}
