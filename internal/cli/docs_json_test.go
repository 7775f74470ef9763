package cli

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/report"
)

// TestJSONPage holds docs/json.md against the structs that are printed under --json:
// every field has its row, in order, with its type, and no row is of a field that is gone.
//
// In the page a section of the second level is a command; in it, a heading of the third
// level names the objects that the table below it describes, by their paths.
func TestJSONPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := parseJSONPage(string(text))
	for section, value := range map[string]any{
		"Errors":        errorObject{},
		"version":       versionInfo{},
		"rules":         report.RulesJSON{},
		"snap":          snapJSON{},
		"ledger check":  ledgerCheckJSON{},
		"ledger export": ledger.Exported{},
		"doctor":        report.DoctorJSON{},
		"triage":        report.TriageJSON{},
		"top":           topJSON{},
		"The agent":     agentObjects{},
		"lease list":    client.Leases{},
		"lease explain": client.Explanation{},
		"lease devices": client.Devices{},
		"usage":         client.Usage{},
		"explain":       report.ExplainJSON{},
		"lint":          report.LintJSON{},
		"tune":          report.TuneJSON{},
		"fit":           report.FitJSON{},
	} {
		want := make(map[string][]string)
		describe(reflect.TypeOf(value), "", nil, want)
		if diff := cmp.Diff(want, page[section]); diff != "" {
			t.Errorf("docs/json.md, section %s (-printed +in the page):\n%s", section, diff)
		}
	}
}

// agentObjects are what the agent tells of, in its answers and in what several commands
// print. The page describes them once, in the section of the agent.
type agentObjects struct {
	Device client.Device `json:"device"`
	Lease  client.Lease  `json:"lease"`
	Job    client.Job    `json:"job"`
}

// ofAgent tells whether a type is described in the section of the agent.
func ofAgent(typ reflect.Type) bool {
	objects := reflect.TypeFor[agentObjects]()
	for i := range objects.NumField() {
		if objects.Field(i).Type == typ {
			return true
		}
	}
	return false
}

// describe writes the rows of a struct, and of all structs within it, to rows, by path.
func describe(typ reflect.Type, path string, within []reflect.Type, rows map[string][]string) {
	for _, outer := range within {
		if outer == typ {
			return // an object of a kind that holds it, as in a tree: described once
		}
	}
	within = append(within[:len(within):len(within)], typ)
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" { // its fields are the outer one's
			describe(f.Type, path, within, rows)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		row, inner := name+": "+jsonType(f.Type), elem(f.Type)
		switch {
		case option == "omitempty":
			row += ", or absent"
		case f.Type.Kind() == reflect.Pointer:
			row += ", or null"
		}
		rows[path] = append(rows[path], row)
		if ofAgent(inner) && within[0] != reflect.TypeFor[agentObjects]() {
			continue
		}
		if jsonType(inner) == "object" {
			suffix := ""
			if f.Type.Kind() == reflect.Slice {
				suffix = "[]"
			}
			describe(inner, strings.TrimPrefix(path+"."+name+suffix, "."), within, rows)
		}
	}
}

// elem is the type of a field, or of what its list or pointer leads to.
func elem(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	return typ
}

func jsonType(typ reflect.Type) string {
	if typ == reflect.TypeFor[json.RawMessage]() {
		return "object" // whose fields are described elsewhere
	}
	if typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return jsonType(typ.Elem())
	case reflect.Slice:
		return "list of " + jsonType(typ.Elem()) + "s"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "number"
	case reflect.Struct:
		return "object"
	}
	return "integer"
}

// parseJSONPage returns the rows of the page's tables, by section and path.
func parseJSONPage(text string) map[string]map[string][]string {
	page := make(map[string]map[string][]string)
	section, paths := "", []string(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			section, paths = line[3:], []string{""}
			page[section] = make(map[string][]string)
		case strings.HasPrefix(line, "### "):
			paths = strings.Split(strings.ReplaceAll(line[4:], "`", ""), ", ")
		case strings.HasPrefix(line, "| `"):
			cells := strings.Split(line, "|")
			row := strings.Trim(cells[1], " `") + ": " + strings.TrimSpace(cells[2])
			for _, p := range paths {
				page[section][p] = append(page[section][p], row)
			}
		}
	}
	return page
}
