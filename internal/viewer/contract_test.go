package viewer

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestContract: docs/formats/view-api.md, which the page is written from, names every field
// that is answered.
func TestContract(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "view-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		sessionJSON{}, deviceJSON{}, ruleJSON{}, errorJSON{}, indexJSON{}, momentJSON{}, blockJSON{}, flameJSON{}, tuneJSON{}, compareJSON{}, commandJSON{},
	} {
		for name := range fieldsOf(reflect.TypeOf(v)) {
			if text := string(page); !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`"`) {
				t.Errorf("%T: the page does not name %s", v, name)
			}
		}
	}
}

// fieldsOf returns the JSON names of the fields of this package's types within one.
func fieldsOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		return fieldsOf(t.Elem())
	case reflect.Struct:
		if t.Name() != "" && !strings.HasSuffix(t.PkgPath(), "internal/viewer") {
			return nil // has a page of its own: docs/json.md
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && tag != "-" {
				names[tag] = true
			}
			for name := range fieldsOf(f.Type) {
				names[name] = true
			}
		}
	}
	return names
}
