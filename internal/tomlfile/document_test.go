package tomlfile

import (
	"strings"
	"testing"
)

// TestPlaces: each key leads to its line and column, in every form of TOML.
func TestPlaces(t *testing.T) {
	doc, fault := Read("a.toml", []byte(`top = 1
[a]
b.c = { d = "é", e = [1, "x"] }
"quoted name" = 2
[[row]]
x = 1
[[row]]
y = [
  "p",
  "q",
]
`))
	if fault != nil {
		t.Fatal(fault)
	}
	for path, want := range map[string]string{
		"top": "1:1", "a": "2:2", "a.b": "3:1", "a.b.c": "3:3", "a.b.c.d": "3:9", "a.b.c.e": "3:18", "a.b.c.e[1]": "3:26", "a.quoted name": "4:1",
		"row[0].x": "6:1", "row[1]": "7:3", "row[1].y": "8:1", "row[1].y[1]": "10:3",
		"row[1].y[9]": "8:1", "a.none": "2:2", "none": "1:1",
	} {
		if got := doc.Place(doc.Offset(path)); got != "a.toml:"+want {
			t.Errorf("%s stands at %s, want %s", path, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a = ":                          "a.toml:1:",
		"a = 1\na = 2":                  "a.toml:2:1: ",
		strings.Repeat("#", MaxBytes+1): "a.toml: the file has 262145 bytes; at most 262144 are read",
	} {
		if _, fault := Read("a.toml", []byte(text)); fault == nil || !strings.HasPrefix(fault.String(), want) {
			t.Errorf("%.20q: %v, want %s", text, fault, want)
		}
	}
}
