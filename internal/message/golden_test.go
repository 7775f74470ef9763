package message

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden reads every text of testdata and compares all that was found.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d texts in testdata: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := Parse(bytes.NewReader(text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", dump(t, rep))
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// dump is the report as JSON, with a size in one line: "12.34 GiB [low, high]".
func dump(t *testing.T, rep *Report) string {
	t.Helper()
	raw, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(shortSizes(v)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func shortSizes(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = shortSizes(v[i])
		}
	case map[string]any:
		if low, ok := v["Low"]; ok {
			return fmt.Sprintf("%v [%v, %v]", v["Text"], low, v["High"])
		}
		for k := range v {
			v[k] = shortSizes(v[k])
		}
	}
	return v
}
