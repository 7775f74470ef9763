package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

// TestLies: bodies that are none, each refused with a reason that names what is wrong, and
// with nothing done.
func TestLies(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	for body, want := range map[string]string{
		``:                                      "expected a JSON object",
		`null`:                                  "expected a JSON object",
		`[]`:                                    "expected a JSON object",
		`{"memory_bytes":1`:                     "it ends in the middle",
		`{"memory_bytes":1}}`:                   "goes on after its object",
		`{"memory_bytes":1} {}`:                 "goes on after its object",
		`{"memory_bytes":NaN}`:                  "no JSON",
		`{"memory_bytes":Infinity}`:             "no JSON",
		`{"memory_bytes":1e400}`:                "memory_bytes: expected a whole number",
		`{"memory_bytes":1.5}`:                  "memory_bytes: expected a whole number",
		`{"memory_bytes":"8GiB"}`:               "memory_bytes: expected a whole number",
		`{"memory_bytes":9223372036854775808}`:  "memory_bytes: expected a whole number",
		`{"memory_bytes":-9223372036854775808}`: "how much memory",
		`{"memory_bytes":1,"devices":99999999}`: "99999999 devices",

		`{"memory_bytes":1,"priority":-2147483648}`:           "priority",
		`{"memory_bytes":1,"exclusive":1}`:                    "exclusive: expected true or false",
		`{"memory_bytes":1,"name":["a"]}`:                     "name: expected a text",
		`{"memory_bytes":1,"user":"root"}`:                    `unknown field "user"`,
		`{"memory_bytes":1,"group":"root"}`:                   `unknown field "group"`,
		`{"memory_bytes":1,"holder_start":1}`:                 `unknown field "holder_start"`,
		`{"memory_bytes":1,"state":"granted"}`:                `unknown field "state"`,
		`{"memory_bytes":1,"name":"a\u0000b"}`:                "control character",
		`{"memory_bytes":1,"name":"\u009b2J"}`:                "control character",
		`{"memory_bytes":1,"name":"\ud800"}`:                  "not UTF-8",
		"{\"memory_bytes\":1,\"name\":\"\xff\"}":              "not UTF-8",
		`{"memory_bytes":1,"name":` + strings.Repeat("[", 30): "within each other",
	} {
		answer, text := ann.raw("POST", "/v1/leases", body)
		var e client.Error
		if err := json.Unmarshal(text, &e); err != nil || answer.StatusCode != 400 || !strings.Contains(e.Error.Message, want) {
			t.Errorf("%.80s: %d %s, want 400 with %q", body, answer.StatusCode, text, want)
		}
	}
	answer, text := ann.raw("POST", "/v1/leases", `{"name":"`+strings.Repeat("x", maxBody)+`"}`)
	if answer.StatusCode != 413 || !strings.Contains(string(text), "too-large") {
		t.Errorf("a long body: %d %s", answer.StatusCode, text)
	}
	for path, status := range map[string]int{
		"/v1/leases?all=yes": 400, "/v1/leases?all=true&all=false": 400, "/v1/leases?user=root": 400, "/v1/leases/0": 400,
		"/v1/leases/-1": 400, "/v1/leases/1e3": 400, "/v1/leases/99999999999999999999": 400, "/v1/leases/7": 404, "/v1/leases/7/": 404,
		"/v1/leases/1?wait=60001": 400, "/v1/leases/1?wait=-1": 400, "/v1/leases/1?wait=NaN": 400, "/v1/leases/1?from=dead": 400,
		"/v1/usage?by=host": 400, "/v1/usage?since=yesterday": 400, "/v1/usage?since=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z": 400,
		"/v1/usage?since=0001-01-01T00:00:00Z": 400, "/v1/events?limit=1001": 400, "/v1/events?since=-1": 400, "/v1/events?lease=0": 400,
		"/v1/agent?x=%1b": 400, "/v1//agent": 404, "/v1/../v1/agent": 404, "/v1/agent/": 404, "/": 404, "/v2/agent": 404,
		"/v1/events?x;y": 400, "/v1/" + strings.Repeat("a", maxURL): 414,
	} {
		if answer, text := ann.raw("GET", path, ""); answer.StatusCode != status || !bytes.Contains(text, []byte(`"message":"`)) {
			t.Errorf("%.80s: %d %s, want %d with a message", path, answer.StatusCode, text, status)
		}
	}
	answer, _ = ann.raw("PUT", "/v1/leases/1", "")
	if allow := answer.Header.Get("Allow"); answer.StatusCode != 405 || !strings.Contains(allow, "GET") || !strings.Contains(allow, "DELETE") {
		t.Errorf("PUT: %d, Allow %q", answer.StatusCode, allow)
	}
	if _, ok := w.book(1); ok {
		t.Error("something was granted")
	}
}

