package snapshot

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixture reads testdata/name.xz, unpacked, so that every form is seen plain.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".xz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, _, err := readStream(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readBytes(t testing.TB, data []byte) *Recording {
	t.Helper()
	rec, err := Read(bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// describe writes everything that a Recording says of the run, so that two forms
// of one recording have the same text. Ids are resolved: their numbers follow the
// order of the file.
func describe(rec *Recording) string {
	var b strings.Builder
	for _, d := range rec.Devices {
		fmt.Fprintf(&b, "device kind=%d index=%d ring=%d overflowed=%v pools=%v times=%v\n", d.Kind, d.Index, d.RingEntries, d.Overflowed, d.Events.HasPools, d.Events.HasTimes)
		for _, s := range d.Segments {
			fmt.Fprintf(&b, "  segment %#x size=%d allocated=%d active=%d requested=%d stream=%#x pool=%v kind=%d expandable=%v %s\n",
				s.Addr, s.SizeBytes, s.AllocatedBytes, s.ActiveBytes, s.RequestedBytes, rec.Streams[s.Stream], [2]uint64(s.Pool), s.Kind, s.Expandable, stackText(rec, s.Stack))
			for _, bl := range d.Blocks[s.FirstBlock : s.FirstBlock+s.NumBlocks] {
				fmt.Fprintf(&b, "    block %#x size=%d requested=%d state=%d %s\n", bl.Addr, bl.SizeBytes, bl.RequestedBytes, bl.State, stackText(rec, bl.Stack))
			}
		}
		for i := range d.Events.Len() {
			e := d.Events.At(i)
			fmt.Fprintf(&b, "  event %d %#x size=%d stream=%#x t=%d pool=%v compile=%q metadata=%q %s\n",
				e.Action, e.Addr, e.SizeBytes, rec.Streams[e.Stream], e.TimeUS, [2]uint64(d.Events.Pools[e.Pool]), rec.Labels[e.Compile], rec.Labels[e.Metadata], stackText(rec, e.Stack))
		}
	}
	if s := rec.Settings; s != nil {
		fmt.Fprintf(&b, "settings conf=%q split=%d gc=%g expandable=%v roundup=%v %v %v %v %d", s.Conf, s.MaxSplitBytes, s.GCThreshold, s.ExpandableSegments,
			s.RoundupDivisions, s.GraphReuse, s.ReleaseLock, s.PinnedUseRegister, s.PinnedThreads)
		for _, k := range slices.Sorted(maps.Keys(s.Other)) {
			fmt.Fprintf(&b, " %s=%q", k, s.Other[k])
		}
		b.WriteByte('\n')
	}
	for _, a := range rec.Annotations {
		fmt.Fprintf(&b, "annotation %+v\n", a)
	}
	unknown := slices.Clone(rec.Unknown)
	slices.SortFunc(unknown, func(a, b Unknown) int { return strings.Compare(a.Where+a.Name, b.Where+b.Name) })
	for _, u := range unknown {
		fmt.Fprintf(&b, "unknown %s %q %d\n", u.Where, u.Name, u.Count)
	}
	for _, w := range rec.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

func stackText(rec *Recording, id StackID) string {
	var b strings.Builder
	for _, f := range rec.Stacks.Frames(id) {
		fr := rec.Frames[f]
		fmt.Fprintf(&b, "<%s:%d %s %s>", filepath.Base(fr.Filename), fr.Line, fr.Name, fr.Fx)
	}
	return b.String()
}

// TestFormsAgree reads one recording in every form: they say the same.
func TestFormsAgree(t *testing.T) {
	want := describe(readBytes(t, fixture(t, "leak_eval_outputs.pickle")))
	want213 := describe(readBytes(t, fixture(t, "torch-2.13.pickle")))
	wantBare := describe(readBytes(t, fixture(t, "segments.pickle")))
	tests := []struct{ name, form, want string }{
		{"protocol-2.pickle", "pickle protocol 2", want},
		{"protocol-3.pickle", "pickle protocol 3", want},
		{"protocol-4.pickle", "pickle protocol 4", want},
		{"protocol-5.pickle", "pickle protocol 5", want},
		{"cpp.pickle", "pickle protocol 2", want},
		{"dump.json", "JSON", want},
		{"dump-hex.json", "JSON", want},
		{"dump-2.13.json", "JSON", want213},
		{"segments.json", "JSON", wantBare},
		{"trace_plot.html", "HTML (trace_plot)", want},
		{"segment_plot.html", "HTML (segment_plot)", want},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := readBytes(t, fixture(t, tt.name))
			if rec.Source.Form != tt.form || rec.Truncated != nil {
				t.Errorf("form %q, truncated %v", rec.Source.Form, rec.Truncated)
			}
			if diff := cmp.Diff(strings.Split(tt.want, "\n"), strings.Split(describe(rec), "\n")); diff != "" {
				t.Errorf("differs from the pickle (-pickle +this):\n%.3000s", diff)
			}
		})
	}
}

