package lease

import "slices"

// Lease returns a lease that lives, or has ended and is remembered.
func (b *Book) Lease(id ID) (Lease, bool) {
	if l, ok := b.live[id]; ok {
		return *l, true
	}
	for _, l := range slices.Backward(b.past) { // mostly it ended a moment ago
		if l.ID == id {
			return *l, true
		}
	}
	return Lease{}, false
}

// Keyed returns the lease that came of a user's request with a key, if it is remembered.
func (b *Book) Keyed(user, key string) (Lease, bool) {
	id, ok := b.keys[[2]string{user, key}]
	if !ok || key == "" {
		return Lease{}, false
	}
	return b.Lease(id)
}

// Past returns those that have ended and are remembered, in the order of their ends.
func (b *Book) Past() []Lease {
	all := make([]Lease, len(b.past))
	for i, l := range b.past {
		all[i] = *l
	}
	return all
}

// forget drops what has ended too long ago.
func (b *Book) forget() {
	n := 0
	for n < len(b.past) && b.past[n].EndedMS+b.policy.KeepMS < b.nowMS {
		b.unlearn(b.past[n])
		n++
	}
	b.past = slices.Delete(b.past, 0, n)
}

// forgetBeyond drops what a user has too much of among what has ended, the first first: one who
// asks and gives back all day must not fill the memory, nor push out what others have.
func (b *Book) forgetBeyond(user string) {
	for b.policy.KeepEach > 0 && b.pastOf[user] > b.policy.KeepEach {
		i := slices.IndexFunc(b.past, func(l *Lease) bool { return l.User == user })
		b.unlearn(b.past[i])
		b.past = slices.Delete(b.past, i, i+1)
	}
}

// unlearn takes a lease off what is known of those that have ended.
func (b *Book) unlearn(l *Lease) {
	if b.keys[l.key()] == l.ID {
		delete(b.keys, l.key())
	}
	if b.pastOf[l.User]--; b.pastOf[l.User] == 0 {
		delete(b.pastOf, l.User)
	}
}
