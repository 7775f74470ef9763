package node

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// FuzzAPI: whatever is asked, by whomever, is answered: with a success in JSON, or with a 4xx
// that says why. The agent never panics, nothing is an internal fault, and the book stays
// sound.
func FuzzAPI(f *testing.F) {
	w := newWorld(f, nil)
	for _, r := range routes() {
		path := strings.Replace(r.path, "{uuid}", "GPU-0", 1)
		f.Add(r.method, path, "", `{"memory_bytes":1073741824,"devices":1}`, annUID)
		f.Add(r.method, path, "wait=1&from=granted", `{"ttl_ms":1000}`, 0)
		f.Add(r.method, path, "by=user&since=2026-01-01T00:00:00Z", `{"grace_ms":1000}`, 0)
	}
	f.Add("POST", "/v1/report", "", `{"job":"j","rank":0,"devices":[{"device":"GPU-0","allocated_bytes":1}]}`, annUID)
	f.Add("POST", "/v1/leases", "", `{"memory_bytes":1e400,"name":"\u0000"}`, bobUID)
	f.Add("POST", "/v1/leases", "", `{"exclusive":true,"no_wait":true,"key":"k"}`, opsUID)
	f.Add("GET", "/v1/devices/%2e%2e/cordon", "limit=9999", "[[[[", 7)
	f.Fuzz(func(t *testing.T, method, path, query, body string, uid int) {
		path = strings.ReplaceAll(path, "{id}", w.oneLease(t))
		target := &url.URL{Path: "/" + strings.TrimPrefix(path, "/"), RawQuery: query}
		if unescaped, err := url.PathUnescape(target.Path); err == nil {
			target.Path, target.RawPath = unescaped, target.Path
		}
		r := httptest.NewRequest(http.MethodGet, "http://agent/", strings.NewReader(body))
		r.Method, r.URL = method, target
		peer := Peer{Peer: holder.Peer{UID: uid, GID: w.accounts[uid].group, ID: w.machine.Begin(holder.ID{}, uid, holder.Mark{})}, Groups: w.accounts[uid].others}
		ctx, cancel := context.WithCancel(context.WithValue(r.Context(), connKey{}, &conn{peer: peer}))
		cancel() // nobody waits for a change
		got := httptest.NewRecorder()
		w.api(newLimits(1024)).ServeHTTP(got, r.WithContext(ctx))
		checkAnswer(t, got)
		w.Ledger.View(func(b *lease.Book) {
			if wrong := b.Check(); len(wrong) > 0 {
				t.Errorf("the book: %s", strings.Join(wrong, "; "))
			}
		})
	})
}

// oneLease ends what other questions have left, and returns the number of a lease of ann's.
func (w *world) oneLease(t *testing.T) string {
	t.Helper()
	var id lease.ID
	_, err := w.decide(context.Background(), func(b *lease.Book, atMS int64) (events []lease.Event, err error) {
		then := func(more []lease.Event, fault error) {
			events, err = append(events, more...), errors.Join(err, fault)
		}
		for _, d := range b.Devices() {
			then(b.Cordon(atMS, "root", d.UUID, false))
		}
		for _, l := range b.Leases() {
			then(b.Release(atMS, l.ID, "root", lease.Released))
		}
		for _, l := range b.Leases() {
			then(b.Freed(atMS, l.ID))
		}
		var more []lease.Event
		var fault error
		id, more, fault = b.Submit(atMS, lease.Request{User: "ann", MemoryBytes: gib, TTLMS: 1000, Detached: true})
		then(more, fault)
		return events, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(int64(id), 10)
}

func checkAnswer(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	status, text := got.Code, got.Body.Bytes()
	if status >= 200 && status < 300 {
		if strings.HasPrefix(got.Header().Get("Content-Type"), "text/plain") && string(text) == "ok\n" {
			return
		}
		if !json.Valid(text) {
			t.Errorf("%d %s: no JSON", status, text)
		}
		return
	}
	var e client.Error
	if err := json.Unmarshal(text, &e); err != nil || e.Error.Message == "" || e.Error.Code == "" {
		t.Errorf("%d %s: no reason", status, text)
	}
	if !slices.Contains([]int{400, 403, 404, 405, 409, 413, 414, 429}, status) {
		t.Errorf("%d %s", status, text)
	}
}
