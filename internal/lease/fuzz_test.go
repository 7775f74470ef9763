package lease

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzApply feeds a book with events that anyone may have written, a line each: a kind and a body. Apply
// may refuse them; it must not panic, and what it takes must leave the rules kept.
func FuzzApply(f *testing.F) {
	w := newWorld(f, newSeeded(3), testDevices, testPolicy)
	for range 60 {
		w.step(f)
	}
	var text strings.Builder
	for _, e := range w.log {
		body, err := json.Marshal(e.Body)
		if err != nil {
			f.Fatal(err)
		}
		text.WriteString(e.Kind() + " " + string(body) + "\n")
	}
	f.Add(text.String())
	f.Add(`devices {"devices":[{"uuid":"A","capacity_bytes":-1}]}`)
	f.Add(`foreign {"device":"A","bytes":-9223372036854775808}`)
	f.Add(`policy {"policy":{"period_ms":1,"age_ms":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := New()
		for line := range strings.Lines(text) {
			kind, data, _ := strings.Cut(strings.TrimSpace(line), " ")
			body, err := DecodeBody(kind, []byte(data))
			if err != nil {
				continue
			}
			if b.Apply(Event{Seq: b.seq + 1, AtMS: b.nowMS + 1, Actor: "x", Body: body}) != nil {
				continue
			}
			if wrong := b.Check(); len(wrong) > 0 {
				t.Fatalf("after %q: %q", line, wrong)
			}
		}
		if _, err := b.Tick(b.nowMS + 1); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(b.Snapshot()); err != nil {
			t.Fatal(err)
		}
	})
}
