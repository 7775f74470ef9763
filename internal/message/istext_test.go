package message

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIsText(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.txt"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !IsText(text[:min(len(text), 512)]) {
			t.Errorf("%s is not taken for text: %v", f, err)
		}
	}
	for text, want := range map[string]bool{
		"":                               true,
		"plain":                          true,
		"caf\xe9 in Latin-1, one letter": true,
		"\x1b[31mred\x1b[0m\a":           true,
		"cut in a character \xe2\x94":    true,
		"\x80\x04\x95\x10\x00":           false,
		"\xff\xfeU\x00T\x00F\x00":        false,
		"PK\x03\x04\x14\x01\x02\x03\x04": false,
		strings.Repeat("\x80\x81", 100):  false,
	} {
		if got := IsText([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
