package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/analyze"
)

func TestSidecarHolders(t *testing.T) {
	long := strings.Repeat("é", 300)
	s, err := parseSidecar(strings.NewReader(`{"ullage": 1, "holders": {"complete": true, "notes": ["not\u001b[31m all"], "list": [
 {"device": 1, "path": "a[…]", "where": "local 'a' of f() at a.py:1", "kind": "graph", "places": 2, "saved_by": {"X": 1, "Y": 5}, "addresses": ["0x7f00", "soon", "-3", "0x10000000000000000", "12"]},
 {"device": 0, "path": "` + long + `"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &analyze.Census{Complete: true, Notes: []string{`not\x1b[31m all`}, Keepers: []analyze.Keeper{
		{Path: "a[…]", Where: "local 'a' of f() at a.py:1", Kind: "graph", Places: 2, SavedBy: []string{"Y", "X"}, Addresses: []uint64{0x7f00, 12}},
	}}
	if got := s.joined(analyze.Options{}, 1).Census; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := s.Holders.census(0).Keepers[0].Path; got != strings.Repeat("é", 200)+"…" {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	for _, text := range []string{`{"ullage": 1}`, `{"ullage": 1, "holders": {"problem": "MemoryError: "}}`} {
		s, err := parseSidecar(strings.NewReader(text))
		if err != nil || s.joined(analyze.Options{}, 0).Census != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
