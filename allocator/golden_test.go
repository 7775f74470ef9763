package allocator

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// golden is a program and what is reserved after its steps. Sizes are in MiB. A
// step "+8" allocates, "+8*16" sixteen times, "-0" frees the block of the first
// request, "-" frees all, "?" compares reserved memory with the next of want, and
// "!70" is a request that must fail.
type golden struct {
	name    string
	cfg     Config
	freeMiB int64 // of the device; 0 is plenty
	program string
	want    []int64
	stats   Stats // only the call counts, where any is set
}

// Sources: the rows marked P were published by PyTorch's authors or users, with
// the reserved memory that they measured: pytorch/devlogs 2026-06-01 on the caching
// allocator, pytorch#123548 and #193400.
var goldens = []golden{
	{name: "native small then large (P)", program: "+16*8 ? - +32*4 ?", want: []int64{128, 256}},
	{name: "native large then small (P)", program: "+32*4 ? - +16*8 ?", want: []int64{128, 128}},
	{
		name: "expandable grows by pages (P)", cfg: Config{Expandable: true},
		program: strings.Repeat("+8*2 ? ", 8) + "- +32*4 ?",
		want:    []int64{20, 40, 60, 80, 80, 100, 120, 140, 140},
	},
	{name: "expandable has two pools (P)", cfg: Config{Expandable: true}, program: "+2 +0.5 ?", want: []int64{22}},
	{
		name: "expandable grows past a hole", cfg: Config{Expandable: true},
		program: "+16*4 ? -0 -2 +32 ? - +32 ?", want: []int64{80, 100, 100},
	},
	{name: "small segments", program: "+0.0001 +1 +1 ?", want: []int64{4}},
	{
		name: "a tail too small to split", program: "+9.5 +9.6 ?", want: []int64{20},
		stats: Stats{DeviceAllocs: 1},
	},
	{
		name: "max split size", cfg: Config{MaxSplitBytes: 100 * mib},
		program: "+300 ? - +290 ? - +280 ? +50 ?", want: []int64{300, 300, 580, 630},
	},
	{name: "native cannot join segments", freeMiB: 120, program: "+80 -0 +30*2 -1 !70"},
	{
		name: "expandable can", cfg: Config{Expandable: true}, freeMiB: 120,
		program: "+80 -0 +30*2 -1 +70 ?", want: []int64{120}, stats: Stats{DeviceFrees: 2},
	},
	{
		name: "native releases and retries", freeMiB: 100, program: "+20*4 -1 -2 +55 ?", want: []int64{96},
		stats: Stats{DeviceAllocs: 5, DeviceFrees: 2},
	},
	{
		name: "expandable releases what it must", cfg: Config{Expandable: true}, freeMiB: 100,
		program: "+20*4 -1 -2 +55 ?", want: []int64{100},
	},
	{
		name: "expandable with max split never stops growing (P)", cfg: Config{Expandable: true, MaxSplitBytes: 128 * mib},
		program: "+64 " + strings.Repeat("+91 +45.5 +2 -~2 -~1 ? ", 101),
		want:    everyTwentieth(220, 2980, 5760, 8520, 11300, 14060),
	},
}

// everyTwentieth fills the results between with -1, which is not compared.
func everyTwentieth(at ...int64) []int64 {
	out := make([]int64, 101)
	for i := range out {
		out[i] = -1
	}
	for i, v := range at {
		out[20*i] = v
	}
	return out
}

func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			for _, order := range []AddressOrder{LikeDriver, Ascending, Descending, Shuffled} {
				s := NewSimulator(g.cfg, NewDevice(64<<30, max(g.freeMiB, 0)*mib+plenty(g.freeMiB), order, 1))
				got := runProgram(t, s, g.program)
				compareGolden(t, got, g.want)
				if st := s.Stats(); g.stats.DeviceAllocs > 0 && st.DeviceAllocs != g.stats.DeviceAllocs || g.stats.DeviceFrees > 0 && st.DeviceFrees != g.stats.DeviceFrees {
					t.Errorf("driver calls %d and %d, want %d and %d", st.DeviceAllocs, st.DeviceFrees, g.stats.DeviceAllocs, g.stats.DeviceFrees)
				}
				check(t, s.a)
			}
		})
	}
}

func plenty(freeMiB int64) int64 {
	if freeMiB > 0 {
		return 0
	}
	return 64 << 30
}

func compareGolden(t *testing.T, got, want []int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("reserved %v MiB, want %v", got, want)
	}
	for i := range got {
		if want[i] >= 0 && got[i] != want[i] {
			t.Fatalf("reserved %v MiB, want %v", got, want)
		}
	}
}

func runProgram(t *testing.T, s *Simulator, program string) (reserved []int64) {
	t.Helper()
	var blocks []BlockID
	for _, step := range strings.Fields(program) {
		switch step[0] {
		case '+':
			blocks = append(blocks, requestAll(t, s, step[1:])...)
		case '-':
			freeStep(t, s, blocks, step[1:])
		case '?':
			reserved = append(reserved, s.Stats().Reserved/mib)
		case '!':
			var oom *OOMError
			if _, err := s.Malloc(sizeOf(t, step[1:]), 0, PoolID{}); !errors.As(err, &oom) {
				t.Fatalf("%s: %v, want out of memory", step, err)
			}
		}
	}
	return reserved
}

func requestAll(t *testing.T, s *Simulator, what string) (blocks []BlockID) {
	t.Helper()
	size, times, _ := strings.Cut(what, "*")
	n := 1
	if times != "" {
		n, _ = strconv.Atoi(times)
	}
	for range n {
		b, err := s.Malloc(sizeOf(t, size), 0, PoolID{})
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func sizeOf(t *testing.T, s string) int64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(f * mib)
}

// freeStep frees all live blocks, or block n, or with "~n" the n-th from the end.
func freeStep(t *testing.T, s *Simulator, blocks []BlockID, which string) {
	t.Helper()
	from, to := 0, len(blocks)
	if which != "" {
		n, _ := strconv.Atoi(strings.TrimPrefix(which, "~"))
		if which[0] == '~' {
			n = len(blocks) - 1 - n
		}
		from, to = n, n+1
	}
	for i := from; i < to; i++ {
		if blocks[i] == None {
			continue
		}
		if err := s.Free(blocks[i]); err != nil {
			t.Fatal(err)
		}
		blocks[i] = None
	}
}
