package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/term"
)

// errorObject is an error under --json: one line on standard error. See docs/json.md.
type errorObject struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Hints   []string `json:"hints"`
}

// printError tells the user what went wrong: one line, lower case, then what to do about it.
func (a *App) printError(err error, asJSON bool) {
	if p := new(programError); errors.As(err, &p) && p.err == nil {
		return
	}
	code := exitCode(err)
	message := term.Clean(strings.TrimSpace(err.Error())) // names in it come from files that anyone may have made
	if code == exitInterrupted {
		message = "interrupted"
	}
	if asJSON {
		body := errorBody{Code: code, Message: message, Hints: append([]string{}, hints(err)...)}
		line, jsonErr := json.Marshal(errorObject{body})
		if jsonErr == nil {
			fmt.Fprintf(a.Stderr, "%s\n", line)
			return
		}
	}
	look := a.ErrLook()
	fmt.Fprintf(a.Stderr, "ullage: %s %s\n", look.Paint(term.Red, "error:"), message)
	for _, h := range hints(err) {
		fmt.Fprintf(a.Stderr, "%s %s\n", look.Paint(term.Cyan, "hint:"), term.Clean(h))
	}
}
