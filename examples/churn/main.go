// Churn prints the lines that allocate the most GPU memory over time, whether or not they
// keep it: what they cost in calls of the allocator does not show in who holds memory at
// the peak. It is an example of how to read recordings with package snapshot.
//
//	go run ./examples/churn run.pickle
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/ullage-dev/ullage/snapshot"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: churn RECORDING")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "churn:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rec, err := snapshot.Read(f, snapshot.Options{Name: name})
	if err != nil {
		return err
	}
	for _, dev := range rec.Devices {
		printDevice(w, rec, dev)
	}
	return nil
}

// made is what one line has allocated.
type made struct {
	line   string
	bytes  int64 // requested
	blocks int
}

// maxLines is how many lines are printed for a device.
const maxLines = 5

func printDevice(w io.Writer, rec *snapshot.Recording, dev *snapshot.Device) {
	list := churn(rec, dev)
	fmt.Fprintf(w, "device %d\n", dev.Index)
	for _, m := range list[:min(len(list), maxLines)] {
		fmt.Fprintf(w, "%9.1f MiB in %5d blocks  %s\n", float64(m.bytes)/(1<<20), m.blocks, m.line)
	}
}

// churn adds up what each line allocates, the most bytes first. It takes a chunk of
// events at a time: recordings may have tens of millions.
func churn(rec *snapshot.Recording, dev *snapshot.Device) []*made {
	byLine := make(map[string]*made)
	var list []*made
	var b snapshot.Batch
	for k := range dev.Events.Chunks() {
		dev.Events.Chunk(k, &b)
		for i, a := range b.Action {
			if snapshot.Action(a) != snapshot.Alloc {
				continue
			}
			line := innermost(rec, snapshot.StackID(b.Stack[i]))
			m := byLine[line]
			if m == nil {
				m = &made{line: line}
				byLine[line] = m
				list = append(list, m)
			}
			m.bytes += int64(b.Size[i])
			m.blocks++
		}
	}
	slices.SortFunc(list, func(a, b *made) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.line, b.line)) })
	return list
}

// innermost names the innermost Python frame of a stack.
func innermost(rec *snapshot.Recording, id snapshot.StackID) string {
	for _, f := range rec.Stacks.Frames(id) {
		if frame := rec.Frames[f]; path.Ext(frame.Filename) == ".py" {
			return fmt.Sprintf("%s:%d %s", path.Base(frame.Filename), frame.Line, frame.Name)
		}
	}
	return "no Python stack"
}