// TestLayouts pins what is made of each torch version's layout.
func TestLayouts(t *testing.T) {
	names := []string{"torch-2.0.pickle", "torch-2.1.pickle", "torch-2.2.pickle", "torch-2.4.pickle", "torch-2.5.pickle", "torch-2.13.pickle", "segments.pickle", "profile_plot.html"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			got := summary(readBytes(t, fixture(t, name)))
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("differs from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// summary is describe with only the first and last lines of each kind, and their number.
func summary(rec *Recording) string {
	var b strings.Builder
	fmt.Fprintf(&b, "form %s\n", rec.Source.Form)
	lines := strings.Split(strings.TrimSuffix(describe(rec), "\n"), "\n")
	kind := func(s string) string { return strings.Fields(s)[0] }
	total := map[string]int{}
	for _, l := range lines {
		total[kind(l)]++
	}
	seen := map[string]int{}
	for _, l := range lines {
		k := kind(l)
		seen[k]++
		if n := seen[k]; n <= 3 || n > total[k]-3 {
			fmt.Fprintln(&b, l)
		} else if n == 4 {
			fmt.Fprintf(&b, "  … %d of %s …\n", total[k]-6, k)
		}
	}
	return b.String()
}

// TestFormsBreakOff cuts every form at a hundred places: something is
// read, and it says where it broke off; or so little is left that it is refused.
func TestFormsBreakOff(t *testing.T) {
	for _, name := range []string{"protocol-4.pickle", "protocol-2.pickle", "cpp.pickle", "dump.json", "torch-2.13.pickle", "trace_plot.html", "segments.json"} {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, name)
			whole := readBytes(t, data)
			last := -1
			for i := 1; i < 100; i++ {
				cut := len(data) * i / 100
				rec, err := Read(bytes.NewReader(data[:cut]), Options{Name: name})
				if err != nil {
					if i > 10 {
						t.Errorf("cut at %d of %d: %v", cut, len(data), err)
					}
					continue
				}
				if rec.Truncated == nil {
					t.Errorf("cut at %d of %d: not marked", cut, len(data))
				}
				n := size(rec)
				if n < last || n > size(whole) {
					t.Errorf("cut at %d: %d segments and events, after %d at an earlier cut; the whole has %d", cut, n, last, size(whole))
				}
				last = n
			}
			if last < size(whole)/2 {
				t.Errorf("of %d segments and events %d are left just before the end", size(whole), last)
			}
		})
	}
}

// size counts segments and events.
func size(rec *Recording) int {
	n := 0
	for _, d := range rec.Devices {
		n += len(d.Segments) + d.Events.Len()
	}
	return n
}

// TestCompressedForms reads each form packed, whole and broken off.
func TestCompressedForms(t *testing.T) {
	want := describe(readBytes(t, fixture(t, "leak_eval_outputs.pickle")))
	for _, name := range []string{"protocol-4.pickle", "dump.json", "trace_plot.html"} {
		data := fixture(t, name)
		for codec, pack := range packers {
			packed := pack(t, data)
			rec := readBytes(t, packed)
			if rec.Source.Compression != codec || rec.Source.SizeBytes != int64(len(packed)) || describe(rec) != want {
				t.Errorf("%s, %s: compression %q, %d bytes", name, codec, rec.Source.Compression, rec.Source.SizeBytes)
			}
			rec, err := Read(bytes.NewReader(packed[:len(packed)-20]), Options{})
			var bad *DamagedError
			switch {
			case errors.As(err, &bad): // a small file can be one block, of which nothing came out
			case err != nil:
				t.Errorf("%s, %s, broken off: %v", name, codec, err)
			case rec.Truncated == nil && len(rec.Warnings) == 0:
				t.Errorf("%s, %s, broken off: nothing says so", name, codec)
			}
		}
	}
}

// TestReadRefuses pins what is said of files that are no recordings.
func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"model.pt", torchZipHead, "model.pt: not a recording of GPU memory: this is a PyTorch checkpoint (torch.save)"},
		{"drawing.html", string(fixture(t, "drawing-2.0.html")), "drawing.html: not a recording of GPU memory: this is a drawing made from a recording by torch 2.0"},
		{"page.html", "<html><body>sign in</body></html>", "page.html: not a recording of GPU memory: this is a web page without a recording in it"},
		{"trace.json", kineto, "trace.json: not a recording of GPU memory: this is a trace of the PyTorch profiler"},
		{"conf.json", `{"lr": 0.1}`, `conf.json: not a recording of GPU memory: this is JSON with the keys "lr"`},
		{"dict.pickle", plainPickle, `dict.pickle: not a recording of GPU memory: this is a pickle of a dict with the keys "loss", "lr"`},
		{"train.log", "step 1\n", "train.log: not a recording of GPU memory: this is text"},
		{"", "", "standard input: not a recording of GPU memory: this is an empty file"},
	}
	for _, tt := range tests {
		for _, packed := range []bool{false, true} {
			in := []byte(tt.in)
			if packed {
				in = packers["gzip"](t, in)
			}
			_, err := Read(bytes.NewReader(in), Options{Name: tt.name})
			var not *NotRecordingError
			if !errors.As(err, &not) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// TestOpenText shows how a log is read, packed or not, in whatever encoding.
func TestOpenText(t *testing.T) {
	const log = "step 1\nCUDA out of memory. Tried to allocate 20.00 MiB\n"
	in, err := Open(bytes.NewReader(packers["gzip"](t, utf16Bytes("\ufeff"+log, leOrder))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := io.ReadAll(in.Text())
	if !in.IsText() || err != nil || string(got) != log {
		t.Errorf("text %v, %q, %v", in.IsText(), got, err)
	}
}

// TestUTF16Recordings: PowerShell's ">" re-encodes what a script prints.
func TestUTF16Recordings(t *testing.T) {
	want := describe(readBytes(t, fixture(t, "leak_eval_outputs.pickle")))
	for _, name := range []string{"dump.json", "trace_plot.html"} {
		data := utf16Bytes("\ufeff"+string(fixture(t, name)), leOrder)
		if got := describe(readBytes(t, data)); got != want {
			t.Errorf("%s in UTF-16 differs", name)
		}
	}
}
