package lease

import (
	"cmp"
	"slices"
)

// maxSets bounds the sets of devices that are compared one by one: all 8 of 16, not 16 of 32.
const maxSets = 20_000

// place returns where a request would go now, on devices that allow accepts (nil: all), or nil.
//
// One device: where the least is left (best fit), the first listed of several. Several: the set
// whose slowest pair of links is the fastest, since a ring is as fast as its slowest link; then
// the best links in all; then where the least is left; then the first listed.
func (b *Book) place(r *Request, allow func(*device) bool) []Share {
	var room [16]*device
	fit := room[:0]
	for _, d := range b.devices {
		if d.suits(r) && d.fits(r) && (allow == nil || allow(d)) {
			fit = append(fit, d)
		}
	}
	if len(fit) < r.Devices {
		return nil
	}
	left := func(d *device) int64 { return d.free(r.Queue) - d.share(r) }
	if r.Devices == 1 {
		d := slices.MinFunc(fit, func(x, y *device) int { return cmp.Compare(left(x), left(y)) })
		return []Share{{d.UUID, d.share(r)}}
	}
	c := chooser{n: r.Devices, links: make([][]int, len(fit)), left: make([]int64, len(fit))}
	for i, d := range fit {
		c.left[i] = left(d)
		c.links[i] = make([]int, len(fit))
		for j, e := range fit {
			c.links[i][j] = min(b.links[[2]string{d.UUID, e.UUID}], b.links[[2]string{e.UUID, d.UUID}])
		}
	}
	var shares []Share
	for _, i := range c.choose() {
		shares = append(shares, Share{fit[i].UUID, fit[i].share(r)})
	}
	return shares
}

// chooser finds the best n of several devices.
type chooser struct {
	n     int
	links [][]int
	left  []int64
	best  []int
	score score
}

// score compares sets: a larger one is better.
type score struct {
	slowest, links int
	left           int64 // negated
}

func (s score) compare(o score) int {
	return cmp.Or(cmp.Compare(s.slowest, o.slowest), cmp.Compare(s.links, o.links), cmp.Compare(s.left, o.left))
}

func (c *chooser) rate(set []int) score {
	s := score{slowest: int(^uint(0) >> 1)}
	for i, x := range set {
		s.left -= c.left[x]
		for _, y := range set[:i] {
			s.slowest = min(s.slowest, c.links[x][y])
			s.links += c.links[x][y]
		}
	}
	return s
}

// choose returns the places of the best set, in order.
func (c *chooser) choose() []int {
	if choices(len(c.left), c.n) <= maxSets {
		c.all(make([]int, 0, c.n), 0)
	} else {
		c.swaps()
	}
	slices.Sort(c.best)
	return c.best
}

// all tries every set that begins with set and goes on from place from.
func (c *chooser) all(set []int, from int) {
	if len(set) == c.n {
		c.offer(set)
		return
	}
	for i := from; i <= len(c.left)-(c.n-len(set)); i++ {
		c.all(append(set, i), i+1)
	}
}

func (c *chooser) offer(set []int) bool {
	s := c.rate(set)
	if c.best != nil && s.compare(c.score) <= 0 {
		return false
	}
	c.best, c.score = slices.Clone(set), s
	return true
}

// swaps starts from the first devices and exchanges one for another while that is better. There
// are too many sets to try: this is good, and not always the best.
func (c *chooser) swaps() {
	set := make([]int, c.n)
	for i := range set {
		set[i] = i
	}
	c.offer(set)
	for better := true; better; {
		better = false
		for i := range c.n {
			for x := range c.left {
				set := slices.Clone(c.best)
				if slices.Contains(set, x) {
					continue
				}
				set[i] = x
				better = c.offer(set) || better
			}
		}
	}
}

// choices is n over k, or more than maxSets.
func choices(n, k int) int {
	c := 1
	for i := 1; i <= min(k, n-k); i++ {
		if c = c * (n - i + 1) / i; c > maxSets {
			return c
		}
	}
	return c
}
