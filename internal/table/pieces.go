package table

// pieces is a list that grows without being copied: of the millions of rows of a table nobody
// knows beforehand how many match.
type pieces[T any] struct {
	full [][]T
	end  []T
}

// Lengths of pieces: the first is short, as most lists are.
const (
	leastPiece = 1 << 8
	mostPiece  = 1 << 14
)

func (p *pieces[T]) add(v T) {
	if len(p.end) == cap(p.end) {
		p.grow()
	}
	p.end = append(p.end, v)
}

func (p *pieces[T]) grow() {
	if p.end != nil {
		p.full = append(p.full, p.end)
	}
	p.end = make([]T, 0, min(max(leastPiece, 4*cap(p.end)), mostPiece))
}

// all returns the pieces in order. Lists that are as long have pieces that are as long.
func (p *pieces[T]) all() [][]T { return append(p.full[:len(p.full):len(p.full)], p.end) }

// first returns the first entry, and false where there is none.
func (p *pieces[T]) first() (v T, ok bool) {
	for _, piece := range p.all() {
		if len(piece) > 0 {
			return piece[0], true
		}
	}
	return v, false
}
