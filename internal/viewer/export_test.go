package viewer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// exported is a page taken apart as the page's code does it.
type exported struct {
	index   indexJSON
	answers []byte
	size    int
}

var dataTag = regexp.MustCompile(`<script id="ullage-data" type="text/plain" data-form="1">([A-Za-z0-9+/=]*)</script>`)

func takeApart(t *testing.T, page []byte) exported {
	t.Helper()
	m := dataTag.FindSubmatch(page)
	if m == nil {
		t.Fatalf("no data in %.200q", page)
	}
	data, err := base64.StdEncoding.DecodeString(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte(`<head><meta http-equiv="Content-Security-Policy" content="default-src 'none';`)) {
		t.Errorf("the page may fetch something: %.300q", page)
	}
	n := int(binary.LittleEndian.Uint32(data))
	x := exported{answers: data[4+n:], size: len(page)}
	if err := json.Unmarshal(unpack(t, data[4:4+n]), &x.index); err != nil {
		t.Fatal(err)
	}
	return x
}

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func exportParts(t *testing.T, s *Server, maxBytes int64) exported {
	t.Helper()
	page, err := s.Export(t.Context(), ExportOptions{MaxBytes: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	return takeApart(t, page.Page)
}

// TestExport: a page holds the server's own answers, byte for byte, the whole page around
// them, and of a small recording all of them.
func TestExport(t *testing.T) {
	s := serve(t, small)
	x := exportParts(t, s, 20e6)
	for path, at := range x.index.Answers {
		if got, want := unpack(t, x.answers[at[0]:at[0]+at[1]]), answerTo(t, s, path); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, which are not the %d that the server answers", path, len(got), len(want))
		}
	}
	for _, path := range []string{"session", first(t, s), first(t, s) + "/explain", first(t, s) + "/rule/oom/fragmentation"} {
		if _, ok := x.index.Answers[path]; !ok {
			t.Errorf("%s is not in the page", path)
		}
	}
	for kind, level := range x.index.Tiles[strings.TrimPrefix(first(t, s), "rec/")] {
		if level != 0 && !strings.HasPrefix(kind, "map") && !strings.HasPrefix(kind, "segments") {
			t.Errorf("%s: the finest level is %d", kind, level)
		}
	}
	if len(x.index.LeftOut) > 0 {
		t.Errorf("left out: %q", x.index.LeftOut)
	}
}

// TestExportSizes: a page is never larger than it may be, uses most of that, and says what it
// lacks; every level that the index names is there whole.
func TestExportSizes(t *testing.T) {
	s := serve(t, "recordings/vit.pickle.xz")
	for _, max := range []int64{60e3, 200e3, 1e6} {
		x := exportParts(t, s, max)
		if int64(x.size) > max || int64(x.size) < max/3 {
			t.Errorf("the page has %d bytes and may have %d", x.size, max)
		}
		if len(x.index.LeftOut) == 0 {
			t.Errorf("%d bytes: nothing is left out", max)
		}
		d := s.session.devices()[0]
		level, ok := x.index.Tiles[strings.TrimPrefix(first(t, s), "rec/")]["counters"]
		if !ok {
			continue
		}
		for l := level; l <= d.tiles().MaxLevel; l++ {
			for i := range tileCount(int64(d.Events()), l) {
				path := first(t, s) + "/tile/counters/" + itoa(int64(l)) + "/" + itoa(i)
				if _, ok := x.index.Answers[path]; !ok {
					t.Errorf("%d bytes: %s is not in the page", max, path)
				}
			}
		}
	}
	var small *TooSmallError
	if _, err := s.Export(t.Context(), ExportOptions{MaxBytes: 1000}); !errors.As(err, &small) || small.NeedBytes <= small.MaxBytes {
		t.Errorf("1000 bytes: %v", err)
	}
}

// TestOddRecordings: recordings that lack something, or break off, are shown and exported as
// far as they go.
func TestOddRecordings(t *testing.T) {
	for _, name := range []string{"gpu/state_only.pickle.xz", "gpu/no_stacks.pickle.xz", "gpu/ring_cut.pickle.xz", "gpu/oom_expandable.pickle.xz"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, name)
			for _, d := range s.session.devices() {
				about := fmt.Sprintf("rec/%s/%d", d.ID, d.Dev)
				info := answerJSON[deviceJSON](t, s, about)
				if info.Events > 0 {
					answerTo(t, s, fmt.Sprintf("%s/tile/counters/%d/0", about, info.Tiles.MaxLevel))
				}
				if sum := sumLanes(info.Lanes); sum != info.HeightBytes {
					t.Errorf("lanes of %d bytes on an axis of %d", sum, info.HeightBytes)
				}
			}
			x := exportParts(t, s, 3e6)
			for path, at := range x.index.Answers {
				if !bytes.Equal(unpack(t, x.answers[at[0]:at[0]+at[1]]), answerTo(t, s, path)) {
					t.Errorf("%s differs", path)
				}
			}
		})
	}
}

func sumLanes(lanes []laneJSON) (bytes int64) {
	for _, l := range lanes {
		bytes += l.SizeBytes
	}
	return bytes
}
