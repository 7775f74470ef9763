package viewer

import (
	"net"
	"net/http"
	"path"
	"strings"
)

// maxURL is the longest path with parameters that is looked at: a search text of a few
// hundred bytes fits many times.
const maxURL = 8 << 10

// policy lets the page load its own files only: neither scripts nor styles in the page,
// nothing from another server, and no other page around it.
const policy = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard answers what needs no answer by itself, and passes the rest on.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if err := check(r); err != nil {
			if e, ok := err.(*statusError); ok && e.status == http.StatusMethodNotAllowed {
				h.Set("Allow", http.MethodGet)
			}
			s.refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check refuses what no page of this server asks. Another site's page can make a browser
// send requests here under that site's name (DNS rebinding), which Host shows, or under
// this one's, which Origin and Sec-Fetch-Site show.
func check(r *http.Request) error {
	if r.Method != http.MethodGet {
		return statusErrorf(http.StatusMethodNotAllowed, "method %.20q; every question is a GET", r.Method)
	}
	if len(r.URL.Path)+len(r.URL.RawQuery) > maxURL {
		return statusErrorf(http.StatusRequestURITooLong, "the path and its parameters are longer than %d bytes", maxURL)
	}
	if !isLoopback(r.Host) {
		return statusErrorf(http.StatusForbidden, "Host %.80q is not this server; it is 127.0.0.1 or localhost", r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return statusErrorf(http.StatusForbidden, "Origin %.80q is not this server", origin)
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.URL.Path != "/" {
			return statusErrorf(http.StatusForbidden, "the question comes from the page of another server")
		}
	}
	if p := r.URL.Path; !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		return notFoundf("path %.80q is not written as the page writes it", p)
	}
	return nil
}

// isLoopback tells whether a Host names this machine to itself. The port is left open: at
// the other end of a tunnel it may be another one, and no page of another site can have
// any of these names.
func isLoopback(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if n, err := wholeNumber(port); err != nil || n < 1 || n > 65535 {
			return false
		}
		name = h
	}
	switch strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")) {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}
