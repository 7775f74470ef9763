// Package message reads what people have when they have no recording: a log, or
// the bare text of an error.
//
// It finds, in text of any size, of any number of processes mixed:
//
//   - the out-of-memory messages of PyTorch's allocators, in the wording of every
//     release since 1.0 (see [OOM]), with the traceback above them;
//   - messages that mean the same and do not say so: a library that could not
//     allocate, a process that the kernel killed (see [Clue]);
//   - torch.cuda.memory_summary() tables, memory_stats() dictionaries and the
//     output of nvidia-smi (see [Summary], [Stats], [SMI]).
//
// Real logs are dirty, so nothing here compares whole lines. Colours, the prefixes
// of launchers, escapes of JSON and HTML are taken off first; then a message is
// compared without its white space, over several lines of the same process, so that
// it is found however a terminal or a panel wrapped it.
//
// A size such as "12.34 GiB" was rounded when it was printed. A [Size] keeps the
// interval in which the true value lies, and conclusions must hold over all of it.
//
// Parse reads in one pass and in bounded memory: a search for about fifty words
// passes over what is of no interest at more than 500 MB/s, and only the lines
// around a word are looked at. It does no I/O but reading, and keeps nothing running.
package message
