package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
)

// route is one question of the API. docs/openapi.json lists the same; a test compares them.
type route struct {
	method, path string
	admin        bool // for admins alone
	changes      bool // counts against what a user may ask for in a while
	ok           int  // the status of success
	answer       func(a *Agent, q *question) (any, error)
}

// routes lists the API.
func routes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/agent", ok: 200, answer: (*Agent).getAbout},
		{method: http.MethodGet, path: "/v1/state", ok: 200, answer: (*Agent).getState},
		{method: http.MethodGet, path: "/v1/devices", ok: 200, answer: (*Agent).getDevices},
		{method: http.MethodPost, path: "/v1/devices/{uuid}/cordon", admin: true, changes: true, ok: 200, answer: (*Agent).postCordon},
		{method: http.MethodPost, path: "/v1/devices/{uuid}/uncordon", admin: true, changes: true, ok: 200, answer: (*Agent).postUncordon},
		{method: http.MethodPost, path: "/v1/devices/{uuid}/drain", admin: true, changes: true, ok: 200, answer: (*Agent).postDrain},
		{method: http.MethodGet, path: "/v1/leases", ok: 200, answer: (*Agent).getLeases},
		{method: http.MethodPost, path: "/v1/leases", changes: true, ok: 201, answer: (*Agent).postLease},
		{method: http.MethodGet, path: "/v1/leases/{id}", ok: 200, answer: (*Agent).getLease},
		{method: http.MethodDelete, path: "/v1/leases/{id}", changes: true, ok: 200, answer: (*Agent).deleteLease},
		{method: http.MethodGet, path: "/v1/leases/{id}/explain", ok: 200, answer: (*Agent).getExplain},
		{method: http.MethodPost, path: "/v1/leases/{id}/extend", changes: true, ok: 200, answer: (*Agent).postExtend},
		{method: http.MethodPost, path: "/v1/report", ok: 200, answer: (*Agent).postReport},
		{method: http.MethodGet, path: "/v1/usage", ok: 200, answer: (*Agent).getUsage},
		{method: http.MethodGet, path: "/v1/events", ok: 200, answer: (*Agent).getEvents},
	}
}

// question is a request with who makes it.
type question struct {
	*http.Request
	w   http.ResponseWriter
	who *caller
}

// api answers the questions of the socket.
func (a *Agent) api(limits *limits) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range routes() {
		methods[r.path] = append(methods[r.path], r.method)
		mux.Handle(r.method+" "+r.path, a.counted(r.path, a.serveRoute(r, limits)))
	}
	for path, allowed := range methods {
		mux.Handle(path, a.counted(path, wrongMethod(allowed)))
	}
	a.healthRoutes(mux)
	mux.Handle("/", a.counted("", func(_ http.ResponseWriter, r *http.Request) error {
		return refusef(http.StatusNotFound, codeUnknown, "there is no %.200q", r.URL.Path)
	}))
	return onlyPlainPaths(mux)
}

// answerer answers, or returns why not.
type answerer func(w http.ResponseWriter, r *http.Request) error

// counted answers by next, or with its error, and counts the answer.
func (a *Agent) counted(route string, next answerer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		if err := recovered(next, seen, r); err != nil {
			e := answerOf(err)
			if e.cause != nil {
				a.Log.Error("a question was not answered", "method", r.Method, "path", r.URL.Path, "status", e.status, "error", e.cause)
			}
			e.write(seen)
		}
		a.Counters.Request(route, r.Method, seen.status)
	})
}

