package lease

// guard keeps those behind the head of the queue from delaying it.
//
// What is granted behind the head must leave it able to start whenever it could have started
// without. When that is depends on which of the leases of now end, in what order, and nobody knows:
// most have no end, and those with one may be released earlier. So a grant of c bytes on a device
// is allowed only if it is harmless for every subset of the leases there that may remain: if the
// head, who needs h of the device's C bytes, fits beside the subset, it has to fit beside the
// subset and c. The subsets that matter are those that sum up to at most C-h, and of these the
// largest, m, decides: m + c ≤ C-h. It holds for what was granted behind the head before, too, for
// that is among the leases of now; so, by induction, the head starts never later than if nobody
// had been let past. Foreign use may fall by any part, but is not foreseen to rise.
type guard struct {
	book   *Book
	head   *Lease
	worst  map[*device]worst
	reason Reason // of those it holds back; the text is left to detail, for most who hear it do not ask
}

// worst is the m of a device, in MiB, for as long as so many leases are on it.
type worst struct {
	leases int
	mib    int64
}

func newGuard(b *Book, head *Lease) *guard {
	return &guard{book: b, head: head, worst: map[*device]worst{}, reason: Reason{Code: CodeOrder, Lease: head.ID}}
}

// allows tells whether a request may start on a device without any risk to the head.
func (g *guard) allows(d *device, r *Request) bool {
	if !d.suits(&g.head.Request) {
		return true
	}
	need := d.share(r)
	if r.Queue != g.head.Queue && d.granted(r.Queue)+need <= d.reserved(r.Queue) {
		return true // from a reserve that the head cannot have anyway
	}
	limit := d.most(g.head.Queue) - d.share(&g.head.Request)
	if g.head.Exclusive || r.Exclusive || need > limit {
		return false
	}
	return g.most(d, limit/mib)+need/mib <= limit/mib
}

// most returns the largest amount, up to limit, that may remain taken of a device, in MiB.
func (g *guard) most(d *device, limit int64) int64 {
	if w, ok := g.worst[d]; ok && w.leases == len(d.holdings) {
		return w.mib
	}
	m := min(limit, g.subsets(d, limit).highest()+d.foreign/mib)
	g.worst[d] = worst{len(d.holdings), m}
	return m
}

// subsets returns the sums, up to limit, of what leases may remain on a device. Of a queue with a
// reserve the head cannot use, what is taken is the larger of the reserve and of what remains; the
// set then has sums that cannot come about, which errs on the side of the head.
func (g *guard) subsets(d *device, limit int64) sums {
	all := newSums(limit)
	for _, h := range d.holdings {
		if h.Queue == g.head.Queue || d.reserved(h.Queue) == 0 {
			all.or(all, h.Bytes/mib)
		}
	}
	for _, r := range d.Reserves {
		if r.Queue == g.head.Queue || r.Bytes == 0 {
			continue
		}
		kept := newSums(limit)
		kept.clear()
		kept.or(all, r.Bytes/mib)
		for _, h := range d.holdings {
			if h.Queue == r.Queue {
				all.or(all, h.Bytes/mib)
			}
		}
		all.or(kept, 0)
	}
	return all
}

// shares tells whether a request could use up a quota that the head needs.
func (g *guard) shares(r *Request, bytes int64) bool {
	for _, who := range r.parties() {
		if !g.head.answers(who) {
			continue
		}
		q := g.book.policy.quota(who)
		if q.GiBHours > 0 {
			return true
		}
		if q.PeakBytes > 0 && g.book.load[who].bytes+bytes+g.book.greatest(&g.head.Request) > q.PeakBytes {
			return true
		}
	}
	return false
}

// greatest is the most that a request can be charged with, in bytes.
func (b *Book) greatest(r *Request) int64 {
	var most int64
	for _, d := range b.devices {
		if d.suits(r) {
			most = max(most, d.share(r))
		}
	}
	return most * int64(r.Devices)
}
