// Package allocator simulates PyTorch's CUDA caching allocator: which block it
// hands out for a request, how it splits and joins blocks, and what it keeps.
// It is pure and deterministic: no device, no clock, no I/O.
//
// An Allocator is the state of one device. To follow a recording, tell it what
// the recording shows of the driver, and let it choose the blocks:
//
//	a := allocator.New(allocator.Config{})
//	a.SegmentAlloc(addr, sizeBytes, stream, pool)   // segment_alloc
//	b, chosen, err := a.AllocAt(addr, requestedBytes, stream, pool)
//	a.FreeRequested(a.At(addr))                     // free_requested
//	a.FreeCompleted(a.At(addr))                     // free_completed
//
// AllocAt tells whether the simulation chose the recorded address, and puts the
// block there in either case; Size then says what the recording does not: how
// large the block is. Alloc leaves the choice to the allocator. A recording that
// begins in the middle of a run starts from Load.
//
// # The algorithm
//
// A request is rounded up (Config.Round) and goes to the small pool, up to 1 MiB,
// or the large one. Each pool keeps its free blocks by stream, size and address,
// and the first that is large enough serves the request: the best fit, and of
// equal ones the lowest. What is left is split off if it is worth it: 512 bytes in
// the small pool and with expandable segments, more than 1 MiB in the large pool;
// else the block keeps a tail that nobody asked for. Where nothing fits, memory
// comes from the driver: a native segment (Config.SegmentSize), or pages at the
// end of an expandable one. A freed block joins its free neighbours in the
// segment. So the free lists follow from the segments and the live blocks alone,
// which makes Load possible.
//
// Addresses of segments are all that the algorithm takes from outside: they break
// ties among free blocks of one size.
package allocator
