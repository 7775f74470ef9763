package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgressCounts: what is counted need not be bytes.
func TestProgressCounts(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := NewProgress(&out, Look{Terminal: true, Width: 100}, func() time.Time { return now }, "simulating", 4_000_000).Counting("calls")
	now = now.Add(time.Second)
	p.Add(1_000_000)
	if got, want := out.String(), "simulating  1,000,000 calls of 4,000,000 calls  25 %  1,000,000 calls/s  3 s left"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if (*Progress)(nil).Counting("calls") != nil {
		t.Error("no progress became some")
	}
}
