package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/snapshot"
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

// TestExplainNamesHolders explains a recording of a leak beside which stands what the
// process said: that one list holds everything.
func TestExplainNamesHolders(t *testing.T) {
	dir := t.TempDir()
	packed, err := os.ReadFile(filepath.Join("..", "..", "testdata", "leaks", "leak_hook_cache.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := snapshot.Read(bytes.NewReader(packed), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, b := range rec.Devices[0].Blocks {
		if b.State == snapshot.Allocated {
			addresses = append(addresses, fmt.Sprintf("%#x", b.Addr))
		}
	}
	beside, err := json.Marshal(map[string]any{"ullage": 1, "recording": "a.pickle", "holders": map[string]any{"complete": true, "list": []any{map[string]any{
		"path": "trainer.history[…]", "where": "local 'trainer' of main() at train.py:8", "kind": "python", "places": 40, "addresses": addresses,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"a.pickle": packed, "a.json": beside} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	explain := func(flags ...string) string {
		var o outside
		if code := o.run(t, append(append([]string{"explain"}, flags...), filepath.Join(dir, "a.pickle"))...); code != 0 {
			t.Errorf("exit code %d\n%s", code, &o.stderr)
		}
		return o.stdout.String()
	}
	text := strings.Join(strings.Fields(explain()), " ")
	for _, want := range []string{"What in the program kept the ", "were held by trainer.history[...] x 40 (local 'trainer' of main() at train.py:8), "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := explain("--redact"); strings.Contains(text, "trainer") || !strings.Contains(text, "name 1 x 40") {
		t.Errorf("redacted:\n%s", text)
	}
	var told struct {
		Devices []struct {
			KeptBy struct {
				AllocatedBytes int64 `json:"allocated_bytes"`
				Keepers        []struct {
					Path  string `json:"path"`
					Bytes int64  `json:"bytes"`
				} `json:"keepers"`
				Unnamed []any `json:"unnamed"`
			} `json:"kept_by"`
		} `json:"devices"`
	}
	if err := json.Unmarshal([]byte(explain("--json")), &told); err != nil {
		t.Fatal(err)
	}
	kept := told.Devices[0].KeptBy
	if len(kept.Keepers) != 1 || kept.Keepers[0].Bytes != kept.AllocatedBytes || kept.AllocatedBytes == 0 || len(kept.Unnamed) != 0 {
		t.Errorf("%+v", kept)
	}
}
