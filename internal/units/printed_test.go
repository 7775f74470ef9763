package units

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// TestPrinted holds the numbers that the viewer's page prints too: web/src/units has a test
// of the same file.
func TestPrinted(t *testing.T) {
	data, err := os.ReadFile("testdata/printed.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string][][2]json.RawMessage
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	ofOne := map[string]func(int64) string{
		"bytes":       FormatBytes,
		"delta":       FormatBytesDelta,
		"count":       FormatCount,
		"duration_us": func(us int64) string { return FormatDuration(time.Duration(us) * time.Microsecond) },
	}
	for kind, rows := range cases {
		for _, row := range rows {
			var want string
			if err := json.Unmarshal(row[1], &want); err != nil {
				t.Fatal(err)
			}
			if got := printed(t, ofOne[kind], row[0]); got != want {
				t.Errorf("%s: %s prints as %q, want %q", kind, row[0], got, want)
			}
		}
	}
}

// printed applies format to one number, or FormatShare to the two of a pair.
func printed(t *testing.T, format func(int64) string, in json.RawMessage) string {
	t.Helper()
	if format == nil {
		var pair [2]int64
		if err := json.Unmarshal(in, &pair); err != nil {
			t.Fatal(err)
		}
		return FormatShare(pair[0], pair[1])
	}
	var n int64
	if err := json.Unmarshal(in, &n); err != nil {
		t.Fatal(err)
	}
	return format(n)
}
