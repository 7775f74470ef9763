package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// How long an answer may be kept.
const (
	never     = "no-store"
	private   = "private, no-cache"
	immutable = "private, max-age=31536000, immutable" // its path names the content
)

// minGzip is the size of an answer from which compressing it is worth the time: over the
// network by a tunnel it saves most of what is sent. A tile of 20 KiB takes 0.2 ms.
const minGzip = 4 << 10

// reply answers a request with what answer returns.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, cache string, answer func(*query) (any, error)) {
	q, err := newQuery(r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	v, err := answer(q)
	if err == nil {
		err = q.end()
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	if s.assets.dev() {
		cache = never
	}
	w.Header().Set("Cache-Control", cache)
	if body, ok := v.(raw); ok {
		w.Header().Set("Content-Type", "application/octet-stream")
		send(w, r, body)
		return
	}
	body, err := encode(v)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send(w, r, body)
}

// encode writes v as every command writes JSON, without the spaces.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// send writes the body of an answer, compressed if that is worth it and is understood.
func send(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Vary", "Accept-Encoding")
	if len(body) >= minGzip && takesGzip(r) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is one that there is
		z.Write(body)                                   // a Buffer never fails
		z.Close()
		body = b.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body) // where the client has gone, nobody is left to be told
}

// takesGzip tells whether the client named gzip among what it understands, and not with a
// weight of 0, which says that it does not.
func takesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, q, given := strings.Cut(weight, "=")
		n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !given || err != nil || n > 0
	}
	return false
}

// errorJSON is an error for the client.
type errorJSON struct {
	Error struct {
		Message string `json:"message"`
		At      *int   `json:"at,omitempty"` // of a word of a query, in UTF-16 units
		Length  *int   `json:"length,omitempty"`
	} `json:"error"`
}

// refuse answers with an error: the client's, or else one of the program's own.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var v errorJSON
	if e := new(statusError); errors.As(err, &e) {
		status = e.status
		if p := e.place; p != nil {
			v.Error.At, v.Error.Length = &p.at, &p.length
		}
	}
	v.Error.Message = err.Error()
	body, jsonErr := encode(v)
	if jsonErr != nil {
		body = []byte(`{"error":{"message":"the error cannot be written"}}`)
	}
	w.Header().Set("Cache-Control", never)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Encoding")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
