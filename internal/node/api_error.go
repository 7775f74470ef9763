package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// The codes of answers that are no success, besides those of package lease.
const (
	codeInvalid   = "invalid"   // the question is not one
	codeUnknown   = "unknown"   // there is no such lease, device or path
	codeForbidden = "forbidden" // not for this user
	codeMethod    = "method"    // the path has no such method
	codeTooLarge  = "too-large" // the body is
	codeBusy      = "busy"      // this user asks too much at once
	codeUnready   = "unready"   // the agent cannot answer now, and may later
	codeInternal  = "internal"  // a fault of the agent
)

// apiError is an answer that is no success.
type apiError struct {
	status int
	body   client.ErrorBody
	after  int   // seconds, for Retry-After; 0: none
	cause  error // for the log; nil where the client knows all
}

func (e *apiError) Error() string { return e.body.Message }

func (e *apiError) Unwrap() error { return e.cause }

// hint adds what to do.
func (e *apiError) hint(text string) *apiError {
	e.body.Hint = text
	return e
}

// refusef makes an answer that is no success.
func refusef(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, body: client.ErrorBody{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func invalidf(format string, args ...any) *apiError {
	return refusef(http.StatusBadRequest, codeInvalid, format, args...)
}

func forbiddenf(format string, args ...any) *apiError {
	return refusef(http.StatusForbidden, codeForbidden, format, args...)
}

// unready says that the agent cannot answer now.
func unready(cause error, format string, args ...any) *apiError {
	e := refusef(http.StatusServiceUnavailable, codeUnready, format, args...)
	e.after, e.cause = 1, cause
	return e
}

// answerOf gives each error its answer.
func answerOf(err error) *apiError {
	var e *apiError
	var refused *lease.RefusedError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &refused):
		return refusef(statusOf(refused.Code), string(refused.Code), "%s", refused.Why)
	case errors.Is(err, ledger.ErrClosed), errors.Is(err, context.Canceled):
		return unready(nil, "the agent is about to end")
	case errors.Is(err, ledger.ErrNotStored):
		return unready(err, "the ledger could not store it; the agent's log says why")
	case errors.Is(err, context.DeadlineExceeded):
		return unready(err, "it took too long")
	}
	e = refusef(http.StatusInternalServerError, codeInternal, "a fault of the agent: its log says which")
	e.cause = err
	return e
}

// statusOf is the status for the code of a refusal.
func statusOf(code lease.Code) int {
	switch code {
	case lease.CodeInvalid:
		return http.StatusBadRequest
	case lease.CodeUnknown:
		return http.StatusNotFound
	case lease.CodeLimit:
		return http.StatusForbidden
	}
	return http.StatusConflict
}

// write answers with the error.
func (e *apiError) write(w http.ResponseWriter) {
	if e.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.after))
	}
	writeJSON(w, e.status, client.Error{Error: e.body})
}
