package viewer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Config says what to serve.
type Config struct {
	Version string // of the program
	Files   []File
	Page    fs.FS // the page's files
	Live    bool  // read the page's files at every request
	Now     func() time.Time
	Log     io.Writer // for what goes wrong while serving
}

// Limits of a connection. Questions are short, and come from this machine or through a
// tunnel.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
)

// Server answers the questions of the page.
type Server struct {
	cfg      Config
	assets   *assets
	session  *session
	life     atomic.Pointer[context.Context] // of Load; nil before it
	handler  http.Handler
	watchers chan struct{}
}

// New makes a server. It reads nothing yet but the page's own files.
func New(cfg Config) (*Server, error) {
	a, err := newAssets(cfg.Page, cfg.Live)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, assets: a, session: newSession(cfg.Files), watchers: make(chan struct{}, maxWatchers)}
	s.handler = s.guard(s.routes())
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Load reads all files. When a page is opened or reloaded later, and until ctx has ended, it
// reads those again that have changed. It returns when that is done or ctx has ended, with an error for
// each file that cannot be shown.
func (s *Server) Load(ctx context.Context) []error {
	s.life.Store(&ctx)
	s.session.load(ctx)
	return s.session.failures()
}

// Listen takes a port of this machine that others cannot reach; 0 takes a free one.
func Listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Serve answers requests until ctx has ended, and those under way to their end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	connections, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return connections },
		ErrorLog:          log.New(s.cfg.Log, "", 0),
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		cancel() // ends the connections that wait for changes, which nothing else does
		last, end := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer end()
		if server.Shutdown(last) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if stop() { // it did not end because ctx did
		cancel()
		return err
	}
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
