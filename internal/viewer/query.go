package viewer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// statusError is an error for the client, with its HTTP status.
type statusError struct {
	status  int
	message string
	place   *place // of the word of a query that it is about, or nil
}

// place is a part of a parameter, in UTF-16 units.
type place struct{ at, length int }

func (e *statusError) Error() string { return e.message }

// statusErrorf is an error that the client is told with a status of 400 to 499.
func statusErrorf(status int, format string, args ...any) error {
	return &statusError{status: status, message: fmt.Sprintf(format, args...)}
}

// badRequestf is an error about a value of the request.
func badRequestf(format string, args ...any) error {
	return statusErrorf(http.StatusBadRequest, format, args...)
}

// notFoundf tells that what a request names is not there.
func notFoundf(format string, args ...any) error {
	return statusErrorf(http.StatusNotFound, format, args...)
}

// query reads what a request says: the parts of its path that have a name, and its
// parameters. Its methods keep the first error, which end returns; what they return
// then is not to be used. A parameter that nobody asked for is an error too: a page
// that misspells one must not get the answer to another question.
type query struct {
	ended  <-chan struct{} // closed when nobody waits for the answer any more
	part   func(name string) string
	values url.Values
	asked  []string
	err    error
}

// newQuery reads the parameters of a request.
func newQuery(r *http.Request) (*query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequestf("the parameters cannot be read: %v", err)
	}
	for name, list := range values {
		if len(list) > 1 {
			return nil, badRequestf("parameter %.40q is given %d times", name, len(list))
		}
	}
	return &query{ended: r.Context().Done(), part: r.PathValue, values: values}, nil
}

// fail keeps the first error.
func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// end returns the first error, or one about a parameter that nobody asked for.
func (q *query) end() error {
	if q.err != nil {
		return q.err
	}
	for name := range q.values {
		if !slices.Contains(q.asked, name) {
			return badRequestf("unknown parameter %.40q", name)
		}
	}
	return nil
}

// has tells whether a parameter is given.
func (q *query) has(name string) bool {
	q.asked = append(q.asked, name)
	return q.values.Has(name)
}

// text returns a parameter, or "" where it is not given.
func (q *query) text(name string) string {
	q.asked = append(q.asked, name)
	return q.values.Get(name)
}

// word returns a parameter that is one of a few words; the first is the default.
func (q *query) word(name string, words ...string) string {
	if !q.has(name) {
		return words[0]
	}
	w := q.values.Get(name)
	if !slices.Contains(words, w) {
		q.fail(badRequestf("%s=%.40q is not one of %q", name, w, words))
	}
	return w
}

// flag returns a parameter that is 0 or 1.
func (q *query) flag(name string, otherwise bool) bool {
	return q.number(name, boolInt(otherwise), 0, 1) == 1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// number returns a parameter that is a whole number from low to high.
func (q *query) number(name string, otherwise, low, high int) int {
	if !q.has(name) {
		return otherwise
	}
	return q.inRange(name, q.values.Get(name), low, high)
}

// event returns a parameter that is an event of d, or -1 for the moment before the first.
func (q *query) event(name string, d *Device, otherwise int) int {
	return q.number(name, otherwise, -1, d.Events()-1)
}

// partNumber returns a part of the path that is a whole number from 0 to high; one that
// is larger is not there.
func (q *query) partNumber(name string, high int) int {
	text := q.part(name)
	n, err := wholeNumber(text)
	switch {
	case err != nil:
		q.fail(badRequestf("%.40q in the path is not a whole number", text))
	case n < 0 || n > high:
		q.fail(notFoundf("no %s %d here; the last is %d", name, n, high))
	}
	return n
}

func (q *query) inRange(name, text string, low, high int) int {
	n, err := wholeNumber(text)
	switch {
	case err != nil:
		q.fail(badRequestf("%s=%.40q is not a whole number", name, text))
	case n < low || n > high:
		q.fail(badRequestf("%s=%d is not from %d to %d", name, n, low, high))
	}
	return n
}

var errForm = errors.New("written in another way")

// wholeNumber reads a number in the one way in which it is written, so that an answer has
// one path: no plus sign, no zeros in front.
func wholeNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && strconv.Itoa(n) != text {
		err = errForm
	}
	return n, err
}
