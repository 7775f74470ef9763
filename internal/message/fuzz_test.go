package message

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: any text is read to its end, and what is found makes sense.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, w := range wordings {
		f.Add([]byte(w.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rep, err := Parse(bytes.NewReader(text), Options{MaxFindings: 50})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Bytes != int64(len(text)) || rep.Lines > bytes.Count(text, []byte{'\n'})+1 {
			t.Fatalf("%d bytes, %d lines of %d bytes", rep.Bytes, rep.Lines, len(text))
		}
		for _, o := range rep.OOMs {
			checkPlace(t, rep, o.Line, o.LastLine, o.Count)
			for _, s := range []Size{o.Tried, o.Capacity, o.Free, o.ThisProcess, o.Allowed, o.Allocated, o.PrivatePool, o.Unallocated, o.Reserved} {
				checkSize(t, s)
			}
			if o.UserFrame >= len(o.Traceback) {
				t.Fatalf("frame %d of %d", o.UserFrame, len(o.Traceback))
			}
		}
		for _, c := range rep.Clues {
			checkPlace(t, rep, c.Line, c.LastLine, c.Count)
			checkSize(t, c.Size)
			checkSize(t, c.Used)
			if c.User >= len(c.Frames) || len(c.Text) > maxClueText+8 {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func checkPlace(t *testing.T, rep *Report, line, last, count int) {
	t.Helper()
	if line < 1 || line > rep.Lines || last > rep.Lines || count < 1 {
		t.Fatalf("line %d, last %d, count %d of %d lines", line, last, count, rep.Lines)
	}
}

func checkSize(t *testing.T, s Size) {
	t.Helper()
	if s.Known() && (s.Low > s.Bytes || s.Bytes > s.High || s.Low < 0) {
		t.Fatalf("size %+v", s)
	}
}
