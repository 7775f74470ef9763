package snapshot

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

// A recording in a zip archive, as people attach them to reports, is read like
// other compressed data: as a stream, so from the archive's front. archive/zip
// needs the directory at the end of the file, which standard input does not have.

const (
	zipLocal      = "PK\x03\x04"
	zipDescriptor = "PK\x07\x08"
	zipHeaderLen  = 30

	zipStored   = 0
	zipDeflated = 8

	zipEncrypted = 1 << 0 // flags
	zipSizeLater = 1 << 3 // sizes and checksum follow the data
)

// isZip leaves alone the archives that are a format of their own: checkpoints and
// models of torch, arrays of NumPy, documents, Java.
func isZip(head []byte) bool {
	name, ok := zipFirstName(head)
	if !ok || strings.HasSuffix(name, ".npy") || isTorchZip(name) {
		return false
	}
	for _, p := range []string{"[Content_Types].xml", "_rels/", "META-INF/", "mimetype"} {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return true
}

// zipFirstName returns the name of the first file in a zip archive.
func zipFirstName(head []byte) (string, bool) {
	if len(head) < zipHeaderLen || string(head[:4]) != zipLocal {
		return "", false
	}
	n := int(binary.LittleEndian.Uint16(head[26:]))
	return string(head[zipHeaderLen:min(zipHeaderLen+n, len(head))]), true
}

// isTorchZip tells whether a file of that name comes first in what torch.save or
// torch.jit.save writes.
func isTorchZip(name string) bool {
	switch base := name[strings.LastIndexByte(name, '/')+1:]; base {
	case "data.pkl", "constants.pkl", "byteorder", "version", ".format_version", ".storage_alignment":
		return true
	}
	return strings.Contains(name, "/code/") || strings.Contains(name, "/extra/")
}

// zipReader reads the first file of an archive.
type zipReader struct {
	r     *bufio.Reader
	data  io.Reader
	sum   hash.Hash32
	want  uint32 // checksum, unless it follows the data
	later bool

	whole  bool // the file was read to its end
	others int  // further files in the archive, once whole
}

var errZipChecksum = errors.New("the checksum of the file within differs")

func openZip(r *bufio.Reader) (io.Reader, func(), error) {
	z := &zipReader{r: r, sum: crc32.NewIEEE()}
	for {
		folder, err := z.header()
		if err != nil {
			return nil, nil, err
		}
		if !folder {
			return z, nil, nil
		}
	}
}

// header reads the header of the next file; a folder has nothing else.
func (z *zipReader) header() (folder bool, err error) {
	var h [zipHeaderLen]byte
	if _, err := io.ReadFull(z.r, h[:]); err != nil {
		return false, earlyEnd(err)
	}
	if string(h[:4]) != zipLocal {
		return false, errors.New("there is no file in the archive")
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(h[6:]), le.Uint16(h[8:])
	packed, nameLen, extraLen := int64(le.Uint32(h[18:])), int(le.Uint16(h[26:])), int(le.Uint16(h[28:]))
	name := make([]byte, nameLen+extraLen)
	if _, err := io.ReadFull(z.r, name); err != nil {
		return false, earlyEnd(err)
	}
	if nameLen > 0 && name[nameLen-1] == '/' && packed == 0 {
		return true, nil
	}
	z.want, z.later = le.Uint32(h[14:]), flags&zipSizeLater != 0
	switch {
	case flags&zipEncrypted != 0:
		return false, errors.New("the file within is encrypted")
	case method == zipDeflated:
		z.data = flate.NewReader(z.r)
	case method == zipStored && !z.later:
		z.data = io.LimitReader(z.r, zipSize(packed, name[nameLen:]))
	default:
		return false, fmt.Errorf("the file within is packed by method %d, which is not supported", method)
	}
	return false, nil
}

// zipSize returns the packed size, which archives beyond 4 GiB keep in an extra
// field: its second number, after the unpacked size.
func zipSize(size int64, extra []byte) int64 {
	if size != 0xffffffff {
		return size
	}
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if len(extra) < 4+n {
			break
		}
		if id == 1 && n >= 16 {
			return int64(binary.LittleEndian.Uint64(extra[12:]) & (1<<63 - 1))
		}
		extra = extra[4+n:]
	}
	return size
}

func (z *zipReader) Read(p []byte) (int, error) {
	if z.whole {
		return 0, io.EOF
	}
	n, err := z.data.Read(p)
	z.sum.Write(p[:n])
	if l, ok := z.data.(*io.LimitedReader); ok && err == io.EOF && l.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err == io.EOF {
		err = z.check()
	}
	return n, err
}

// check compares the checksum and returns io.EOF where it is right.
func (z *zipReader) check() error {
	if z.later {
		d, _ := z.r.Peek(8)
		if len(d) == 8 && string(d[:4]) == zipDescriptor {
			d = d[4:]
		}
		if len(d) < 4 {
			return io.ErrUnexpectedEOF
		}
		z.want = binary.LittleEndian.Uint32(d)
	}
	if z.want != z.sum.Sum32() {
		return errZipChecksum
	}
	z.whole, z.others = true, zipOthers(z.r)
	return io.EOF
}

// passedOver says which files of the archive are not read; or nothing.
func (z *zipReader) passedOver() string {
	if z.others <= 0 {
		return ""
	}
	return fmt.Sprintf("the zip archive holds %s beside the first, which alone is read: unpack it to have all of them", plural(z.others, "file"))
}

const (
	zipEnd       = "PK\x05\x06"
	zipEndLen    = 22
	zipEntry     = "PK\x01\x02"
	zipEntryLen  = 46
	zipTailBytes = 1 << 20 // the directory of some ten thousand files, and the longest comment
)

// zipOthers counts the files after the first by the directory, which an archive has
// at its end. It unpacks nothing: the rest of an archive may be anything.
func zipOthers(r io.Reader) int {
	tail := lastBytes(r, zipTailBytes)
	at := bytes.LastIndex(tail, []byte(zipEnd))
	if at < 0 || len(tail)-at < zipEndLen {
		return 0 // it breaks off, or is damaged there
	}
	le := binary.LittleEndian
	entries, size := int(le.Uint16(tail[at+10:])), int64(le.Uint32(tail[at+12:]))
	if size > int64(at) {
		return entries - 1
	}
	return zipFiles(tail[int64(at)-size:at]) - 1
}

// zipFiles counts the files in a directory: no folders, and not what macOS and Windows
// put beside a file for themselves.
func zipFiles(dir []byte) int {
	n := 0
	for len(dir) >= zipEntryLen && string(dir[:4]) == zipEntry {
		le := binary.LittleEndian
		nameLen := int(le.Uint16(dir[28:]))
		next := zipEntryLen + nameLen + int(le.Uint16(dir[30:])) + int(le.Uint16(dir[32:]))
		if next > len(dir) {
			break
		}
		name := string(dir[zipEntryLen : zipEntryLen+nameLen])
		base := name[strings.LastIndexByte(name, '/')+1:]
		if base != "" && base != ".DS_Store" && base != "Thumbs.db" && !strings.HasPrefix(name, "__MACOSX/") {
			n++
		}
		dir = dir[next:]
	}
	return n
}

// lastBytes reads r to its end and returns the last n bytes of it, or somewhat more.
func lastBytes(r io.Reader, n int) []byte {
	buf := make([]byte, 0, 64<<10)
	for {
		if len(buf) >= 2*n {
			buf = append(buf[:0], buf[len(buf)-n:]...)
		}
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		k, err := r.Read(buf[len(buf):min(cap(buf), 2*n)])
		buf = buf[:len(buf)+k]
		if err != nil {
			return buf
		}
	}
}