// TestMalformedHTTP: what is no HTTP, or none that is spoken here, is refused with a word of why,
// and the connection is closed.
func TestMalformedHTTP(t *testing.T) {
	w := newWorld(t, nil)
	for name, sent := range map[string]string{
		"garbage":             "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
		"no version":          "GET /v1/agent\r\n\r\n",
		"another version":     "GET /v1/agent HTTP/9.9\r\nHost: agent\r\n\r\n",
		"HTTP/2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"no host":             "GET /v1/agent HTTP/1.1\r\n\r\n",
		"two hosts":           "GET /v1/agent HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"a negative length":   "POST /v1/leases HTTP/1.1\r\nHost: agent\r\nContent-Length: -1\r\n\r\n",
		"two lengths":         "POST /v1/leases HTTP/1.1\r\nHost: agent\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"an unknown coding":   "POST /v1/leases HTTP/1.1\r\nHost: agent\r\nTransfer-Encoding: gzip\r\n\r\n{}",
		"a broken chunk":      "POST /v1/leases HTTP/1.1\r\nHost: agent\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
		"a header too long":   "GET /v1/agent HTTP/1.1\r\nHost: agent\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n",
		"a path of no form":   "GET v1/agent HTTP/1.1\r\nHost: agent\r\n\r\n",
		"a path with a space": "GET /v1/a gent HTTP/1.1\r\nHost: agent\r\n\r\n",
		"an escape of none":   "GET /v1/%zz HTTP/1.1\r\nHost: agent\r\n\r\n",
		"an empty method":     " /v1/agent HTTP/1.1\r\nHost: agent\r\n\r\n",
		"a star":              "GET * HTTP/1.1\r\nHost: agent\r\n\r\n",
		"a tunnel":            "CONNECT agent:1 HTTP/1.1\r\nHost: agent\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := w.as(annUID).dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			go func() {
				_, _ = c.Write([]byte(sent)) // the agent may hang up before it has read all
				_ = c.CloseWrite()
			}()
			r := bufio.NewReader(c)
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			if answer.StatusCode < 400 || answer.StatusCode == 500 || len(text) == 0 || err != nil {
				t.Errorf("%s: %s, %v", answer.Status, text, err)
			}
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("after the answer: %q, %v", rest, err)
			}
		})
	}
	until(t, "all connections are gone", func() bool { return w.connections() == 0 })
}

// TestPanic: a fault of one answer is one answer's.
func TestPanic(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Names = broken{} })
	w.as(annUID).refused("GET", "/v1/agent", nil, 500, "internal")
	w.as(annUID).ask("GET", "/healthz", nil, 200, nil)
}

// broken has a fault.
type broken struct{ Names }

