package viewer

import (
	"net/http"
	"strings"
)

// deviceAnswer answers a question about a device. What it returns goes out as JSON, or, if
// it is raw, as it is.
type deviceAnswer func(d *Device, q *query) (any, error)

// raw is an answer that is no JSON.
type raw []byte

// deviceAnswers are the questions about a device, by what follows rec/{id}/{dev} in the
// path. To add one, write its function in a file answer_*.go and add it here and to
// docs/formats/view-api.md.
func deviceAnswers() map[string]deviceAnswer {
	return map[string]deviceAnswer{
		"":                         answerDevice,
		"/explain":                 answerExplain,
		"/tile/{kind}/{level}/{i}": answerTile,
		"/rule/{family}/{name}":    answerRule,
		"/moment":                  answerMoment,
		"/block/{block}":           answerBlock,
		"/event/{event}":           answerEvent,
		"/next":                    answerNext,
		"/flame":                   answerFlame,
		"/table/{what}":            answerTable,
		"/tune":                    answerTune,
	}
}

// sessionAnswer answers a question about all that was read.
type sessionAnswer func(s *session, q *query) (any, error)

// sessionAnswers are the questions that name no one device in the path.
func sessionAnswers() map[string]sessionAnswer {
	return map[string]sessionAnswer{"compare": answerCompare, "command": answerCommand}
}

const api = "/api/v1/"

// routes finds the function for a request.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for path, answer := range deviceAnswers() {
		mux.HandleFunc(api+"rec/{id}/{dev}"+path, func(w http.ResponseWriter, r *http.Request) { s.device(w, r, answer) })
	}
	for path, answer := range sessionAnswers() {
		mux.HandleFunc(api+path, func(w http.ResponseWriter, r *http.Request) {
			s.reply(w, r, never, func(q *query) (any, error) { return answer(s.session, q) })
		})
	}
	mux.HandleFunc(api+"session", func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, never, func(*query) (any, error) { return s.sessionJSON(), nil })
	})
	mux.HandleFunc(api+"progress", s.progress)
	for _, path := range []string{api, strings.TrimSuffix(api, "/")} { // the mux itself would send the second one to the first
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.refuse(w, notFoundf("no question %.80q; docs/formats/view-api.md lists them", r.URL.Path))
		})
	}
	mux.HandleFunc("/", s.asset)
	return mux
}

// device answers a question about the device that the path names.
func (s *Server) device(w http.ResponseWriter, r *http.Request, answer deviceAnswer) {
	s.reply(w, r, immutable, func(q *query) (any, error) {
		dev, err := wholeNumber(q.part("dev"))
		if err != nil || dev < 0 {
			return nil, badRequestf("%.40q in the path is not the number of a device", q.part("dev"))
		}
		d, err := s.session.device(q.part("id"), dev)
		if err != nil {
			return nil, err
		}
		return answer(d, q)
	})
}
