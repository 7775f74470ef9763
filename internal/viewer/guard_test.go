package viewer

import (
	"net/http"
	"strings"
	"testing"
)

// TestGuard: who is answered.
func TestGuard(t *testing.T) {
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
	tests := []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"the page", nil, 200},
		{"by name", host("localhost:7070"), 200},
		{"through a tunnel on another port", host("localhost:8080"), 200},
		{"by the other loopback", host("[::1]:7070"), 200},
		{"without a port", host("127.0.0.1"), 200},
		{"another site's name for this address", host("evil.example:7070"), 403},
		{"a name that begins so", host("localhost.evil.example"), 403},
		{"a port that is none", host("localhost:70700"), 403},
		{"no name", host(""), 403},
		{"its own origin", header("Origin", "http://127.0.0.1:7070"), 200},
		{"another site's origin", header("Origin", "http://evil.example"), 403},
		{"another server's of this machine", header("Origin", "http://127.0.0.1:3000"), 403},
		{"a page without an origin", header("Origin", "null"), 403},
		{"another site's picture", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403},
		{"another server's of this machine, by its kind", header("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"), 403},
		{"another site's link to an answer", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), 403},
		{"typed in", header("Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"), 200},
		{"HEAD", method("HEAD"), 405},
		{"POST", method("POST"), 405},
		{"OPTIONS", method("OPTIONS"), 405},
		{"no method", method(""), 405},
		{"a long question", func(r *http.Request) { r.URL.RawQuery = strings.Repeat("a", maxURL) }, 414},
	}
	s := serve(t, small)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(s, api+"session", tt.change)
			if r.status != tt.status {
				t.Errorf("status %d, want %d: %s", r.status, tt.status, r.body)
			}
			if r.header.Get("Content-Security-Policy") != policy || r.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", r.header)
			}
			if tt.status == 405 && r.header.Get("Allow") != "GET" {
				t.Errorf("Allow: %q", r.header.Get("Allow"))
			}
			if tt.status != 200 {
				checkError(t, r)
			}
		})
	}
	link := header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if r := ask(s, "/", link); r.status != 200 {
		t.Errorf("a link to the page: status %d", r.status)
	}
}

// TestHeaders: what a client may say about the form of an answer.
func TestHeaders(t *testing.T) {
	s := serve(t, small)
	tag := ask(s, "/app.js", nil).header.Get("ETag")
	tests := []struct {
		name, value string
		packed      bool
		status      int
	}{
		{"Accept-Encoding", "gzip", true, 200},
		{"Accept-Encoding", "br, GZIP;q=0.5", true, 200},
		{"Accept-Encoding", "gzip;q=0", false, 200},
		{"Accept-Encoding", "gzip; q=0.000, br", false, 200},
		{"Accept-Encoding", "x-gzip-2", false, 200},
		{"Accept-Encoding", "", false, 200},
		{"If-None-Match", tag, false, 304},
		{"If-None-Match", "W/" + tag, false, 304},
		{"If-None-Match", `"a","b",` + tag, false, 304},
		{"If-None-Match", `"a"`, false, 200},
		{"Range", "bytes=0-3", false, 200}, // a server may send all
	}
	for _, tt := range tests {
		t.Run(tt.name+": "+tt.value, func(t *testing.T) {
			r := ask(s, "/app.js", func(r *http.Request) { r.Header.Set(tt.name, tt.value) })
			if packed := r.header.Get("Content-Encoding") == "gzip"; r.status != tt.status || packed != tt.packed {
				t.Errorf("status %d, packed %t", r.status, packed)
			}
		})
	}
}

// checkError checks the form of an error.
func checkError(t *testing.T, r reply) {
	t.Helper()
	if kind := r.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("an error of type %q", kind)
	}
	if body := string(r.body); !strings.HasPrefix(body, `{"error":{"message":"`) || strings.HasPrefix(body, `{"error":{"message":""`) {
		t.Errorf("an error as %s", body)
	}
	if cache := r.header.Get("Cache-Control"); cache != never {
		t.Errorf("an error that is kept: %q", cache)
	}
}