// TestFlood: a user who opens more connections than one may is told so, then turned away, and
// nobody else feels it.
func TestFlood(t *testing.T) {
	w := newWorld(t, nil)
	w.allow(10)
	ann, bob := w.as(annUID), w.as(bobUID)
	var open []net.Conn
	for range 10 + connsSurplus {
		c, err := ann.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	until(t, "all are counted", func() bool { return w.connections() == len(open) })
	bob.lease(client.Request{MemoryBytes: units.GiB})

	extra, err := ann.dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(extra); err != nil { // closed, unanswered
		t.Errorf("one too many: %v", err)
	}
	surplus := open[12]
	fmt.Fprintf(surplus, "GET /v1/leases HTTP/1.1\r\nHost: agent\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(surplus), nil)
	if err != nil || answer.StatusCode != 429 || answer.Header.Get("Retry-After") == "" || !answer.Close {
		t.Errorf("one that is told: %v, %v", answer, err)
	}
	for _, c := range open {
		c.Close()
	}
	until(t, "the places are free again", func() bool { return w.connections() <= 1 })
	ann.lease(client.Request{MemoryBytes: units.GiB})
}

// TestChangesAreBounded: so that nobody fills the ledger. Admins are not bounded, and reading
// is free.
func TestChangesAreBounded(t *testing.T) {
	w := newWorld(t, nil)
	ann, root := w.as(annUID), w.as(0)
	for range changesBurst {
		ann.refused("DELETE", "/v1/leases/9", nil, 404, "unknown")
		root.refused("DELETE", "/v1/leases/9", nil, 404, "unknown")
	}
	ann.refused("DELETE", "/v1/leases/9", nil, 429, "busy")
	root.refused("DELETE", "/v1/leases/9", nil, 404, "unknown")
	ann.ask("GET", "/v1/leases", nil, 200, nil)
	w.clock.Advance(time.Second)
	for range changesPerSecond {
		ann.refused("DELETE", "/v1/leases/9", nil, 404, "unknown")
	}
	ann.refused("DELETE", "/v1/leases/9", nil, 429, "busy")
}

// TestDiesInRequest: half a request does nothing, whichever half; a whole one is done, whether
// somebody reads the answer or not.
func TestDiesInRequest(t *testing.T) {
	w := newWorld(t, nil)
	body := `{"memory_bytes":1073741824}`
	whole := fmt.Sprintf("POST /v1/leases HTTP/1.1\r\nHost: agent\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for n := range len(whole) {
		c, err := w.as(annUID).dial()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(whole[:n])); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	until(t, "all connections are gone", func() bool { return w.connections() == 0 })
	if l, ok := w.book(1); ok {
		t.Fatalf("half a request made %+v", l)
	}
	c, err := w.as(annUID).dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	until(t, "the lease", func() bool { _, ok := w.book(1); return ok })
}

// TestSlow: who does not finish a question, or does not begin one, is let go.
func TestSlow(t *testing.T) {
	for name, sent := range map[string]string{
		"nothing":       "",
		"half a header": "GET /v1/leases HTTP/1.1\r\nHost: ag",
		"half a body":   "POST /v1/leases HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{",
		"one question":  "GET /healthz HTTP/1.1\r\nHost: agent\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.stop()
			w.times = connTimes{header: 20 * time.Millisecond, body: 20 * time.Millisecond, idle: 20 * time.Millisecond}
			w.start()
			c, err := w.as(annUID).dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); err != nil {
				t.Errorf("%v: expected the end of the connection", err)
			}
			until(t, "it is let go", func() bool { return w.connections() == 0 })
		})
	}
}

// TestPipelined: several questions in one packet are answered in their order.
func TestPipelined(t *testing.T) {
	w := newWorld(t, nil)
	c, err := w.as(annUID).dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, strings.Repeat("GET /v1/leases/7 HTTP/1.1\r\nHost: agent\r\n\r\nGET /healthz HTTP/1.1\r\nHost: agent\r\n\r\n", 3))
	r := bufio.NewReader(c)
	for i := range 6 {
		answer, err := http.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != []int{404, 200}[i%2] {
			t.Fatalf("answer %d: %v, %v", i, answer, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
	}
}
