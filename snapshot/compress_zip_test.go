package snapshot

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
)

// zipOf packs files into an archive; an odd name is a folder's.
func zipOf(t testing.TB, method uint16, names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if _, err := f.Write(sample(1 << 20)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// storedZip is an archive of one file that is not packed, its size in the header.
func storedZip(data []byte) []byte {
	h := make([]byte, zipHeaderLen)
	copy(h, zipLocal)
	binary.LittleEndian.PutUint32(h[14:], crc32.ChecksumIEEE(data))
	binary.LittleEndian.PutUint32(h[18:], uint32(len(data)))
	binary.LittleEndian.PutUint32(h[22:], uint32(len(data)))
	h[26] = 1
	return append(append(append(h, 'a'), data...), "PK\x01\x02 the directory"...)
}

// zip64Of is storedZip with its size in an extra field, behind another, as archivers that
// write to a pipe have it for any size.
func zip64Of(data []byte) []byte {
	le := binary.LittleEndian
	extra := []byte{'U', 'T', 1, 0, 7, 1, 0, 16, 0}
	extra = le.AppendUint64(extra, uint64(len(data)))
	extra = le.AppendUint64(extra, uint64(len(data)))
	whole := storedZip(data)
	head, rest := bytes.Clone(whole[:zipHeaderLen+1]), whole[zipHeaderLen+1:]
	le.PutUint32(head[18:], 0xffffffff)
	le.PutUint32(head[22:], 0xffffffff)
	le.PutUint16(head[28:], uint16(len(extra)))
	return append(append(head, extra...), rest...)
}

func TestStreamZip(t *testing.T) {
	want := sample(1 << 20)
	deflated := zipOf(t, zip.Deflate, "runs/", "runs/snapshot.pickle", "other.pickle")
	wrong := bytes.Clone(deflated)
	wrong[bytes.Index(wrong, []byte(zipDescriptor))+4] ^= 1
	encrypted := bytes.Clone(storedZip(want))
	encrypted[6] |= zipEncrypted
	tests := []struct {
		name string
		in   []byte
		want []byte
		err  string
	}{
		{"deflated", deflated, want, ""},
		{"stored", storedZip(want), want, ""},
		{"stored, size of 64 bits", zip64Of(want), want, ""},
		{"wrong checksum", wrong, want, "checksum"},
		{"breaks off", deflated[:len(deflated)/4], nil, "breaks off"},
		{"stored, breaks off", storedZip(want)[:1000], want[:1000-zipHeaderLen-1], "breaks off"},
		{"encrypted", encrypted, nil, "encrypted"},
		{"no size", zipOf(t, zip.Store, "a"), nil, "method 0, which is not supported"},
		{"only a folder", zipOf(t, zip.Store, "a/"), nil, "no file in the archive"},
	}
	for _, tt := range tests {
		got, _, err := readStream(bytes.NewReader(tt.in), 0)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		}
		if tt.want != nil && !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %d bytes, want %d", tt.name, len(got), len(tt.want))
		}
	}
	for name, head := range map[string]string{"checkpoint": torchZipHead, "arrays": npzHead, "document": strings.Replace(otherZipHead, "snapshot.pickle", "META-INF/MANIFE", 1)} {
		if _, compression, err := readStream(strings.NewReader(head), 0); compression != "" || err != nil {
			t.Errorf("%s: compression %q, %v", name, compression, err)
		}
	}
}

// TestZipOthers wants every file of an archive that is not read to be counted.
func TestZipOthers(t *testing.T) {
	two := zipOf(t, zip.Deflate, "runs/", "runs/a.pickle", "b.pickle")
	many := []string{"a"}
	for range 20_000 {
		many = append(many, strings.Repeat("folder", 10)+"/")
	}
	for _, tt := range []struct {
		name string
		in   []byte
		want []string
	}{
		{"one file", zipOf(t, zip.Deflate, "a.pickle"), nil},
		{"two in folders", two, []string{"the zip archive holds 1 file beside the first, which alone is read: unpack it to have all of them"}},
		{"three", zipOf(t, zip.Deflate, "a", "b", "c"), []string{"the zip archive holds 2 files beside the first, which alone is read: unpack it to have all of them"}},
		{"what a system adds", zipOf(t, zip.Deflate, "a", "__MACOSX/._a", ".DS_Store"), nil},
		{"a directory beyond what is kept", zipOf(t, zip.Deflate, many...), []string{"the zip archive holds 20000 files beside the first, which alone is read: unpack it to have all of them"}},
		{"no directory", storedZip(sample(1 << 10)), nil},
		{"cut within the second", two[:len(two)*2/3], nil},
		{"zip in gzip", packers["gzip"](t, two), []string{"the zip archive holds 1 file beside the first, which alone is read: unpack it to have all of them"}},
	} {
		s, err := newStream(bytes.NewReader(tt.in), 0, false)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if _, err := io.Copy(io.Discard, s); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		s.Close()
		if got := s.passedOver(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestReadZipOfTwo wants the warning in the recording.
func TestReadZipOfTwo(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"rank0.json", "rank1.json"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, `{"segments": [], "device_traces": [[]]}`)
	}
	w.Close()
	rec, err := Read(&b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Warnings) != 1 || !strings.Contains(rec.Warnings[0], "1 file beside") {
		t.Errorf("warnings %q", rec.Warnings)
	}
}
