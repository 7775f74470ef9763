package allocator

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// traceEvent is an event of testdata/traces; its README lists the actions.
type traceEvent struct {
	action byte
	addr   uint64
	size   int64
	stream uint32
	pool   PoolID
}

// deviceTrace is what one device did, and its state at the end.
type deviceTrace struct {
	device   string
	events   []traceEvent
	segments []SegmentInfo
}

type trace struct {
	cfg     Config
	peaks   []int64 // requested, allocated, reserved; nil where torch's were not kept
	devices []*deviceTrace
}

func readTrace(tb testing.TB, name string) *trace {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", "traces", name+".txt.xz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r, err := xz.NewReader(bufio.NewReader(f))
	if err != nil {
		tb.Fatal(err)
	}
	t := new(trace)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if err := t.add(strings.Fields(lines.Text())); err != nil {
			tb.Fatalf("%s: %q: %v", name, lines.Text(), err)
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	for _, d := range t.devices {
		d.setPools()
	}
	return t
}

func (t *trace) add(fields []string) error {
	v, err := numbers(fields[1:])
	if err != nil {
		return err
	}
	kind := fields[0][0]
	switch kind {
	case 'C':
		t.cfg = Config{MaxSplitBytes: max(v[0], 0), Expandable: v[1] == 1}
		for i, n := range v[2:] {
			t.cfg.RoundupDivisions[i] = int(n)
		}
		return nil
	case 'P':
		t.peaks = v
		return nil
	case 'D':
		t.devices = append(t.devices, &deviceTrace{device: fields[1]})
		return nil
	}
	d := t.devices[len(t.devices)-1]
	switch kind {
	case 'S':
		d.segments = append(d.segments, SegmentInfo{
			Addr: uint64(v[0]), SizeBytes: v[1], Stream: uint32(v[2]), Small: v[3] == 1, Expandable: v[4] == 1,
			Pool: PoolID{uint64(v[5]), uint64(v[6])},
		})
	case 'B':
		s := &d.segments[len(d.segments)-1]
		s.Blocks = append(s.Blocks, BlockInfo{uint64(v[0]), v[1], v[2], BlockState(v[3])})
	default:
		d.events = append(d.events, traceEvent{action: kind, addr: uint64(v[0]), size: v[1], stream: uint32(v[2])})
	}
	return nil
}

func numbers(fields []string) ([]int64, error) {
	v := make([]int64, len(fields))
	for i, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, err
		}
		v[i] = n
	}
	return v, nil
}

// setPools gives every event the pool of the segment at its address, which the
// dump names where the segment lived on to it; these traces do not name the pools
// of events. A segment that was freed is taken to be of the default pool: the one
// that came to lie at its address later need not be of the same.
func (d *deviceTrace) setPools() {
	alive := slices.Clone(d.segments)
	slices.SortFunc(alive, func(a, b SegmentInfo) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := len(d.events) - 1; i >= 0; i-- {
		e := &d.events[i]
		k := sort.Search(len(alive), func(k int) bool { return alive[k].Addr > e.addr }) - 1
		if k < 0 || e.addr >= alive[k].Addr+uint64(alive[k].SizeBytes) {
			continue
		}
		e.pool = alive[k].Pool
		if e.action == 'g' {
			alive = slices.Delete(alive, k, k+1)
		}
	}
	slices.SortFunc(d.segments, func(a, b SegmentInfo) int { return cmp.Compare(a.Addr, b.Addr) })
}

// replayed counts what a replay met.
type replayed struct {
	allocs, chosen int
	errs           []error // each names its event
	peaks          [3]int64
}

// replay follows events [from, to) of d.
func replay(a *Allocator, events []traceEvent, r *replayed) {
	for i := range events {
		if err := step(a, &events[i], r); err != nil {
			r.errs = append(r.errs, fmt.Errorf("event %d (%c at %#x): %w", i, events[i].action, events[i].addr, err))
		}
		requested, allocated, _, reserved := a.Totals()
		r.peaks[0] = max(r.peaks[0], requested)
		r.peaks[1] = max(r.peaks[1], allocated)
		r.peaks[2] = max(r.peaks[2], reserved)
	}
}

func step(a *Allocator, e *traceEvent, r *replayed) (err error) {
	switch e.action {
	case 'a':
		var chosen bool
		_, chosen, err = a.AllocAt(e.addr, e.size, e.stream, e.pool)
		r.allocs++
		if chosen {
			r.chosen++
		}
	case 'r':
		err = a.FreeRequested(a.At(e.addr))
	case 'c':
		err = a.FreeCompleted(a.At(e.addr))
	case 'g':
		err = a.SegmentAlloc(e.addr, e.size, e.stream, e.pool)
	case 'f':
		err = a.SegmentFree(e.addr)
	case 'm':
		err = a.SegmentMap(e.addr, e.size, e.stream, e.pool)
	case 'u':
		err = a.SegmentUnmap(e.addr, e.size)
	case 'o':
		a.Failed()
	}
	return err
}

func traceNames(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "traces", "*.txt.xz"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no traces in testdata: %v", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".txt.xz")
	}
	return files
}
