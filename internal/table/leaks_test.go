package table

import "testing"

// TestLeaked: the blocks that are said to have leaked are those that explain counts of the
// sites that grow, and none where nothing does.
func TestLeaked(t *testing.T) {
	for name, leaks := range map[string]bool{
		"leak_eval_outputs-oom": true, "gpu/leak_every_tenth": true, "gpu/leak_from_step_ten": true, "gpu/leak_seen_through_ring": true,
		"gpu/leak_varying_batch": true, "gpu/leak_loss_sum_expandable": true, "gpu/cycles_collected": false, "resnet50": false, "cudagraph": false,
	} {
		tables := tablesOf(t, name)
		a := ask(t, tables, Request{What: Blocks, Query: "state:leaked"})
		blocks, bytes := 0, int64(0)
		for _, g := range tables.in.Leaks.Growing {
			blocks += g.Blocks
			bytes += g.LiveBytes
		}
		if (a.Matching > 0) != leaks || a.Matching != blocks || a.MatchingBytes != bytes {
			t.Errorf("%s: %d blocks of %d bytes leaked, explain counts %d of %d", name, a.Matching, a.MatchingBytes, blocks, bytes)
		}
	}
}
