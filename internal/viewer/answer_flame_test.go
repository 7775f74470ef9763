package viewer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestFlame: however stacks are drawn, they add up to what is allocated, and no node is
// narrower than what it carries.
func TestFlame(t *testing.T) {
	for _, name := range answered {
		t.Run(name, func(t *testing.T) {
			d, path := device(t, name)
			s := serve(t, name)
			at := d.TL.Peak.Allocated.Event
			for _, how := range []string{"", "invert=1&", "library=0&", "invert=1&library=0&", "min=1048576&"} {
				f := answerJSON[flameJSON](t, s, fmt.Sprintf("%s/flame?%sevent=%d", path, how, at))
				if f.TotalBytes != d.TL.TotalsAt(at).Allocated {
					t.Errorf("%q: %d bytes in all, allocated are %d", how, f.TotalBytes, d.TL.TotalsAt(at).Allocated)
				}
				checkFlame(t, &f, how)
			}
			f := answerJSON[flameJSON](t, s, fmt.Sprintf("%s/flame?from=0&to=%d", path, d.Events()-1))
			checkFlame(t, &f, "range")
			if f.Blocks != d.TL.NumBlocks()-d.TL.NumAllocatedBy(-1) {
				t.Errorf("%d blocks were allocated, the replay has %d", f.Blocks, d.TL.NumBlocks())
			}
		})
	}
}

// own returns what each node holds beside its children, the root last.
func own(f *flameJSON) []int64 {
	own := append(append([]int64{}, f.Nodes.Bytes...), f.TotalBytes)
	for i, parent := range f.Nodes.Parent {
		if parent < 0 {
			parent = len(own) - 1
		}
		own[parent] -= f.Nodes.Bytes[i]
	}
	return own
}

func checkFlame(t *testing.T, f *flameJSON, how string) {
	t.Helper()
	rest := own(f)
	for i, bytes := range rest {
		if bytes < 0 {
			t.Errorf("%q: the children of node %d hold %d bytes more than it", how, i, -bytes)
		}
	}
	if f.LeftOut == 0 && rest[len(rest)-1] != 0 {
		t.Errorf("%q: the roots lack %d bytes", how, rest[len(rest)-1])
	}
	last := map[int]int64{}
	for i, parent := range f.Nodes.Parent {
		if parent >= i {
			t.Fatalf("%q: node %d comes before its parent %d", how, i, parent)
		}
		if before, ok := last[parent]; ok && f.Nodes.Bytes[i] > before {
			t.Errorf("%q: node %d is wider than its elder sibling", how, i)
		}
		last[parent] = f.Nodes.Bytes[i]
	}
}

// TestFlameAsExplain: without library frames, what ends in a line of the user's is what
// explain's holders have for the line, under the same name.
func TestFlameAsExplain(t *testing.T) {
	for _, name := range answered {
		t.Run(name, func(t *testing.T) {
			d, path := device(t, name)
			at := d.TL.Peak.Allocated.Event
			f := answerJSON[flameJSON](t, serve(t, name), fmt.Sprintf("%s/flame?event=%d&library=0", path, at))
			got := map[string]int64{}
			for i := range f.Nodes.Parent {
				if f.Nodes.Kind[i] == analyze.UserFrames || f.Nodes.Kind[i] == "" {
					got[f.Names[f.Nodes.Name[i]]] += f.Nodes.Bytes[i]
				}
				if p := f.Nodes.Parent[i]; p >= 0 && f.Nodes.Kind[i] == analyze.UserFrames {
					got[f.Names[f.Nodes.Name[p]]] -= f.Nodes.Bytes[i]
				}
			}
			want := map[string]int64{}
			for _, g := range d.X.Holders.Groups {
				if g.Rest == 0 {
					want[g.Name] = g.Bytes
				}
			}
			for name, bytes := range want {
				if got[name] != bytes && !isLibraryLine(d, at, name) {
					t.Errorf("%s: %d bytes, explain has %d", name, got[name], bytes)
				}
			}
		})
	}
}

// isLibraryLine tells whether a line that explain charges is no line of the user's: a
// worker of a library, of which only the operator is drawn.
func isLibraryLine(d *Device, event int, name string) bool {
	for _, sum := range d.LOD.FoldLive(event, d.flameGroup) {
		if stack := snapshot.StackID(sum.Group); sum.Group != earlyGroup && d.Sites.Line(stack) == name {
			return d.Sites.At(stack).User < 0
		}
	}
	return false
}

// TestFlameCut: cutting leaves the widths of what stays as they were.
func TestFlameCut(t *testing.T) {
	d, path := device(t, "recordings/bert_varlen-lim16.pickle.xz")
	s := serve(t, "recordings/bert_varlen-lim16.pickle.xz")
	at := d.TL.Peak.Allocated.Event
	whole := answerJSON[flameJSON](t, s, fmt.Sprintf("%s/flame?event=%d", path, at))
	cut := answerJSON[flameJSON](t, s, fmt.Sprintf("%s/flame?event=%d&min=10000000", path, at))
	if len(cut.Nodes.Parent)+cut.LeftOut != len(whole.Nodes.Parent) || cut.LeftOut == 0 {
		t.Errorf("%d nodes and %d left out, of %d", len(cut.Nodes.Parent), cut.LeftOut, len(whole.Nodes.Parent))
	}
	paths := func(f *flameJSON) map[string]int64 {
		out := map[string]int64{}
		names := make([]string, len(f.Nodes.Parent))
		for i, p := range f.Nodes.Parent {
			names[i] = f.Names[f.Nodes.Name[i]]
			if p >= 0 {
				names[i] = names[p] + " > " + names[i]
			}
			if f.Nodes.Bytes[i] >= 10_000_000 {
				out[names[i]] = f.Nodes.Bytes[i]
			}
		}
		return out
	}
	if diff := cmp.Diff(paths(&whole), paths(&cut)); diff != "" {
		t.Errorf("wide nodes (-whole +cut):\n%s", diff)
	}
}
