package node

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/metrics"
)

// TestSocket: anybody may connect, whatever the umask; a second agent is refused, also one
// that does not know of the lock; what a dead agent left is replaced; a file that is no socket
// stays; and nothing is left at the end.
func TestSocket(t *testing.T) {
	w := newWorld(t, nil)
	path := w.settings.Load().Socket
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o666 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	var used *SocketInUseError
	if _, _, err := listenUnix(path); !errors.As(err, &used) || used.Hint() == "" {
		t.Errorf("a second agent: %v", err)
	}
	w.stop()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}

	foreign, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := listenUnix(path); !errors.As(err, &used) {
		t.Errorf("where another program listens: %v", err)
	}
	foreign.SetUnlinkOnClose(false) // as if it had been killed
	foreign.Close()
	w.start()
	w.as(annUID).ask("GET", "/v1/agent", nil, 200, nil)
	w.stop()

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := listenUnix(path); err == nil {
		t.Error("a file that is no socket was replaced")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, err := listenUnix(filepath.Join(path, "agent.sock")); err == nil {
		t.Error("a folder that is a file was taken")
	}
}

// TestSocketIsGone: an agent whose socket was taken away ends with an error, and leaves what stands in
// its place alone.
func TestSocketIsGone(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("another's"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			path := w.Settings.Socket
			ended := make(chan error, 1)
			go func() { ended <- w.front.guard(t.Context()) }()
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			var err error
			until(t, "the agent notices", func() bool {
				w.clock.Advance(guardPause)
				select {
				case err = <-ended:
					return true
				default:
					return false
				}
			})
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("it ends with %v", err)
			}
			w.stop()
			if text, err := os.ReadFile(path); name == "replaced" && (err != nil || string(text) != "another's") {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// TestMetricsAddress: scrapes and health have an address of their own, which has nothing else.
func TestMetricsAddress(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Settings.Metrics = "127.0.0.1:0"
		o.Metrics = func(s metrics.Source) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !s.Status().Ready || len(s.State().Devices) != 2 {
					w.WriteHeader(http.StatusInternalServerError)
				}
			})
		}
	})
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/v1/leases": 404, "/": 404} {
		answer, err := http.Get("http://" + w.front.metrics.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Error(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if answer, _ := w.as(annUID).raw("GET", "/metrics", ""); answer.StatusCode != 404 {
		t.Errorf("on the socket: %d", answer.StatusCode)
	}
}

// TestRun: an agent that is told to end does, and its ledger can be opened again.
func TestRun(t *testing.T) {
	w := newWorld(t, nil)
	w.stop()
	w.publish(&view{}) // as at the start
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	w.Started = func() { close(answered) }
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	select {
	case <-answered:
	case err := <-ended:
		t.Fatal(err)
	}
	w.as(annUID).ask("GET", "/healthz", nil, 200, nil)
	w.as(annUID).refused("GET", "/readyz", nil, 503, "unready") // its probe finds no GPU
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReload: what can change does, and what cannot is told.
func TestReload(t *testing.T) {
	w := newWorld(t, nil)
	bob := w.as(bobUID)
	next := *w.settings.Load()
	next.Policy.Limits, next.AdminGroup, next.Socket = nil, "staff", "/elsewhere.sock"
	later, err := w.Reload(t.Context(), next)
	if err != nil || len(later) != 1 || later[0] != "socket" {
		t.Errorf("%v, %v", later, err)
	}
	bob.ask("POST", "/v1/leases", map[string]any{"memory_bytes": int64(60) << 30}, 201, nil) // above the limit of before
	bob.ask("POST", "/v1/devices/GPU-0/cordon", struct{}{}, 200, nil)                        // an admin now
	next.Policy.AgeMS = -1
	if _, err := w.Reload(t.Context(), next); err == nil {
		t.Error("a policy that cannot be was taken")
	}
}
