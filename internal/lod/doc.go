// Package lod answers what a picture of a recording needs, at every zoom, in
// milliseconds: a query costs what the picture holds, not what the recording does.
//
//	counters   lowest, highest and last value of each bucket of events or of time
//	map        blocks as rectangles of place × event, and a raster of what is too small
//	bands      what groups of blocks hold, as a stack whose top is the peak
//	packed     every block, one upon the other
//	live       the blocks that are allocated at an event, and sums over groups of them
//	seek       the next and the previous event of a block, a group, a kind
//
// Everything is made once from a timeline.Timeline, which stays the place where lives
// and sizes of blocks are kept: the structures here hold numbers of blocks, in the
// order that their question needs, and sums along the way. That is 11 to 13 bytes an event
// for what every recording has, and 4 more for each Grouping.
//
// A Device is immutable and safe for concurrent use. Nothing here does I/O, and no
// goroutine outlives a call. The files named tile_ write answers in the form of
// docs/formats/tile.md, which also says what an event, a place and a level are.
package lod
