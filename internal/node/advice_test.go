package node

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLimitOf(t *testing.T) {
	const context = 600 * mib
	const all, half = 8*gib - context, 4*gib - context
	holds := func(reserved int64) claim { return claim{reserved: reserved, high: reserved, outside: context} }
	told := func(c claim, limit int64) claim {
		c.promised = &limit
		return c
	}
	rests := func(c claim) claim {
		c.rests = true
		return c
	}
	stray := claim{outside: context, stray: true}
	for name, tc := range map[string]struct {
		others int64
		claims []claim // of the first it is asked
		wait   bool
		want   int64 // -1: none for now
	}{
		"alone":                              {0, []claim{holds(0)}, true, all},
		"alone, holding some":                {0, []claim{told(holds(5*gib), gib)}, true, all},
		"alone and at rest":                  {0, []claim{rests(holds(gib))}, true, all},
		"beside one that tells nothing":      {3 * gib, []claim{holds(0)}, true, 5*gib - context},
		"two that begin":                     {0, []claim{holds(0), holds(0)}, true, half},
		"two, the other has more than half":  {0, []claim{holds(0), holds(6 * gib)}, true, 2*half - 6*gib},
		"two, the first has more than half":  {0, []claim{holds(6 * gib), holds(0)}, true, 6 * gib},
		"two that have grown unlike":         {0, []claim{holds(gib), holds(3 * gib)}, true, half},
		"the other is at rest":               {0, []claim{holds(0), rests(holds(gib))}, true, 2*half - gib - 256*mib},
		"the other is at rest, with much":    {0, []claim{holds(0), rests(holds(4 * gib))}, true, 2*half - 4*gib},
		"at rest, and the other is not":      {0, []claim{rests(holds(gib)), holds(2 * gib)}, true, gib + 256*mib},
		"at rest, below what it once had":    {0, []claim{rests(claim{reserved: gib, high: 2 * gib, outside: context}), holds(2 * gib)}, true, 2*gib + 256*mib},
		"two at rest":                        {0, []claim{rests(holds(gib)), rests(holds(gib))}, true, half},
		"new, and another was told all":      {0, []claim{holds(0), told(holds(2*gib), all)}, true, -1},
		"new, and can't wait":                {0, []claim{holds(0), told(holds(0), 7*gib-context)}, false, gib - context},
		"new, and the other holds it all":    {0, []claim{holds(0), told(holds(8*gib), 8*gib)}, true, 0},
		"more is used than the share":        {9 * gib, []claim{told(holds(gib), gib)}, true, 0},
		"less than it holds":                 {gib, []claim{told(holds(7*gib), 8*gib)}, true, 7*gib - context},
		"a stray beside it takes little":     {0, []claim{holds(gib), stray}, true, 2*half - strayRoom},
		"a stray may grow a little":          {0, []claim{stray, holds(gib)}, true, strayRoom},
		"a stray alone is none":              {0, []claim{stray}, true, all},
		"a stray of a share that is full":    {0, []claim{stray, holds(7 * gib)}, true, 0},
		"in whole MiB, and never one more":   {1, []claim{holds(0)}, true, all - mib},
		"what others hold stays theirs":      {0, []claim{holds(4 * gib), holds(4 * gib)}, true, all - context - 4*gib},
		"three, of whom one holds its third": {0, []claim{holds(0), holds(2 * gib), rests(holds(100 * mib))}, true, (8*gib - 3*context - 356*mib) / 2 / mib * mib},
	} {
		got := limitOf(8*gib, tc.others, tc.claims, 0, tc.wait)
		switch {
		case got == nil && tc.want != -1:
			t.Errorf("%s: no limit, expected %d MiB", name, tc.want/mib)
		case got != nil && *got != tc.want:
			t.Errorf("%s: %d MiB, expected %d", name, *got/mib, tc.want/mib)
		}
	}
}

// TestLimitsFitTheShare: whatever processes do that keep to what they are told, their limits
// and what is used besides never come to more than the share; and once nothing changes, what
// they are told leaves nothing of it unused.
func TestLimitsFitTheShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Int64Range(0, 200*gib).Draw(t, "share")
		others := rapid.Int64Range(0, share).Draw(t, "others")
		var claims []claim
		left := share - others
		for range rapid.IntRange(1, 100).Draw(t, "turns") {
			if len(claims) == 0 || rapid.IntRange(0, 3).Draw(t, "new") == 0 {
				outside := rapid.Int64Range(0, 2*gib).Draw(t, "outside")
				if outside <= left { // one that finds no room for its context ends at once
					claims = append([]claim{{outside: outside, stray: rapid.IntRange(0, 5).Draw(t, "stray") == 0}}, claims...)
					shrink(claims, share, others)
					left -= outside
				}
			}
			if len(claims) == 0 {
				continue
			}
			me := rapid.IntRange(0, len(claims)-1).Draw(t, "who")
			c := &claims[me]
			if limit := limitOf(share, others, claims, me, rapid.Bool().Draw(t, "wait")); limit != nil {
				c.promised = limit
				c.reserved = rapid.Int64Range(0, *limit).Draw(t, "reserved")
				c.high, c.rests, c.stray = max(c.high, c.reserved), rapid.Bool().Draw(t, "rests"), c.stray && c.reserved == 0
			}
			if sum := others + sumOf(claims); sum > share {
				t.Fatalf("%d bytes of %d, %+v", sum, share, claims)
			}
		}
	})
}

// shrink lets processes report until those that were told before a new one came fit in the
// share with it.
func shrink(claims []claim, share, others int64) {
	for i := range claims {
		if claims[i].promised != nil {
			claims[i].reserved = 0
		}
	}
	for i := range claims {
		if claims[i].promised != nil {
			claims[i].promised = limitOf(share, others, claims, i, false)
		}
	}
}

func sumOf(claims []claim) (sum int64) {
	for i := range claims {
		sum += claims[i].holds() + claims[i].outside
	}
	return sum
}

// TestLimitsAreFair: processes that report in turn have all of the share between them after two
// rounds, but for what rounding takes; those that grow have the same, or hold more already.
func TestLimitsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "processes")
		share := rapid.Int64Range(int64(n)*3*gib, 200*gib).Draw(t, "share")
		claims := make([]claim, n)
		for i := range claims {
			reserved := rapid.Int64Range(0, 2*gib).Draw(t, "reserved")
			claims[i] = claim{reserved: reserved, high: reserved, outside: rapid.Int64Range(0, gib).Draw(t, "outside"), rests: rapid.Bool().Draw(t, "rests")}
		}
		for range 2 {
			for i := range claims {
				if limit := limitOf(share, 0, claims, i, true); limit != nil {
					claims[i].promised = limit
				}
			}
		}
		if sum := sumOf(claims); sum > share || sum < share-int64(n)*(mib+1) {
			t.Fatalf("%d bytes of %d are told, %+v", sum, share, claims)
		}
		var level int64
		for i := range claims {
			if c := &claims[i]; !c.rests {
				level = max(level, *c.promised)
			}
		}
		for i := range claims {
			if c := &claims[i]; !c.rests && *c.promised < level-mib && *c.promised > c.reserved {
				t.Fatalf("process %d is told %d bytes, another %d: %+v", i, *c.promised, level, claims)
			}
		}
	})
}
