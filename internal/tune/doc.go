// Package tune replays what a recording holds under other settings of PyTorch's
// caching allocator and other limits, and finds the settings that need the least.
//
//	p, err := tune.Compile(tl, died)              // what the program did, without what the allocator made of it
//	s, err := tune.ParseSetting(allocator.Newest, "expandable_segments:True")
//	t := tune.New([]*tune.Program{p}, tune.Room{LimitBytes: 16 << 30}, tune.Options{})
//	results := t.Try([]tune.Setting{s})           // of given settings
//	found := t.Search()                           // or of those that might help
//
// A Program is the sequence of requests, frees and calls of empty_cache of one device
// of one recording; allocator.Simulator serves it. So the result is what a real run
// of the same program would have taken, as far as the program does not look at its
// memory and act on it. What a recording does not determine is told with each
// result: the addresses of new segments (Spread), and the layout of memory that was
// there before a recording that begins in the middle of a run (Mode).
//
// Several programs are the ranks of one job: a setting is tried on all and judged by
// the one that needs the most.
//
// The package does no I/O and reads no clock. Its searches use goroutines that end
// with the call, and give the same results in any number of them.
package tune
