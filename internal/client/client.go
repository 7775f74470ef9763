package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Client speaks with an agent. Its methods may be called from several goroutines.
//
// Errors are of three sorts: *UnreachableError where nobody answers, *AnswerError where the
// agent says no, and the context's own.
type Client struct {
	socket string
	http   *http.Client
}

// dialTimeout is how long a connection may take: an agent whose queue of connections is full
// does not answer, and a request without a deadline would wait for ever.
const dialTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer: the state of a machine with thousands of
// processes has some MB.
const maxAnswer = 64 << 20

// New makes a client for the agent at a socket. Nothing is connected before the first call.
func New(socket string) *Client {
	dialer := net.Dialer{Timeout: dialTimeout}
	return &Client{socket, &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", socket)
			},
			MaxIdleConns:    2,
			IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Socket is the path of the agent's socket.
func (c *Client) Socket() string { return c.socket }

// Close gives back the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request to a path, which is escaped, with a body, if that is not nil, and reads the answer into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		sent = bytes.NewReader(text)
	}
	at := "http://agent" + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, at, sent)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	return c.read(ctx, answer, out)
}

// read reads an answer: what was asked for, or why not.
func (c *Client) read(ctx context.Context, answer *http.Response, out any) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.unreachable(ctx, err)
	case len(text) > maxAnswer:
		return &UnreachableError{c.socket, fmt.Errorf("%w: it has more than %d MiB", ErrNoAgent, maxAnswer>>20)}
	case answer.StatusCode/100 == 2:
		if err := json.Unmarshal(text, out); err != nil {
			return &UnreachableError{c.socket, fmt.Errorf("%w: %w", ErrNoAgent, err)}
		}
		return nil
	}
	var e Error
	if err := json.Unmarshal(text, &e); err != nil || e.Error.Message == "" {
		return &UnreachableError{c.socket, fmt.Errorf("%w: HTTP %s", ErrNoAgent, answer.Status)}
	}
	after, _ := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 16)
	return &AnswerError{answer.StatusCode, e.Error, time.Duration(after) * time.Second}
}

// unreachable wraps what went wrong between the client and the agent.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil {
		return over
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it closed the connection before it had answered")
	}
	return &UnreachableError{c.socket, err}
}

// AnswerError is the agent's answer that something was not done.
type AnswerError struct {
	Status int // of HTTP
	ErrorBody
	RetryAfter time.Duration // 0: not told
}

func (e *AnswerError) Error() string { return e.Message }

// Hint is the agent's.
func (e *AnswerError) Hint() string { return e.ErrorBody.Hint }

// Refused tells whether a lease, a quota or a limit said no, or a permission, rather than that
// the request could not be understood or served.
func (e *AnswerError) Refused() bool {
	return e.Status == http.StatusConflict || e.Status == http.StatusForbidden
}

// ErrNoAgent is that of a socket at which something else answers.
var ErrNoAgent = errors.New("the answer is not one of an agent")

// UnreachableError says that no agent answers at a socket.
type UnreachableError struct {
	Socket string
	Err    error
}

func (e *UnreachableError) Error() string {
	why := e.Err
	if call := new(os.SyscallError); errors.As(why, &call) { // what net wraps it in names the socket again
		why = call.Err
	}
	return fmt.Sprintf("the agent at %s cannot be reached: %v", e.Socket, why)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Lost tells whether there was a connection, which broke before the answer: what was asked may
// have been done, and the agent may be starting anew.
func (e *UnreachableError) Lost() bool {
	var op *net.OpError
	return !errors.Is(e.Err, ErrNoAgent) && (!errors.As(e.Err, &op) || op.Op != "dial")
}

// Hint says what to try.
func (e *UnreachableError) Hint() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return "is it started? try 'systemctl status ullage-agent', or begin one with 'ullage agent'; --socket and ULLAGE_SOCKET name another"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "the socket is there, but nobody listens: the agent has ended without removing it; 'journalctl -u ullage-agent' tells why"
	case errors.Is(e.Err, fs.ErrPermission):
		return "everybody may connect to an agent's socket; see whether its folder may be entered"
	}
	return ""
}