// recovered answers by next. A fault of the agent that ends one answer must not end the watching
// of all leases.
func recovered(next answerer, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	return next(w, r)
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serveRoute answers a question of a route: who asks, whether they may, the answer.
func (a *Agent) serveRoute(r route, limits *limits) answerer {
	return func(w http.ResponseWriter, request *http.Request) error {
		conn := connOf(request.Context())
		if conn.surplus {
			w.Header().Set("Connection", "close")
			return busy("more than %d connections of one user", limits.perUser)
		}
		who, err := a.callerOf(&conn.peer)
		if err != nil {
			return err
		}
		switch {
		case r.admin && !who.admin:
			return forbiddenf("%s is no admin: only root, the agent's own user and members of the admin group may do that", who.user)
		case r.changes && !who.admin && !limits.spend(who.uid, a.Clock.Now()):
			return busy("more than %d changes in a row, or %d a second, of one user", changesBurst, changesPerSecond)
		}
		answer, err := r.answer(a, &question{request, w, who})
		if err != nil {
			return err
		}
		writeJSON(w, r.ok, answer)
		return nil
	}
}

func busy(format string, args ...any) *apiError {
	e := refusef(http.StatusTooManyRequests, codeBusy, format, args...)
	e.after = 1
	return e
}

// wrongMethod answers for a path that has other methods.
func wrongMethod(allowed []string) answerer {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return refusef(http.StatusMethodNotAllowed, codeMethod, "method %.20q: expected %s", r.Method, strings.Join(allowed, " or "))
	}
}

// onlyPlainPaths answers what a mux would answer with a redirect, or look at for too long.
func onlyPlainPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		switch {
		case len(p)+len(r.URL.RawQuery) > maxURL:
			refusef(http.StatusRequestURITooLong, codeTooLarge, "the path and its parameters are longer than %d bytes", maxURL).write(w)
		case !strings.HasPrefix(p, "/") || path.Clean(p) != p:
			refusef(http.StatusNotFound, codeUnknown, "there is no %.200q", p).write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// healthRoutes are those that the metrics' address has too: whether the agent lives, and
// whether it knows its machine.
func (a *Agent) healthRoutes(mux *http.ServeMux) {
	mux.Handle("GET /healthz", a.counted("/healthz", func(w http.ResponseWriter, _ *http.Request) error {
		return writeText(w, "ok")
	}))
	mux.Handle("GET /readyz", a.counted("/readyz", func(w http.ResponseWriter, _ *http.Request) error {
		if err := a.Ready(); err != nil {
			return unready(nil, "%v", err)
		}
		return writeText(w, "ok")
	}))
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.Handle(path, a.counted(path, wrongMethod([]string{http.MethodGet})))
	}
}

// answerTime is how long a client may take to read an answer.
const answerTime = 10 * time.Second

// begin sets what all answers have, and how long the client has to read them.
func beginAnswer(w http.ResponseWriter, kind string, status int) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	// The writer of a test has no deadline to set.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	w.WriteHeader(status)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a float that is no number, which no answer has
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written"}}`)
	}
	beginAnswer(w, "application/json", status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone hears nothing
}

func writeText(w http.ResponseWriter, text string) error {
	beginAnswer(w, "text/plain; charset=utf-8", http.StatusOK)
	_, err := w.Write([]byte(text + "\n"))
	if err != nil {
		return nil // the client is gone
	}
	return nil
}

// getAbout answers GET /v1/agent.
func (a *Agent) getAbout(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	s, v := a.settings.Load(), a.now()
	about := client.About{Version: a.Version, Started: a.started.UTC(), Boot: a.Boot, Probe: s.Probe, Ready: true, You: q.who.about()}
	if v.readings > 0 {
		about.Probe = v.reading.Source
	}
	if err := a.Ready(); err != nil {
		about.Ready, about.Problem = false, err.Error()
	}
	return about, nil
}

// getState answers GET /v1/state.
func (a *Agent) getState(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	return a.state(q.who), nil
}

// postReport answers POST /v1/report.
func (a *Agent) postReport(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	var r client.Report
	if err := readBody(q.w, q.Request, &r); err != nil {
		return nil, err
	}
	return a.report(q.Context(), q.who, r)
}

// lasting is a question's context without the end of its connection: a client that has closed
// its half may still read, and one that died after it asked for a change is found by its
// process.
func (q *question) lasting(most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(q.Context()), most)
}

// decisionTime is how long a change may wait for the ledger.
const decisionTime = 30 * time.Second
