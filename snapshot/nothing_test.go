package snapshot

import (
	"strings"
	"testing"
)

// TestNamedByKeys says of what is no recording which keys it has.
func TestNamedByKeys(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x80\x02}(X\x08\x00\x00\x00segmentsNX\x0d\x00\x00\x00device_tracesNu.", "has the keys of a recording, and neither segments nor events under them"},
		{`{"segments": null, "device_traces": null}`, "has the keys of a recording, and neither segments nor events under them"},
		{"\x80\x02}(K\x00K\x01K\x07K\x01u.", `a dict with the keys "0", "7"`},
		{`{"a": 1}`, `with the keys "a"`},
	} {
		_, err := Read(strings.NewReader(c.in), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.in, err, c.want)
		}
	}
}
