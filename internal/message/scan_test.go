package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const shortOOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 10.56 MiB is free. Including non-PyTorch memory, this process has 78.06 GiB memory in use. Of the allocated memory 75.24 GiB is allocated by PyTorch, and 1.30 GiB is reserved by PyTorch but unallocated."

// TestAcrossReads: a message is found wherever the ends of reads and of the window
// fall in it.
func TestAcrossReads(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for shift := range 40 {
		lines := (history+chunk+lookahead)/100 + shift - 20
		text := strings.Repeat(line, lines) + strings.Repeat("y", shift*7%100) + "\n" + shortOOM + "\n" + strings.Repeat(line, 3000) + shortOOM + "\n"
		rep, err := Parse(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.OOMs) != 1 || rep.OOMs[0].Count != 2 || rep.OOMs[0].Line != lines+2 || rep.OOMs[0].LastLine != lines+3003 {
			t.Fatalf("shift %d: %+v", shift, rep.OOMs)
		}
		if rep.Lines != lines+3003 || rep.Bytes != int64(len(text)) {
			t.Fatalf("%d lines and %d bytes, want %d and %d", rep.Lines, rep.Bytes, lines+3003, len(text))
		}
	}
}

// TestSlowReader: the result does not depend on how the text arrives.
func TestSlowReader(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fast, _ := Parse(bytes.NewReader(text), Options{})
		slow, _ := Parse(iotest.OneByteReader(bytes.NewReader(text)), Options{})
		if diff := cmp.Diff(fast, slow); diff != "" {
			t.Errorf("%s, a byte at a time:\n%s", f, diff)
		}
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	rep, err := Parse(io.MultiReader(strings.NewReader(shortOOM+"\n"), iotest.ErrReader(broken)), Options{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), fmt.Sprintf("byte %d", len(shortOOM)+1)) {
		t.Errorf("error %v", err)
	}
	if len(rep.OOMs) != 1 {
		t.Errorf("what was read before the error is lost: %+v", rep)
	}
	if _, err := Parse(idle{}, Options{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives neither bytes nor an error: %v", err)
	}
}

// idle never gives anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestLongLine: of a line without end, the part around a word is read, and the cut
// is told.
func TestLongLine(t *testing.T) {
	filler := strings.Repeat("z ", 1<<20)
	rep, err := Parse(strings.NewReader(filler+shortOOM+filler+shortOOM), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.OOMs) != 1 || rep.OOMs[0].Count != 2 || !rep.OOMs[0].ThisProcess.Known() {
		t.Errorf("found %+v", rep.OOMs)
	}
	if rep.CutLines == 0 {
		t.Error("the cut is not told")
	}
}

// TestMaxFindings: a log of a retry loop can't fill the memory.
func TestMaxFindings(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		b.WriteString(strings.Replace(shortOOM, "20.00", fmt.Sprintf("%d.00", 2*i+2), 1) + "\n")
		fmt.Fprintf(&b, "NCCL WARN Failed to CUDA calloc %d bytes\n", i)
	}
	rep, err := Parse(strings.NewReader(b.String()), Options{MaxFindings: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.OOMs) != 100 || len(rep.Clues) != 100 || rep.Dropped != 800 {
		t.Errorf("%d messages, %d clues kept, %d dropped", len(rep.OOMs), len(rep.Clues), rep.Dropped)
	}
}

// TestInterleaved: the wrapped lines of two processes, mixed, are two messages.
func TestInterleaved(t *testing.T) {
	var b strings.Builder
	other := strings.Replace(shortOOM, "GPU 0", "GPU 1", 1)
	for i := 0; i < len(shortOOM); i += 60 {
		fmt.Fprintf(&b, "[rank0]: %s\n[rank1]: %s\n", shortOOM[i:min(i+60, len(shortOOM))], other[i:min(i+60, len(other))])
	}
	rep, err := Parse(strings.NewReader(b.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.OOMs) != 2 || rep.OOMs[0].GPU != 0 || rep.OOMs[1].GPU != 1 || rep.OOMs[1].Source.Rank != 1 || !rep.OOMs[1].Unallocated.Known() {
		t.Errorf("found %+v", rep.OOMs)
	}
}

func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "\r\n", "no words of interest\n", "\x00\xff\xfe", "Killer\n"} {
		rep, err := Parse(strings.NewReader(text), Options{})
		if err != nil || !rep.Empty() {
			t.Errorf("%q: %+v, %v", text, rep, err)
		}
	}
}

func TestWordSearch(t *testing.T) {
	for _, w := range append(firstWords(), words...) {
		if len(w) < wordLen {
			t.Errorf("%q is shorter than the search's window", w)
		}
		if !slices.Contains(words, w) {
			continue
		}
		for _, text := range []string{w, strings.ToUpper(w), "..." + strings.ToLower(w) + "..."} {
			if at := wordSearch.find([]byte(text)); at != strings.Index(strings.ToLower(text), strings.ToLower(w)) {
				t.Errorf("%q was found at %d in %q", w, at, text)
			}
		}
	}
	if at := wordSearch.find(bytes.Repeat([]byte("loss 0.123 lr 1e-4 mem 12.3 GB "), 1000)); at >= 0 {
		t.Errorf("found at %d where nothing is", at)
	}
}
