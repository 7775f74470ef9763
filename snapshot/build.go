package snapshot

import "github.com/ullage-dev/ullage/internal/value"

// builder turns what a reader decodes into a Recording, bottom up: an event's dict
// becomes a row of columns, a frame's a FrameID, a list of frames a StackID, as
// soon as each is complete. It is the value.Builder of every form of recording.
//
//	b := newBuilder(opt)
//	root, err := decode(input, b) // b.Pool, b.Dict, b.List, …
//	rec, err := b.finish(root)
type builder struct {
	pool value.Pool
}

func newBuilder(opt Options) *builder { return &builder{} }

// Pool is part of value.Builder.
func (b *builder) Pool() *value.Pool { return &b.pool }
