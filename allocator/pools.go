package allocator

// PoolOptions is how a torch.cuda.MemPool was made.
type PoolOptions struct {
	UseOnOOM        bool // use_on_oom: others may take from it rather than fail
	NoSplit         bool // no_split
	CustomAllocator bool // its memory comes from a given allocator: never expandable
}

// pools is what a Simulator knows of private pools.
type pools struct {
	all    []*privatePool // in order of first mention
	active []use          // use_mem_pool and captures that go on
}

type privatePool struct {
	id       PoolID
	users    int  // graphs and MemPool objects
	retained bool // users was ever counted: a pool that nobody spoke of is in use
	options  PoolOptions
}

type use struct {
	pool    PoolID
	capture bool
}

func (p *pools) get(id PoolID) *privatePool {
	for _, q := range p.all {
		if q.id == id {
			return q
		}
	}
	q := &privatePool{id: id}
	p.all = append(p.all, q)
	return q
}

// capturing tells whether requests may neither wait for streams nor release
// cached memory.
func (p *pools) capturing(b Behavior) bool {
	for _, u := range p.active {
		if u.capture || b.UseMemPoolIsCapture {
			return true
		}
	}
	return false
}

func (p *pools) inMemPool() bool {
	for _, u := range p.active {
		if !u.capture {
			return true
		}
	}
	return false
}

// SetPool tells how a pool was made, before the first request for it.
func (s *Simulator) SetPool(pool PoolID, options PoolOptions) {
	s.pools.get(pool).options = options
	s.a.options[pool] = options
}

// RetainPool tells that one more graph or MemPool object uses a pool.
func (s *Simulator) RetainPool(pool PoolID) {
	p := s.pools.get(pool)
	p.retained = true
	p.users++
}

// ReleasePool tells that a graph or MemPool object that RetainPool told of is gone.
// Without users, a pool's free memory is released with that of the default pool.
func (s *Simulator) ReleasePool(pool PoolID) { s.pools.get(pool).users-- }

// EnterPool tells that a graph capture into a pool, or use_mem_pool, begins.
func (s *Simulator) EnterPool(pool PoolID, capture bool) {
	s.pools.active = append(s.pools.active, use{pool, capture})
}

// LeavePool tells that a capture into a pool, or use_mem_pool, ended: of several, the
// one that began last.
func (s *Simulator) LeavePool(pool PoolID) {
	active := s.pools.active
	for i := len(active) - 1; i >= 0; i-- {
		if active[i].pool == pool {
			s.pools.active = append(active[:i], active[i+1:]...)
			return
		}
	}
}

// fallback takes a block from the first pool that others may take from.
func (s *Simulator) fallback(r request) BlockID {
	for _, p := range s.pools.all {
		if p.options.UseOnOOM {
			if b := s.take(s.a.heapFor(p.id, r.stream, r.size <= smallRequestBytes), r.size); b != None {
				return b
			}
		}
	}
	return None
}
