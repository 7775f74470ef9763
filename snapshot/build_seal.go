package snapshot

// Columns of an event, in the order of Events.columns.
const (
	colAction = iota
	colAddr
	colSize
	colStack
	colTime
	colStream
	colPool
	colCompile
	colMetadata
	eventColumns

	firstSparse = colStream
)

// rows are up to EventsChunk events as plain columns. Columns from firstSparse on are zero
// in most recordings: they are written where they are not, and uneven tells which.
type rows struct {
	trace  *trace
	pools  []PoolID // of the trace, as far as these rows refer to it
	cols   [eventColumns]*[EventsChunk]uint64
	uneven [eventColumns]bool
	n      int
}

// set writes a value of a column that is zero in most recordings.
func (r *rows) set(col int, v uint64) {
	if v != 0 {
		r.cols[col][r.n] = v
		r.uneven[col] = true
	}
}

// clear makes the rows ready to be used again.
func (r *rows) clear() {
	for i := firstSparse; i < eventColumns; i++ {
		if r.uneven[i] {
			clear(r.cols[i][:r.n])
		}
	}
	r.n, r.trace, r.pools, r.uneven = 0, nil, nil, [eventColumns]bool{}
}

// sealer packs rows into the columns of their trace, in a goroutine of its own as soon
// as there is more than one chunk: decoding and packing then take a core each.
type sealer struct {
	hook  func(trace int, b *Batch)
	full  chan *rows
	free  chan *rows
	done  chan struct{}
	made  int
	batch Batch
}

// maxRows buffers of 1.2 MB each are in use at a time.
const maxRows = 4

// get returns empty rows.
func (s *sealer) get() *rows {
	if s.free == nil {
		s.free = make(chan *rows, maxRows)
		s.full = make(chan *rows, maxRows)
	}
	if s.made < maxRows && len(s.free) == 0 {
		s.made++
		r := &rows{}
		for i := range r.cols {
			r.cols[i] = new([EventsChunk]uint64)
		}
		return r
	}
	return <-s.free
}

// put takes rows to be packed.
func (s *sealer) put(r *rows) {
	if s.done == nil && r.n < EventsChunk {
		s.seal(r)
		return
	}
	if s.done == nil {
		s.done = make(chan struct{})
		go func() {
			defer close(s.done)
			for r := range s.full {
				s.seal(r)
			}
		}()
	}
	s.full <- r
}

func (s *sealer) seal(r *rows) {
	e := r.trace.events
	first := e.Len()
	e.appendRows(r)
	if s.hook != nil && r.n > 0 {
		b := &s.batch
		b.First, b.Pools = first, r.pools
		b.Action, b.Addr, b.Size, b.Stream = r.cols[colAction][:r.n], r.cols[colAddr][:r.n], r.cols[colSize][:r.n], r.cols[colStream][:r.n]
		b.Stack, b.Time, b.Pool = r.cols[colStack][:r.n], r.cols[colTime][:r.n], r.cols[colPool][:r.n]
		s.hook(r.trace.index, b)
	}
	r.clear()
	s.free <- r
}

// stop waits until all rows are packed and ends the goroutine.
func (s *sealer) stop() {
	if s.done != nil {
		close(s.full)
		<-s.done
		s.done, s.full = nil, nil
	}
}
