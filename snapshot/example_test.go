package snapshot_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// read reads a recording of this repository, which ended out of memory.
func read() *snapshot.Recording {
	file, err := os.Open("../testdata/gpu/oom_checkerboard.pickle.xz")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	rec, err := snapshot.Read(file, snapshot.Options{Name: "oom_checkerboard.pickle.xz"})
	if err != nil {
		panic(err)
	}
	return rec
}

// The state at the dump: how much of what is reserved is not in use.
func ExampleRead() {
	rec := read()
	fmt.Println(rec.Source.Form, rec.Source.Compression)
	for _, dev := range rec.Devices {
		var reserved, allocated int64
		for _, s := range dev.Segments {
			reserved += s.SizeBytes
			allocated += s.AllocatedBytes
		}
		fmt.Printf("GPU %d: %d segments, %d MiB reserved, %d MiB of it allocated\n", dev.Index, len(dev.Segments), reserved>>20, allocated>>20)
	}
	// Output:
	// pickle protocol 4 xz
	// GPU 0: 45 segments, 940 MiB reserved, 492 MiB of it allocated
}

// A loop over all events unpacks the columns that it needs, a chunk at a time.
func ExampleEvents_Chunk() {
	events := read().Devices[0].Events
	batch := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithSize}
	var allocs int
	var largest uint64
	for k := range events.Chunks() {
		events.Chunk(k, &batch)
		for i, action := range batch.Action {
			if snapshot.Action(action) == snapshot.Alloc {
				allocs++
				largest = max(largest, batch.Size[i])
			}
		}
	}
	fmt.Printf("%d allocations, the largest of %d MiB\n", allocs, largest>>20)
	// Output:
	// 217 allocations, the largest of 60 MiB
}

// One event with the code that it came from: the request that failed.
func ExampleStacks_Frames() {
	rec := read()
	events := rec.Devices[0].Events
	for i := range events.Len() {
		e := events.At(i)
		if e.Action != snapshot.OOM {
			continue
		}
		fmt.Printf("event %d: %d MiB could not be had\n", i, e.SizeBytes>>20)
		for _, id := range rec.Stacks.Frames(e.Stack) {
			if f := rec.Frames[id]; strings.HasSuffix(f.Filename, ".py") {
				fmt.Printf("  %s in %s\n", f.Filename[strings.LastIndexByte(f.Filename, '/')+1:], f.Name)
			}
		}
		break
	}
	// Output:
	// event 478: 120 MiB could not be had
	//   workloads.py in step
	//   record.py in one
	//   record.py in <module>
}

// A file that is no recording: the error says what it is, and what to do.
func ExampleNotRecordingError() {
	_, err := snapshot.Read(strings.NewReader("\x89PNG\r\n\x1a\n"), snapshot.Options{Name: "memory.png"})
	fmt.Println(err)
	var not *snapshot.NotRecordingError
	if errors.As(err, &not) {
		fmt.Println("hint:", not.Hint())
	}
	// Output:
	// memory.png: not a recording of GPU memory: this is a PNG picture
	// hint: a picture of the memory viewer cannot be read: give the file that the viewer was given
}

// A program that takes logs too looks before it reads.
func ExampleOpen() {
	in, err := snapshot.Open(strings.NewReader("step 1\nCUDA out of memory.\n"), snapshot.Options{Name: "train.log"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer in.Close()
	if in.IsText() {
		text, err := io.ReadAll(in.Text())
		fmt.Printf("%q %v\n", text, err)
	}
	// Output:
	// "step 1\nCUDA out of memory.\n" <nil>
}

// The files of one job, by their names.
func ExampleGroupFiles() {
	sets := snapshot.GroupFiles([]snapshot.FileInfo{
		{Path: "iteration_10/rank0_memory.pickle"},
		{Path: "iteration_10/rank1_memory.pickle"},
		{Path: "iteration_20/rank0_memory.pickle"},
		{Path: "iteration_20/rank1_memory.pickle"},
	})
	for _, f := range sets[0].Files {
		fmt.Println(f.Rank, f.Path)
	}
	fmt.Println(sets[0].Notes)
	// Output:
	// 0 iteration_20/rank0_memory.pickle
	// 1 iteration_20/rank1_memory.pickle
	// [2 files of the same job at 1 other step are left out]
}