// TestMalformed: what a page never asks is refused with a reason.
func TestMalformed(t *testing.T) {
	s := serve(t, small)
	dev := api + first(t, s)
	tests := []struct {
		target string
		status int
	}{
		{"", 404},
		{"/../etc/passwd", 404},
		{"/..", 404},
		{"//app.js", 404},
		{"/./app.js", 404},
		{"/app.js/", 404},
		{"/secret.txt", 404},
		{"/testdata", 404},
		{`/..\..\server.go`, 404},
		{"/app.js\x00.html", 404},
		{"/api", 404},
		{"/api/v1", 404},
		{"/api/v2/session", 404},
		{"/api/v1/sessions", 404},
		{"/api/v1/session?x=1", 400},
		{"/api/v1/progress?x=1", 400},
		{"/api/v1/rec", 404},
		{"/api/v1/rec/x", 404},
		{"/api/v1/rec/x/0", 404},
		{dev[:len(dev)-1] + "1", 404},
		{dev[:len(dev)-1] + "-1", 400},
		{dev[:len(dev)-1] + "00", 400},
		{dev[:len(dev)-1] + "+0", 400},
		{dev[:len(dev)-1] + "99999999999999999999", 400},
		{dev + "/nothing", 404},
		{dev + "?verbose=1", 400},
		{dev + "?%zz", 400},
		{dev + "?a;b", 400},
		{dev + "/rule/", 404},
		{dev + "/rule/leak/../leak/growing-site", 404},
		{dev + "/rule/no/such-rule", 404},
		{dev + "/tile/counters/0", 404},
		{dev + "/tile/counters/0/0/0", 404},
		{dev + "/tile/counters/99/0", 404},
		{dev + "/tile/counters/-1/0", 404},
		{dev + "/tile/counters/00/0", 400},
		{dev + "/tile/counters/x/0", 400},
		{dev + "/tile/counters/0/99999", 404},
		{dev + "/tile/counters/0/9223372036854775808", 400},
		{dev + "/tile/nothing/0/0", 404},
		{dev + "/tile/bands/0/0", 404},
		{dev + "/tile/bands-/0/0", 404},
		{dev + "/tile/bands-size/0/0", 404},
		{dev + "/tile/packed-size/0/0", 404},
		{dev + "/tile/map/0/0", 400},
		{dev + "/tile/map-category/0/0", 400},
		{dev + "/tile/map-category-0/0/0", 400},
		{dev + "/tile/map-category-0-x/0/0", 400},
		{dev + "/tile/map-category-0-9999999/0/0", 404},
		{dev + "/tile/map-category-99-0/0/0", 404},
		{dev + "/tile/map-size-0-0/0/0", 404},
		{dev + "/tile/map-category-0-0-0/0/0", 400},
		{dev + "/tile/segments--1-0/0/0", 400},
		{dev + "/tile/counters/0/0?x", 400},
		{dev + "/tile/counters-site/0/0", 404},
		{dev + "/tile/counters-/0/0", 404},
	}
	for _, tt := range tests {
		t.Run(tt.target, func(t *testing.T) {
			r := ask(s, tt.target, nil)
			if r.status != tt.status {
				t.Errorf("status %d, want %d: %s", r.status, tt.status, r.body)
			}
			checkError(t, r)
		})
	}
}

// FuzzRequest sends any path and parameters. Whatever is no question of the page must be
// refused with a reason, and nothing may panic.
func FuzzRequest(f *testing.F) {
	s := serve(f, small)
	for _, path := range seeds(f, s) {
		target, query, _ := strings.Cut(path, "?")
		f.Add(target, query)
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		r := ask(s, path, func(r *http.Request) { r.URL.RawQuery = query })
		switch {
		case r.status == http.StatusOK:
		case r.status >= 400 && r.status < 500:
			checkError(t, r)
		default:
			t.Errorf("%q?%q: status %d: %s", path, query, r.status, r.body)
		}
	})
}

// seeds are questions of every kind.
func seeds(t testing.TB, s *Server) (list []string) {
	dev := first(t, s)
	list = append(list, "/", "/app.js", "/api/v1/session")
	parts := strings.NewReplacer("{kind}", "map-category-0-0", "{level}", "1", "{i}", "0", "{family}", "leak", "{name}", "growing-site",
		"{block}", "3", "{event}", "5", "{what}", "blocks")
	for path := range deviceAnswers() {
		for _, query := range []string{"", "?event=7", "?from=1&to=9", "?q=size>1MiB&sort=-size_bytes&count=10"} {
			list = append(list, api+dev+parts.Replace(path)+query)
		}
	}
	for path := range sessionAnswers() {
		list = append(list, api+path+"?a="+strings.TrimPrefix(dev, "rec/")+"&b="+strings.TrimPrefix(dev, "rec/"))
	}
	for _, kind := range []string{"counters", "bands-site", "map-stream-2-0", "segments-0-1", "packed-module"} {
		list = append(list, api+dev+"/tile/"+kind+"/0/0")
	}
	return list
}
