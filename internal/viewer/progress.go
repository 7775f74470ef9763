package viewer

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// progressPause is the least time between two messages on one connection.
	progressPause = 250 * time.Millisecond
	// progressBeat is how long a connection is silent at most. A page that hears nothing
	// for longer knows that the server is gone, and files that changed on disk are seen.
	progressBeat = 5 * time.Second
	// maxWatchers is how many connections may wait for changes at a time. Browsers open
	// six to one server.
	maxWatchers = 64
)

// progress sends the session at every change, until the client goes or the server ends.
func (s *Server) progress(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		s.refuse(w, badRequestf("'progress' takes no parameters"))
		return
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		s.refuse(w, statusErrorf(http.StatusTooManyRequests, "%d pages watch already", maxWatchers))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", never)
	out := http.NewResponseController(w)
	for {
		changed := s.session.next()
		if s.sendSession(w, out) != nil {
			return
		}
		if !s.pause(r, progressPause, nil) || !s.pause(r, progressBeat, changed) {
			return
		}
	}
}

// sendSession sends one message.
func (s *Server) sendSession(w http.ResponseWriter, out *http.ResponseController) error {
	body, err := encode(s.sessionJSON())
	if err != nil {
		return err
	}
	if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "event: session\ndata: %s\n", body); err != nil { // body ends in a line end
		return err
	}
	return out.Flush()
}

// pause waits for d, or until something is closed; it tells whether to go on.
func (s *Server) pause(r *http.Request, d time.Duration, sooner <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-sooner:
	case <-r.Context().Done():
		return false
	}
	return true
}
