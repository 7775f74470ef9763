// Package snapshot reads recordings of GPU memory, as PyTorch's
// torch.cuda.memory._dump_snapshot writes them, whatever form they have come to be in:
// pickles of every protocol and every layout since torch 2.0, JSON, the web pages of
// torch.cuda._memory_viz, and any of these packed with gzip, zstd, xz, bzip2 or zip. The
// format is described in docs/formats/recording.md.
//
//	file, err := os.Open(name)
//	…
//	defer file.Close()
//	rec, err := snapshot.Read(file, snapshot.Options{Name: name})
//
// [Open] does the same in two steps, for programs that take logs and error messages too:
// it tells what a file is before anything is read of it.
//
// # What a recording holds
//
// A [Recording] has a [Device] for each GPU, and for pinned host memory. A Device has two
// halves, of which either may be missing: the segments and blocks that were there at the
// moment of the dump, and the [Events] before it, the trace. PyTorch keeps the trace in a
// ring: Device.Overflowed tells that its beginning was lost, and RingEntries how many
// events it holds.
//
// A recording has what the program asked for, not what the allocator made of it: the size
// of an event is that of the request. What a block really takes, and what is reserved at
// any moment, follows from a replay; see package allocator.
//
// Streams, frames, stacks and labels are stored once, in tables of the Recording, and are
// named by small integers. StackID 0, StreamID 0 and LabelID 0 are the empty stack, the
// default stream and no text. Two recordings have nothing in common: compare what the ids
// stand for.
//
// # Reading events
//
// A trace can have millions of events, so it is kept as packed columns, about 14 bytes an
// event. Events.At returns one event and is the way to a few of them; a loop over all is
// several times faster with Events.Chunk, which unpacks 16,384 at a time into a [Batch]
// that is used again, and only the columns that Batch.Want names. Options.OnEvents sees
// the events while the file is still being read.
//
// A Recording is immutable once read, and safe for concurrent use.
//
// # Input that nobody vouches for
//
// A pickle is read as data. Nothing in it is ever run: opcodes that would make Python
// import or call something end the reading with a [RefusedError]. Memory grows with what
// was read, not with what a file claims to hold; strings, nesting, nested compression and
// the ratio of unpacking are limited, with a [LimitError] or a [TooLargeError], and
// Options.MaxBytes limits the whole.
//
// A file that breaks off, or is damaged from some byte on, is not an error: what came
// before is returned, and Recording.Truncated says where it ended and why. Device.Cut tells
// of each device whether its events are concerned. What was odd in a file, and what was
// made of it, is in Recording.Warnings; keys that this version does not know are counted
// in Recording.Unknown.
//
// A file that is something else gives a [NotRecordingError] that says what it is, and its
// method Hint what to do instead: people give checkpoints, profiler traces and pictures.
//
// # Many files
//
// A job of many processes writes a file for each. [FindFiles] looks through a folder for
// recordings, and [GroupFiles] sorts them into jobs and moments by their names, with the
// rank of each.
package snapshot
