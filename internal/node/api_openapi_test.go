package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// openapi is docs/openapi.json, as far as these tests look at it.
type openapi struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	Admin       bool `json:"x-admin"`
	Parameters  []struct{ Name, In string }
	RequestBody *struct{ Content map[string]media }
	Responses   map[string]struct {
		Content map[string]media
		Headers map[string]any
	}
}

type media struct{ Schema *schema }

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []string
	Items      *schema
	Properties map[string]*schema
	Required   []string
	AnyOf      []*schema
	Closed     *bool `json:"additionalProperties"`
}

var readOpenAPI = sync.OnceValues(func() (api openapi, err error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err == nil {
		err = json.Unmarshal(text, &api)
	}
	return api, err
})

func document(t testing.TB) openapi {
	t.Helper()
	api, err := readOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// spokenTypes are the types that travel: the answer, and the body of the question.
var spokenTypes = map[string][2]any{
	"get /v1/agent": {client.About{}}, "get /v1/state": {client.State{}}, "get /v1/devices": {client.Devices{}},
	"post /v1/devices/{uuid}/cordon": {client.Device{}, struct{}{}}, "post /v1/devices/{uuid}/uncordon": {client.Device{}, struct{}{}},
	"post /v1/devices/{uuid}/drain": {client.Device{}, client.Drain{}},
	"get /v1/leases":                {client.Leases{}}, "post /v1/leases": {client.Lease{}, client.Request{}},
	"get /v1/leases/{id}": {client.Lease{}}, "delete /v1/leases/{id}": {client.Lease{}},
	"get /v1/leases/{id}/explain": {client.Explanation{}}, "post /v1/leases/{id}/extend": {client.Lease{}, client.Extension{}},
	"post /v1/report": {client.Advice{}, client.Report{}}, "get /v1/usage": {client.Usage{}}, "get /v1/events": {client.Events{}},
}

// TestOpenAPIRoutes: the document has the routes of the server and no others, each with its
// success, and says which are for admins.
func TestOpenAPIRoutes(t *testing.T) {
	api := document(t)
	var want, got []string
	for _, r := range append(routes(), route{method: "GET", path: "/healthz", ok: 200}, route{method: "GET", path: "/readyz", ok: 200}) {
		want = append(want, fmt.Sprintf("%s %s %d %t", strings.ToLower(r.method), r.path, r.ok, r.admin))
	}
	for path, methods := range api.Paths {
		for method, o := range methods {
			for status := range o.Responses {
				if status < "300" {
					got = append(got, fmt.Sprintf("%s %s %s %t", method, path, status, o.Admin))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-server +document:\n%s", diff)
	}
}

// TestOpenAPITypes: every type that travels is in the document with the same fields, and
// nothing is in the document that does not travel.
func TestOpenAPITypes(t *testing.T) {
	api := document(t)
	c := typeCheck{t: t, api: api, seen: map[string]reflect.Type{}}
	for name, types := range spokenTypes {
		method, path, _ := strings.Cut(name, " ")
		o := api.Paths[path][method]
		for status, r := range o.Responses {
			body := r.Content["application/json"].Schema
			if status < "300" {
				c.same(name, body, reflect.TypeOf(types[0]), false)
			} else {
				c.same(name, body, reflect.TypeFor[client.Error](), false)
			}
		}
		if (o.RequestBody != nil) != (types[1] != nil) {
			t.Errorf("%s: a body is in one of document and server only", name)
		}
		if types[1] != nil {
			c.same(name, o.RequestBody.Content["application/json"].Schema, reflect.TypeOf(types[1]), true)
		}
	}
	if got, want := slices.Sorted(maps.Keys(c.seen)), slices.Sorted(maps.Keys(api.Components.Schemas)); !slices.Equal(got, want) {
		t.Errorf("schemas of no type:\n%s", cmp.Diff(got, want))
	}
}

// typeCheck compares schemas with types.
type typeCheck struct {
	t    *testing.T
	api  openapi
	seen map[string]reflect.Type
}

// same compares one. Of what a client sends, any field may be missing as far as JSON goes, and
// none may be unknown.
func (c *typeCheck) same(where string, s *schema, goType reflect.Type, sent bool) {
	if s == nil {
		c.t.Errorf("%s: no schema for %s", where, goType)
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if c.seen[name] == goType {
			return
		}
		if c.seen[name] != nil {
			c.t.Errorf("%s: %s is %s and %s", where, name, c.seen[name], goType)
		}
		c.seen[name] = goType
		s, where = c.api.Components.Schemas[name], name
	}
	if want := jsonType(goType); !cmp.Equal(s.Type, want) {
		c.t.Errorf("%s: the type is %v, want %v for %s", where, s.Type, want, goType)
		return
	}
	switch s.Type {
	case "array":
		c.same(where, s.Items, goType.Elem(), sent)
	case "object":
		if goType.Kind() == reflect.Struct {
			c.fields(where, s, goType, sent)
		}
	}
}

func (c *typeCheck) fields(where string, s *schema, goType reflect.Type, sent bool) {
	var names, required []string
	for _, f := range reflect.VisibleFields(goType) {
		if f.Anonymous {
			continue
		}
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, tag)
		if !strings.Contains(options, "omitempty") {
			required = append(required, tag)
		}
		fieldType := f.Type
		if fieldType.Kind() == reflect.Pointer && (strings.Contains(options, "omitempty") || fieldType.Elem().Kind() == reflect.Struct && fieldType.Elem() != reflect.TypeFor[time.Time]()) {
			fieldType = fieldType.Elem() // absent, or an anyOf
		}
		p := s.Properties[tag]
		if p != nil && len(p.AnyOf) == 2 {
			p = p.AnyOf[0]
		}
		c.same(where+"."+tag, p, fieldType, sent)
	}
	if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
		c.t.Errorf("%s: the fields are %v, want %v", where, got, names)
	}
	if got := slices.Sorted(slices.Values(s.Required)); !sent && !slices.Equal(got, slices.Sorted(slices.Values(required))) {
		c.t.Errorf("%s: required are %v, want %v", where, got, required)
	}
	if closed := s.Closed != nil && !*s.Closed; closed != sent {
		c.t.Errorf("%s: additionalProperties is %v", where, s.Closed)
	}
}

// jsonType is what JSON calls a type.
func jsonType(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		return []any{jsonType(t.Elem()), "null"}
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "string"
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	}
	return "object"
}

// conforms holds an answer against the document. Every answer that a test gets comes by here.
func conforms(t testing.TB, method, path string, status int, body []byte) {
	t.Helper()
	api := document(t)
	for pattern, methods := range api.Paths {
		o, ok := methods[strings.ToLower(method)]
		if !ok || !matches(pattern, path) || status == 500 { // a fault is no part of the contract
			continue
		}
		r, ok := o.Responses[fmt.Sprint(status)]
		if !ok {
			t.Errorf("%s %s: status %d is not in the document: %s", method, path, status, body)
			return
		}
		if m, ok := r.Content["application/json"]; ok {
			d := json.NewDecoder(bytes.NewReader(body))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				t.Errorf("%s %s: %s: %v", method, path, body, err)
			} else if err := api.valid(m.Schema, v); err != nil {
				t.Errorf("%s %s: %s: %v", method, path, body, err)
			}
		}
	}
}

