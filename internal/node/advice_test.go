package node

import (
	"testing"

	"pgregory.net/rapid"
)

func promised(bytes int64) *int64 { return &bytes }

func TestLimitOf(t *testing.T) {
	const context = 600 * mib
	for name, tc := range map[string]struct {
		others int64
		claims []claim // of the first it is asked
		wait   bool
		want   int64 // -1: none for now
	}{
		"alone":                            {0, []claim{{outside: context}}, true, 8*gib - context},
		"alone, holding some":              {0, []claim{{reserved: 5 * gib, outside: context, promised: promised(gib)}}, true, 8*gib - context},
		"beside one that tells nothing":    {3 * gib, []claim{{outside: context}}, true, 5*gib - context},
		"two that begin":                   {0, []claim{{outside: context}, {outside: context}}, true, 4*gib - context},
		"two, the other has most":          {0, []claim{{outside: context}, {reserved: 6 * gib, outside: context}}, true, gib - context},
		"new, and another was told all":    {0, []claim{{outside: context}, {reserved: 2 * gib, outside: context, promised: promised(8*gib - context)}}, true, -1},
		"new, and can't wait":              {0, []claim{{outside: context}, {outside: context, promised: promised(7*gib - context)}}, false, gib - context},
		"new, and the other has it all":    {0, []claim{{outside: context}, {reserved: 8 * gib, outside: context, promised: promised(8 * gib)}}, true, 0},
		"more is used than the share":      {9 * gib, []claim{{reserved: gib, outside: context, promised: promised(gib)}}, true, 0},
		"less than it holds":               {gib, []claim{{reserved: 7 * gib, outside: context, promised: promised(8 * gib)}}, true, 7*gib - context},
		"a stray beside it takes no part":  {0, []claim{{reserved: gib, outside: context}, {outside: context, stray: true}}, true, 8*gib - 2*context},
		"a stray may grow a little":        {0, []claim{{outside: context, stray: true}, {reserved: gib, outside: context}}, true, strayRoom},
		"a stray alone is none":            {0, []claim{{outside: context, stray: true}}, true, 8*gib - context},
		"a stray of a share that is full":  {0, []claim{{outside: context, stray: true}, {reserved: 7 * gib, outside: context}}, true, 0},
		"in whole MiB, and never one more": {1, []claim{{outside: context}}, true, 8*gib - context - mib},
		"what others hold stays theirs":    {0, []claim{{reserved: 4 * gib, outside: gib}, {reserved: 4 * gib, outside: gib}}, true, 2 * gib},
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
					claims = append([]claim{{outside: outside}}, claims...)
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

// TestLimitsLeaveNothing: processes that report in turn have all of the share between them
// after two rounds, but for what rounding takes.
func TestLimitsLeaveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "processes")
		share := rapid.Int64Range(int64(n)*3*gib, 200*gib).Draw(t, "share")
		claims := make([]claim, n)
		for i := range claims {
			claims[i] = claim{reserved: rapid.Int64Range(0, gib).Draw(t, "reserved"), outside: rapid.Int64Range(0, gib).Draw(t, "outside")}
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
		for i := range claims {
			if claims[i].holds() < claims[i].reserved+(share-sumOfUsed(claims))/int64(n)-mib-int64(n) {
				t.Fatalf("process %d has less than an even part: %+v", i, claims)
			}
		}
	})
}

func sumOfUsed(claims []claim) (sum int64) {
	for i := range claims {
		sum += claims[i].reserved + claims[i].outside
	}
	return sum
}
