package timeline

import "github.com/ullage-dev/ullage/snapshot"

const (
	blockChunk = 1 << 14
	never32    = int32(1<<31 - 1)
)

// blocks is the table of every block of the window, 20 bytes a block. Chunks are
// never copied, so that the table of 10^7 blocks grows without garbage.
type blocks struct {
	chunks  []*blockRows
	n       int
	initial []initialBlock // blocks 0 … len(initial)-1 were live before the first event
}

type blockRows struct {
	alloc, requested, completed [blockChunk]int32 // events; alloc is -1 before the first
	size                        [blockChunk]int64
}

// initialBlock keeps what no event tells of a block that was live before the first one.
type initialBlock struct {
	addr           uint64
	requestedBytes int64
	stack          snapshot.StackID
	stream         snapshot.StreamID
}

func (b *blocks) add(alloc int, sizeBytes int64) int {
	i := b.n
	if i%blockChunk == 0 {
		b.chunks = append(b.chunks, new(blockRows))
	}
	c, k := b.chunks[i/blockChunk], i%blockChunk
	c.alloc[k], c.requested[k], c.completed[k], c.size[k] = int32(alloc), never32, never32, sizeBytes
	b.n++
	return i
}

func (b *blocks) addInitial(v initialBlock, sizeBytes int64) int {
	b.initial = append(b.initial, v)
	return b.add(-1, sizeBytes)
}

func (b *blocks) setRequested(i, event int) {
	b.chunks[i/blockChunk].requested[i%blockChunk] = int32(event)
}

func (b *blocks) setCompleted(i, event int) {
	b.chunks[i/blockChunk].completed[i%blockChunk] = int32(event)
}
func (b *blocks) size(i int) int64 { return b.chunks[i/blockChunk].size[i%blockChunk] }

// Life is the part of a Block that loops over all of them need.
type Life struct {
	Alloc, FreeRequested, FreeCompleted int // events, as in Block
	SizeBytes                           int64
}

// LiveAfter tells whether the block is handed out after event i.
func (l Life) LiveAfter(i int) bool { return l.Alloc <= i && i < l.FreeRequested }

// HeldAfter tells whether the block is handed out or pending after event i.
func (l Life) HeldAfter(i int) bool { return l.Alloc <= i && i < l.FreeCompleted }

// NumBlocks returns how many blocks were live at some moment of the window.
func (t *Timeline) NumBlocks() int { return t.blocks.n }

// Life returns when block i lived, and its size. Blocks are in order of their
// allocation; those that were live before the first event come first.
func (t *Timeline) Life(i int) Life {
	c, k := t.blocks.chunks[i/blockChunk], i%blockChunk
	return Life{Alloc: int(c.alloc[k]), FreeRequested: event(c.requested[k]), FreeCompleted: event(c.completed[k]), SizeBytes: c.size[k]}
}

func event(e int32) int {
	if e == never32 {
		return Never
	}
	return int(e)
}

// Block returns block i.
func (t *Timeline) Block(i int) Block {
	b := Block{Life: t.Life(i)}
	if i < len(t.blocks.initial) {
		v := &t.blocks.initial[i]
		b.Addr, b.RequestedBytes, b.Stack, b.Stream = v.addr, v.requestedBytes, v.stack, v.stream
		return b
	}
	e := t.Dev.Events.At(b.Alloc)
	b.Addr, b.RequestedBytes, b.Stack, b.Stream = e.Addr, e.SizeBytes, e.Stack, e.Stream
	return b
}

// Stack returns the stack that allocated block i.
func (t *Timeline) Stack(i int) snapshot.StackID {
	if i < len(t.blocks.initial) {
		return t.blocks.initial[i].stack
	}
	return t.Dev.Events.StackAt(int(t.blocks.chunks[i/blockChunk].alloc[i%blockChunk]))
}

// BlockOf returns the block that event i allocates or frees, or -1.
func (t *Timeline) BlockOf(i int) int { return int(t.blockOf.At(i)) - 1 }