// matches tells whether a path is one of a pattern's.
func matches(pattern, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

// valid tells how a value is not as a schema says.
func (api *openapi) valid(s *schema, v any) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = api.Components.Schemas[name]
	}
	if len(s.AnyOf) > 0 && v != nil {
		return api.valid(s.AnyOf[0], v)
	}
	switch v := v.(type) {
	case nil:
		if types, ok := s.Type.([]any); !ok || !slices.Contains(types, "null") {
			if len(s.AnyOf) == 0 {
				return fmt.Errorf("null, expected %v", s.Type)
			}
		}
	case []any:
		for _, one := range v {
			if err := api.valid(s.Items, one); err != nil {
				return err
			}
		}
	case string:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%q, expected one of %v", v, s.Enum)
		}
		if s.Format == "date-time" {
			_, err := time.Parse(time.RFC3339, v)
			return err
		}
	case map[string]any:
		if s.Properties == nil {
			return nil
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
		for name, one := range v {
			p, ok := s.Properties[name]
			if !ok {
				return fmt.Errorf("%s is not in the document", name)
			}
			if err := api.valid(p, one); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// TestOpenAPIStatuses: every status of the document is one that the server can be brought to
// answer with.
func TestOpenAPIStatuses(t *testing.T) {
	w := newWorld(t, nil)
	api := document(t)
	for path, methods := range api.Paths {
		for method, o := range methods {
			for status := range o.Responses {
				t.Run(fmt.Sprintf("%s %s %s", method, path, status), func(t *testing.T) {
					provoke(t, w, strings.ToUpper(method), path, status)
				})
			}
		}
	}
}

// provoke brings the server to answer with a status.
func provoke(t *testing.T, w *world, method, path, want string) {
	who, bodies := w.as(0), map[string]string{
		"/v1/leases": `{"memory_bytes":67108864}`, "/v1/report": `{"devices":[]}`, "/v1/leases/{id}/extend": `{"ttl_ms":60000}`,
		"/v1/devices/{uuid}/cordon": `{}`, "/v1/devices/{uuid}/uncordon": `{}`, "/v1/devices/{uuid}/drain": `{"grace_ms":600000}`,
	}
	body, query, uuid := bodies[path], "", "GPU-1"
	l := w.as(annUID).lease(client.Request{MemoryBytes: lease.LeastBytes, TTLMS: 60_000, Device: "GPU-0"})
	id := fmt.Sprint(l.ID)
	if strings.HasPrefix(path, "/v1/leases/{id}") {
		who = w.as(annUID)
	}
	switch want {
	case "400":
		query = "?no_such_parameter"
	case "403":
		if who = w.as(bobUID); path == "/v1/leases" {
			body = `{"memory_bytes":67108864,"project":"eyes"}`
		}
	case "404":
		id, uuid = "999", "GPU-9"
		body = strings.Replace(body, `{"memory_bytes":67108864`, `{"memory_bytes":67108864,"queue":"vip"`, 1)
	case "409":
		w.as(annUID).ask("DELETE", "/v1/leases/"+id, nil, 200, nil)
		body = strings.Replace(body, `{"memory_bytes":67108864`, fmt.Sprintf(`{"memory_bytes":%d`, 999*units.GiB), 1)
	case "413":
		body = `{"name":"` + strings.Repeat("x", maxBody) + `"}`
	case "429":
		w = newWorld(t, nil)
		w.allow(0)
		who = w.as(annUID)
	case "503":
		w = newWorld(t, func(o *Options) { o.Names = away{} })
		w.publish(&view{})
		who = w.as(annUID)
	}
	if got, text := who.raw(method, strings.NewReplacer("{id}", id, "{uuid}", uuid).Replace(path)+query, body); got.Status[:3] != want {
		t.Errorf("%s %s: %s %s", method, path, got.Status, text)
	}
}
