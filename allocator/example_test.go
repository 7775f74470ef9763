package allocator_test

import (
	"fmt"

	"github.com/ullage-dev/ullage/allocator"
)

const mib = 1 << 20

func ExampleConfig_Round() {
	var c allocator.Config
	fmt.Println(c.Round(1), c.Round(513), c.Round(10*mib-1))
	c.RoundupDivisions[8] = 2 // from 256 MiB to below 512 MiB
	fmt.Println(c.Round(300*mib) / mib)
	// Output:
	// 512 1024 10485760
	// 384
}

// Follow what a recording shows: the driver's addresses come from it, the block
// sizes from the simulation.
func ExampleAllocator_AllocAt() {
	a := allocator.New(allocator.Config{})
	pool := allocator.PoolID{}
	_ = a.SegmentAlloc(0x7f0000000000, 20*mib, 0, pool)
	first, chosen, err := a.AllocAt(0x7f0000000000, 9*mib, 0, pool)
	fmt.Println(a.Size(first)/mib, chosen, err)

	// 10.2 MiB leave 0.8 MiB behind, which is too little to be split off.
	second, chosen, err := a.AllocAt(0x7f0000900000, 10*mib+200<<10, 0, pool)
	fmt.Println(a.Size(second)/mib, chosen, err)

	_ = a.FreeRequested(first)
	_, allocated, active, reserved := a.Totals()
	fmt.Println(allocated/mib, active/mib, reserved/mib)
	// Output:
	// 9 true <nil>
	// 11 true <nil>
	// 11 20 20
}

// Ask what a program would have reserved under other settings.
func ExampleSimulator() {
	for _, conf := range []string{"", "expandable_segments:True"} {
		settings, err := allocator.ParseConfig(allocator.Newest, conf)
		if err != nil {
			fmt.Println(err)
			return
		}
		const total = 16 << 30
		s := allocator.NewSimulator(settings.ForDevice(total), allocator.NewDevice(total, total, allocator.LikeDriver, 0))
		for size := int64(10 * mib); size <= 100*mib; size += 10 * mib {
			b, err := s.Malloc(size, 0, allocator.PoolID{})
			if err != nil {
				fmt.Println(err)
				return
			}
			_ = s.Free(b)
		}
		fmt.Printf("%q: %d MiB reserved\n", conf, s.Stats().PeakReserved/mib)
	}
	// Output:
	// "": 550 MiB reserved
	// "expandable_segments:True": 100 MiB reserved
}

// A configuration that PyTorch refuses comes with its reason.
func ExampleParseConfig() {
	_, err := allocator.ParseConfig(allocator.Version{Major: 2, Minor: 8}, "max_split_size_mb:20")
	fmt.Println(err)
	// Output:
	// PyTorch 2.8 refuses this configuration: RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20
}
