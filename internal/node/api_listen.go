package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/ledger"
)

// connTimes is how long a client may take. Questions are short and come from this machine.
type connTimes struct {
	header time.Duration // to say what it asks
	body   time.Duration // to have said all
	idle   time.Duration // from one question to the next
}

func usualTimes() connTimes {
	return connTimes{header: 5 * time.Second, body: 10 * time.Second, idle: time.Minute}
}

const (
	// writeTimeout is for a whole answer, with the time that a client may wait for it.
	writeTimeout = maxWaitMS*time.Millisecond + 2*answerTime
	maxHeader    = 16 << 10
	dialTimeout  = time.Second
	endTime      = 3 * time.Second // for what is under way when the agent ends
)

// front is what the agent listens on.
type front struct {
	agent   *Agent
	limits  *limits
	socket  *net.UnixListener
	file    fs.FileInfo // the socket's
	unlock  func() error
	metrics net.Listener // nil: none
}

// SocketInUseError says that somebody listens on the socket that an agent is to listen on.
type SocketInUseError struct{ Path string }

func (e *SocketInUseError) Error() string { return e.Path + ": another agent listens there" }

// Hint says what to do.
func (e *SocketInUseError) Hint() string {
	return "one agent of a machine is enough; 'systemctl status ullage-agent' shows the one that runs, --socket names another place"
}

// listen takes the socket and the address for metrics.
func (a *Agent) listen() (f *front, err error) {
	f = &front{agent: a, limits: newLimits(maxFiles())}
	if f.socket, f.unlock, err = listenUnix(a.Settings.Socket); err != nil {
		return nil, err
	}
	if f.file, err = os.Lstat(a.Settings.Socket); err != nil {
		f.close()
		return nil, err
	}
	if a.Settings.Metrics == "" {
		return f, nil
	}
	if f.metrics, err = net.Listen("tcp", a.Settings.Metrics); err != nil {
		f.close()
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return f, nil
}

// listenUnix makes the socket. One that an agent left which has ended is replaced; one that
// somebody listens on is not, nor a file that is none. The lock beside it keeps two agents
// that start at the same time from taking each other's.
func listenUnix(path string) (l *net.UnixListener, unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	unlock, err = ledger.Lock(path)
	if locked := (*ledger.LockedError)(nil); errors.As(err, &locked) {
		return nil, nil, &SocketInUseError{path}
	}
	if err != nil {
		return nil, nil, err
	}
	if err = removeStale(path); err == nil {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err == nil {
		// Anybody may connect: who it is, the kernel says.
		err = os.Chmod(path, 0o666)
	}
	if err != nil {
		if l != nil {
			l.Close()
		}
		return nil, nil, errors.Join(err, unlock())
	}
	return l, unlock, nil
}

// removeStale removes a socket that nobody listens on.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return &fs.PathError{Op: "listen", Path: path, Err: errors.New("there is a file that is no socket: it is left alone")}
	}
	if c, err := net.DialTimeout("unix", path, dialTimeout); err == nil {
		c.Close()
		return &SocketInUseError{path}
	}
	return os.Remove(path)
}

// close gives back what listen took. What serve has closed already is closed.
func (f *front) close() {
	f.socket.Close()
	if f.metrics != nil {
		f.metrics.Close()
	}
	if err := f.unlock(); err != nil {
		f.agent.Log.Warn("the lock of the socket", "error", err)
	}
}

// guardPause is the time between two looks at whether the socket is still in its place.
const guardPause = 10 * time.Second

// guard returns an error when nobody can reach the agent any more: its socket was removed, or
// another file put in its place. What starts the agent again gives it a socket; jobs go on
// meanwhile. A file that is not the agent's is left where it is.
func (f *front) guard(ctx context.Context) error {
	path := f.agent.Settings.Socket
	var err error
	for err == nil {
		over, stop := f.agent.Clock.Timer(guardPause)
		select {
		case <-over:
		case <-ctx.Done():
			stop()
			return nil
		}
		var now fs.FileInfo
		if now, err = os.Lstat(path); err == nil && !os.SameFile(f.file, now) {
			err = &fs.PathError{Op: "listen", Path: path, Err: errors.New("another file is in its place")}
		}
	}
	f.socket.SetUnlinkOnClose(false)
	return fmt.Errorf("the agent's socket is gone, so that nobody could reach it: %w", err)
}

// serve answers until ctx has ended, and then what is under way.
func (f *front) serve(ctx context.Context) error {
	servers := map[net.Listener]*http.Server{}
	api := f.server(f.agent.api(f.limits))
	api.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	servers[&door{f.socket, f.agent, f.limits}] = api
	if f.metrics != nil {
		servers[f.metrics] = f.server(f.agent.scrapes())
	}
	failed := make(chan error, len(servers))
	for l, s := range servers {
		go func() { failed <- s.Serve(l) }()
	}
	var err error
	left := len(servers)
	select {
	case err = <-failed:
		left--
	case <-ctx.Done():
	}
	for _, s := range servers {
		shutDown(s)
	}
	for range left {
		<-failed
	}
	return err
}

// server is one whose questions end when it is shut down.
func (f *front) server(h http.Handler) *http.Server {
	base, cancel := context.WithCancel(context.Background())
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: f.agent.times.header,
		ReadTimeout:       f.agent.times.body,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       f.agent.times.idle,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(f.agent.Log.Handler(), slog.LevelDebug),
	}
	s.RegisterOnShutdown(cancel) // those that wait for a change answer with what is
	return s
}

// shutDown ends a server, and those of its connections that do not end by themselves.
func shutDown(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		s.Close()
	}
}

// scrapes answers on the address for metrics.
func (a *Agent) scrapes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics(a))
	a.healthRoutes(mux)
	return mux
}

// door lets connections in, with who is at the other end.
type door struct {
	*net.UnixListener
	agent  *Agent
	limits *limits
}

// conn is a connection with its peer.
type conn struct {
	*net.UnixConn
	peer    Peer
	surplus bool // there are too many of this user's
	leave   func()
}

// Close ends the connection, once or more.
func (c *conn) Close() error {
	c.leave()
	return c.UnixConn.Close()
}

// Accept returns the next connection whose peer is known, and has not too many.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.AcceptUnix()
		if err != nil {
			return nil, err
		}
		peer, err := d.agent.PeerOf(c)
		if err != nil {
			d.agent.Log.Warn("a connection was closed: the kernel does not tell whose it is", "error", err)
			c.Close()
			continue
		}
		surplus, refused := d.limits.enter(peer.UID)
		if refused {
			c.Close()
			continue
		}
		return &conn{c, peer, surplus, sync.OnceFunc(func() { d.limits.leave(peer.UID) })}, nil
	}
}
