package snapshot

import "testing"

func TestPoolIDString(t *testing.T) {
	for pool, want := range map[PoolID]string{
		{}:           "0.0",
		{0, 4}:       "0.4",
		InferredPool: "inferred",
	} {
		if got := pool.String(); got != want {
			t.Errorf("%d prints as %q, want %q", [2]uint64(pool), got, want)
		}
	}
}
