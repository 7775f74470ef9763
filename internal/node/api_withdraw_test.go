package node

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/units"
)

// TestWaitsOn: a request waits until its holder ends or somebody who may takes it back by its
// number. Nothing else that clients do, or that happens to them, ends it.
func TestWaitsOn(t *testing.T) {
	w, ann, _ := full(t)
	waits := ann.lease(client.Request{MemoryBytes: units.GiB, Key: "ours"})
	detached := ann.lease(client.Request{MemoryBytes: units.GiB, Detached: true, TTLMS: 1000})
	path := fmt.Sprintf("/v1/leases/%d", waits.ID)
	for _, tt := range []struct {
		name string
		do   func()
	}{
		{"a client hangs up while it waits", func() { w.hangUp(ann, "GET", path+"?wait=60000&from=queued", 1) }},
		{"a client hangs up before it has its answer", func() { w.hangUp(ann, "GET", path+"/explain", 0) }},
		{"a client hangs up over another request", func() { w.hangUp(ann, "DELETE", "/v1/leases/99", 0) }},
		{"its connections are closed", func() { ann.http.CloseIdleConnections() }},
		{"another user takes it back", func() { w.as(bobUID).refused("DELETE", path, nil, 403, "forbidden") }},
		{"a client of another ledger gives its lease of that number back", func() { ann.refused("DELETE", path+"?key=theirs", nil, 404, "unknown") }},
		{"so does root's", func() { w.as(0).refused("DELETE", path+"?key=theirs", nil, 404, "unknown") }},
		{"one that knows whose it is", func() { w.as(0).refused("DELETE", path+"?user=bob", nil, 404, "unknown") }},
		{"one that does not", func() { w.as(0).refused("DELETE", path, nil, 403, "forbidden") }},
		{"one that knows another grant", func() { ann.refused("DELETE", path+"?epoch=7", nil, 404, "unknown") }},
		{"its grant is empty", func() { ann.refused("DELETE", path+"?epoch=", nil, 400, "invalid") }},
		{"the user is empty", func() { ann.refused("DELETE", path+"?user=", nil, 404, "unknown") }},
		{"the key is empty", func() { ann.refused("DELETE", path+"?key=", nil, 404, "unknown") }},
		{"a parameter that is none", func() { ann.refused("DELETE", path+"?Key=ours", nil, 400, "invalid") }},
		{"another process of the user ends", func() {
			other := w.machine.Begin(holder.ID{}, annUID, holder.Mark{})
			w.machine.Kill(other)
			w.withdraw(t.Context(), append(w.machine.Dead(), other))
		}},
		{"a process without an identity ends", func() { w.withdraw(t.Context(), []holder.ID{{}}) }},
		{"one that had the holder's PID before ends", func() {
			w.withdraw(t.Context(), []holder.ID{{PID: ann.id.PID, Start: ann.id.Start - 1}})
		}},
		{"it is asked for again", func() { ann.lease(client.Request{MemoryBytes: units.GiB, Key: "ours"}) }},
	} {
		tt.do()
		if l := w.as(0).see(waits.ID); l.State != "queued" || l.Cause != "" {
			t.Fatalf("%s: it is %s by %q", tt.name, l.State, l.EndedBy)
		}
		if l := w.as(0).see(detached.ID); l.State != "queued" {
			t.Fatalf("%s: the one that no process holds is %s by %q", tt.name, l.State, l.EndedBy)
		}
	}
	ann.ask("DELETE", path+"?key=ours", nil, 200, nil)
	if l := w.as(0).see(waits.ID); l.Cause != "released" || l.EndedBy != waits.User {
		t.Errorf("given back with its key: %+v", l)
	}
}

// hangUp asks and closes the connection, once so many questions wait.
func (w *world) hangUp(u *person, method, path string, waiting int) {
	w.t.Helper()
	before := w.connections()
	c, err := u.dial()
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequest(method, "http://agent"+path, nil)
	if err == nil {
		err = r.Write(c)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	until(w.t, "questions that wait", func() bool { return w.waiting() == waiting })
	c.Close()
	until(w.t, "nobody waits", func() bool { return w.waiting() == 0 && w.connections() == before })
}
