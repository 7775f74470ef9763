package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestdataReadmes: every recording in testdata is named in its folder's README, which
// says how it was made: one of unknown origin proves nothing.
func TestTestdataReadmes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.xz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		if name, _, _ := strings.Cut(filepath.Base(file), "."); !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s is not in its folder's README", file)
		}
	}
}
