package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
)

// serve answers at a socket, and returns a client for it. The folder is not the test's own:
// the path of a socket has some hundred bytes at most.
func serve(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "ullage")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skipf("no Unix sockets here: %v", err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	c := client.New(l.Addr().String())
	t.Cleanup(c.Close)
	return c
}

var since = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// calls are all that can be asked, with what goes over the socket.
var calls = []struct {
	call func(context.Context, *client.Client) (any, error)
	want string // method, path and query, body
	json string // the answer
}{
	{func(ctx context.Context, c *client.Client) (any, error) { return c.About(ctx) }, "GET /v1/agent ", `{"version":"v1","started":"2026-11-30T00:00:00Z","boot":"b","probe":"auto","ready":true,"you":{"uid":7,"user":"ann","admin":false}}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		d, err := c.Devices(ctx)
		return client.Devices{Devices: d}, err
	}, "GET /v1/devices ", `{"devices":[{"uuid":"GPU-1","model":"H200","capacity_bytes":4,"granted_bytes":1,"foreign_bytes":1,"available_bytes":2}]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		l, err := c.Leases(ctx, false)
		return client.Leases{Leases: l}, err
	}, "GET /v1/leases ", `{"leases":[]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		l, err := c.Leases(ctx, true)
		return client.Leases{Leases: l}, err
	}, "GET /v1/leases?all=true ", `{"leases":[]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Submit(ctx, client.Request{MemoryBytes: 5, Key: "k"})
	}, `POST /v1/leases {"memory_bytes":5,"key":"k"}`, leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Lease(ctx, 3) }, "GET /v1/leases/3 ", leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Wait(ctx, 3, "queued", 1500*time.Millisecond)
	}, "GET /v1/leases/3?from=queued&wait=1500 ", leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Explain(ctx, 3) }, "GET /v1/leases/3/explain ", `{"lease":` + leaseJSON + `,"reasons":[{"code":"memory","text":"no"}]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Extend(ctx, 3, client.Meant{}, time.Hour)
	}, `POST /v1/leases/3/extend {"ttl_ms":3600000}`, leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Release(ctx, 3, client.Meant{}) }, "DELETE /v1/leases/3 ", leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.GiveBack(ctx, &client.Lease{ID: 3, Key: "k", User: "ann", Epoch: 7})
	}, "DELETE /v1/leases/3?epoch=7&key=k&user=ann ", leaseJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Cordon(ctx, "GPU-a/b", true) }, "POST /v1/devices/GPU-a%2Fb/cordon {}", deviceJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Cordon(ctx, "GPU-1", false) }, "POST /v1/devices/GPU-1/uncordon {}", deviceJSON},
	{func(ctx context.Context, c *client.Client) (any, error) { return c.Drain(ctx, "GPU-1", time.Minute) }, `POST /v1/devices/GPU-1/drain {"grace_ms":60000}`, deviceJSON},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Report(ctx, client.Report{Devices: []client.ReportDevice{}})
	}, `POST /v1/report {"devices":[]}`, `{"period_ms":1000,"limits":[]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Usage(ctx, "user", since, since.Add(time.Millisecond))
	}, "GET /v1/usage?by=user&since=2026-11-01T00%3A00%3A00Z&until=2026-11-01T00%3A00%3A00.001Z ", `{"by":"user","since":"2026-11-01T00:00:00Z","until":"2026-11-30T00:00:00Z","usage":[{"name":"ann","leases":1,"gib_hours":1,"gib_seconds":3600}]}`},
	{func(ctx context.Context, c *client.Client) (any, error) {
		return c.Events(ctx, 4, 3, 10)
	}, "GET /v1/events?lease=3&limit=10&since=4 ", `{"events":[{"seq":5,"time":"2026-11-30T00:00:00.000Z","actor":"ann","kind":"end","lease":3,"body":{"id":3}}],"next":5}`},
}

// TestCalls: each call asks for what docs/api.md says, and returns what is answered.
func TestCalls(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.want, func(t *testing.T) {
			var asked string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = r.Method + " " + r.RequestURI + " " + string(body)
				io.WriteString(w, tt.json)
			})
			got, err := tt.call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if asked != tt.want {
				t.Errorf("asked %q, want %q", asked, tt.want)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.json, string(text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

const (
	leaseJSON  = `{"id":3,"state":"queued","user":"ann","memory_bytes":5,"device_count":1,"grade":"self","shares":[],"queued":"2026-11-30T00:00:00Z"}`
	deviceJSON = `{"uuid":"GPU-1","model":"H200","capacity_bytes":4,"granted_bytes":1,"foreign_bytes":1,"available_bytes":2}`
)

func TestAnswerErrors(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		refused bool
	}{
		{409, `{"error":{"code":"never","message":"no device has 300 GiB","hint":"ask for less","lease":7}}`, true},
		{403, `{"error":{"code":"forbidden","message":"lease 7 is bob's"}}`, true},
		{404, `{"error":{"code":"unknown","message":"there is no lease 7"}}`, false},
		{429, `{"error":{"code":"busy","message":"too many requests"}}`, false},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		_, err := c.Lease(t.Context(), 7)
		var e *client.AnswerError
		if !errors.As(err, &e) {
			t.Errorf("HTTP %d: error %v", tt.status, err)
			continue
		}
		var want client.Error
		if err := json.Unmarshal([]byte(tt.body), &want); err != nil {
			t.Fatal(err)
		}
		if e.Status != tt.status || e.ErrorBody != want.Error || e.Refused() != tt.refused || e.RetryAfter != 3*time.Second || e.Error() != want.Error.Message || e.Hint() != want.Error.Hint {
			t.Errorf("HTTP %d: %+v", tt.status, e)
		}
	}
}

// TestNoAgent: whoever answers is no agent, or nobody does.
func TestNoAgent(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") },
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); io.WriteString(w, `{"error":1}`) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost/", http.StatusFound)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		},
		"empty":          func(http.ResponseWriter, *http.Request) {},
		"error and HTML": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, handler)
			_, err := c.About(t.Context())
			var e *client.UnreachableError
			if !errors.As(err, &e) || e.Socket != c.Socket() || e.Lost() == errors.Is(err, client.ErrNoAgent) {
				t.Errorf("error %v, want one of an agent that cannot be reached", err)
			}
		})
	}
	t.Run("no socket", func(t *testing.T) {
		_, err := client.New(filepath.Join(t.TempDir(), "none")).About(t.Context())
		var e *client.UnreachableError
		if !errors.As(err, &e) || !strings.Contains(e.Hint(), "is it started?") || e.Lost() {
			t.Errorf("error %v", err)
		}
	})
}

// TestContext: a call that waits ends with its context, and with its error.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := c.Wait(ctx, 1, "queued", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestDefaultSocket(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		uid  int
		is   bool // the machine's agent is there
		want string
	}{
		{map[string]string{"ULLAGE_SOCKET": "/x/s", "XDG_RUNTIME_DIR": "/run/user/7"}, 7, true, "/x/s"},
		{map[string]string{"ULLAGE_SOCKET": "", "XDG_RUNTIME_DIR": "/run/user/7"}, 7, true, client.SystemSocket},
		{map[string]string{"XDG_RUNTIME_DIR": "/rt"}, 7, false, filepath.FromSlash("/rt/ullage/agent.sock")},
		{nil, 7, false, filepath.FromSlash("/run/user/7/ullage/agent.sock")},
		{nil, 0, false, client.SystemSocket},
	} {
		env := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		if got := client.DefaultSocket(env, tt.uid, func(path string) bool { return tt.is && path == client.SystemSocket }); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
