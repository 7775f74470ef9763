package cli

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes of the process.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFinding     = 3
	exitInput       = 4
	exitRefused     = 5
	exitUnreachable = 6
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

// exitTable is what help, the manual pages and docs/exit-codes.md say about them.
const exitTable = `    0  done
    1  failed, for a reason that has no code of its own
    2  wrong usage: an unknown command or flag, a value that cannot be
    3  done, and there is a finding or an amount over a budget that the
       user asked to fail on
    4  the input cannot be read, is not what it should be, or is larger
       than the limits
    5  a lease or quota was refused
    6  the agent cannot be reached
  130  interrupted`

// kind says what sort of failure an error is, where that decides the exit code.
type kind uint8

const (
	kindUsage kind = iota + 1
	kindFinding
	kindInput
	kindRefused
	kindUnreachable
)

// programError ends ullage with the exit code of the program that it ran. The program has
// said itself what there is to say: err is nil unless it could not be run at all.
type programError struct {
	code int
	err  error
}

func (e *programError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("the program ended with exit code %d", e.code)
	}
	return e.err.Error()
}
func (e *programError) Unwrap() error { return e.err }

// kindError gives an error a kind. It adds nothing to the text.
type kindError struct {
	kind kind
	err  error
}

func (e *kindError) Error() string { return e.err.Error() }
func (e *kindError) Unwrap() error { return e.err }

// usageErrorf is an error in how the command was called.
func usageErrorf(format string, args ...any) error {
	return &kindError{kindUsage, fmt.Errorf(format, args...)}
}

// findingErrorf tells that the command did its work and what it found is what the user
// asked to fail on.
func findingErrorf(format string, args ...any) error {
	return &kindError{kindFinding, fmt.Errorf(format, args...)}
}

// inputError marks err as one about the input. It returns nil for nil.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return &kindError{kindInput, err}
}

// exitCode is the one place where an error becomes an exit code.
func exitCode(err error) int {
	var e *kindError
	var p *programError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &p):
		return p.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case !errors.As(err, &e):
		return exitFailed
	}
	switch e.kind {
	case kindUsage:
		return exitUsage
	case kindFinding:
		return exitFinding
	case kindInput:
		return exitInput
	case kindRefused:
		return exitRefused
	case kindUnreachable:
		return exitUnreachable
	}
	return exitFailed
}

// hintError adds advice to an error. Errors of packages below may have a method Hint of
// their own; the printer shows all of the chain, outermost first.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }
func (e *hintError) Hint() string  { return e.hint }

// withHint adds a line of advice to err, in the same style: lower case, no full stop.
func withHint(err error, format string, args ...any) error {
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// hints collects the advice in err's chain, outermost first, each once.
func hints(err error) []string {
	var all []string
	seen := map[string]bool{}
	walk(err, func(e error) {
		h, ok := e.(interface{ Hint() string })
		if !ok {
			return
		}
		if text := h.Hint(); text != "" && !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	})
	return all
}

// walk calls visit for err and all that it wraps.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		walk(w.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, e := range w.Unwrap() {
			walk(e, visit)
		}
	}
}
