package node

import (
	"cmp"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
)

// linkScores are how much better one way between two devices is than another, as package lease
// wants it: the order is what counts for the slowest pair of a set, and the sum where sets are
// as slow as each other. A pair that is not told has 0.
var linkScores = map[gpu.LinkKind]int{
	gpu.LinkSys: 1, gpu.LinkNode: 2, gpu.LinkPHB: 3, gpu.LinkPXB: 4, gpu.LinkPIX: 5, gpu.LinkBoard: 6, gpu.LinkNVLink: 10,
}

// scoreOf is what a link is worth. Every NVLink counts: 18 of them are better than 4.
func scoreOf(k *gpu.Link) int {
	if k == nil {
		return 0
	}
	return linkScores[k.Kind] + k.Lanes
}

// linksOf says how close the places of a reading are, by their order; nil where nothing is
// told.
//
// A MIG instance has no access to any peer, be it on the same GPU: what goes from one to
// another goes through the processor's memory. So two of one GPU are as close as two GPUs at
// one host bridge, and those of different GPUs at most that.
func linksOf(r *gpu.Reading, places []place) [][]int {
	return linkMatrix(devicesOf(places), func(a, b *lease.Device) int {
		onA, onB := cmp.Or(a.Parent, a.UUID), cmp.Or(b.Parent, b.UUID)
		throughHost := linkScores[gpu.LinkPHB]
		switch {
		case onA == onB && a.Parent != "" && b.Parent != "":
			return throughHost
		case onA == onB:
			return 0 // a GPU that is split, and an instance of it: never leased together
		case a.Parent != "" || b.Parent != "":
			return min(throughHost, scoreOf(r.Link(onA, onB)))
		}
		return scoreOf(r.Link(onA, onB))
	})
}

// linksBefore are the links that the agent before this one told the book of.
func linksBefore(told []lease.Device, links []lease.Link) [][]int {
	scores := make(map[[2]string]int, len(links))
	for _, k := range links {
		scores[[2]string{k.From, k.To}] = k.Score
	}
	return linkMatrix(told, func(a, b *lease.Device) int { return scores[[2]string{a.UUID, b.UUID}] })
}

// linkMatrix has the score of each pair of devices; it is nil where all are 0.
func linkMatrix(devices []lease.Device, score func(a, b *lease.Device) int) [][]int {
	links := make([][]int, len(devices))
	told := false
	for i := range devices {
		links[i] = make([]int, len(devices))
		for j := range devices {
			if i != j {
				links[i][j] = score(&devices[i], &devices[j])
				told = told || links[i][j] > 0
			}
		}
	}
	if !told {
		return nil
	}
	return links
}
