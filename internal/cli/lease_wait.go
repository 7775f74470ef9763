package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const (
	releaseTimeout = 5 * time.Second
	silentWait     = time.Second      // a request that is granted within it says nothing
	wordWait       = 10 * time.Second // how often it is looked whether there is something new to say
	retryWait      = time.Second
)

// waiter gets a lease granted.
type waiter struct {
	app   *App
	agent *client.Client
	said  string // the last line about why it waits
}

// get asks for a lease and waits for its grant. If ctx ends before, the request is withdrawn.
func (w *waiter) get(ctx context.Context, req client.Request) (client.Lease, error) {
	req.Key = rand.Text() // asking again after a lost answer gets the same lease
	if err := w.place(ctx, &req); err != nil {
		return client.Lease{}, err
	}
	l, err := w.submit(ctx, req)
	if answer := new(client.AnswerError); errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return l, &kindError{kindRefused, err} // for a queue, a project or a device that is not there
	}
	if err != nil {
		return l, agentError(err)
	}
	granted, err := w.wait(ctx, req, l)
	if err != nil {
		w.app.giveBack(w.agent, &granted)
		return granted, agentError(err)
	}
	if granted.State != "granted" {
		return granted, &kindError{kindRefused, fmt.Errorf("lease %d has ended before it could be used: %s", granted.ID, causeText(&granted))}
	}
	if w.said != "" && !w.app.quiet {
		fmt.Fprintf(w.app.Stderr, "ullage: %s\n", w.app.grantText(&granted))
	}
	return granted, nil
}

// place finds the GPU that a request names by its number. An agent that has just begun knows none
// yet.
func (w *waiter) place(ctx context.Context, req *client.Request) error {
	if _, number := deviceNumber(req.Device); !number {
		return nil
	}
	for {
		devices, err := w.agent.Devices(ctx)
		if err != nil {
			return agentError(err)
		}
		uuid, err := deviceUUID(devices, req.Device)
		if err == nil {
			req.Device = uuid
			return nil
		}
		about, unknown := w.agent.About(ctx)
		if unknown != nil || about.Ready || req.NoWait {
			return &kindError{kindRefused, err}
		}
		w.say("waiting for the agent: " + about.Problem)
		if err := w.pause(ctx, retryWait); err != nil {
			return err
		}
	}
}

// notYet tells whether the agent may say something else a little later: it has not looked at
// the GPUs yet, or has too much to do.
func notYet(answer *client.AnswerError) bool {
	return answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests
}

// submit sends the request, again where the agent could not take it yet, or went away over it:
// with the same key, so that it is one request however often it is sent. Where nobody listened
// in the first place, nobody is waited for.
func (w *waiter) submit(ctx context.Context, req client.Request) (client.Lease, error) {
	lost := false
	for {
		l, err := w.agent.Submit(ctx, req)
		var gone *client.UnreachableError
		var answer *client.AnswerError
		pause := retryWait
		switch {
		case err == nil || req.NoWait:
			return l, err
		case errors.As(err, &gone) && (lost || gone.Lost()):
			lost = true
			w.say(fmt.Sprintf("waiting for the agent to come back: %v", gone))
		case errors.As(err, &answer) && notYet(answer):
			w.say(fmt.Sprintf("waiting for the agent: %v", answer))
			pause = max(answer.RetryAfter, pause)
		default:
			return l, err
		}
		if err := w.pause(ctx, pause); err != nil {
			return l, err
		}
	}
}

// wait returns the lease when it no longer waits. An agent that restarts keeps the place in
// the queue. One that begins with another ledger does not know the lease, or has another one of
// that number: then it is asked for again.
func (w *waiter) wait(ctx context.Context, req client.Request, l client.Lease) (client.Lease, error) {
	poll := silentWait
	for l.State == "queued" {
		next, err := w.agent.Wait(ctx, l.ID, l.State, poll)
		var gone *client.UnreachableError
		var answer *client.AnswerError
		switch {
		case errors.As(err, &gone) && !errors.Is(err, client.ErrNoAgent):
			w.say(fmt.Sprintf("waiting for the agent to come back: %v", gone))
			err = w.pause(ctx, retryWait)
		case errors.As(err, &answer) && notYet(answer):
			err = w.pause(ctx, max(answer.RetryAfter, retryWait))
		case errors.As(err, &answer) && (answer.Status == http.StatusNotFound || answer.Status == http.StatusForbidden),
			err == nil && next.Key != l.Key:
			w.say(fmt.Sprintf("the agent does not know lease %d any more: it is asked for again", l.ID))
			next, err = w.submit(ctx, req)
			answer = nil
			if err == nil {
				l = next
			}
		case err == nil:
			l = next
		}
		if err != nil {
			return l, err
		}
		if l.State == "queued" && gone == nil && answer == nil {
			w.explain(ctx, l.ID)
			poll = wordWait
		}
	}
	return l, nil
}

// explain says why a lease waits, if that is another reason than the one said last.
func (w *waiter) explain(ctx context.Context, id int64) {
	x, err := w.agent.Explain(ctx, id)
	if err != nil || x.Lease.State != "queued" { // the next round of waiting sees why
		return
	}
	w.say("waiting for " + waitText(&x))
}

// say prints a line about the waiting, unless it is what was said last.
func (w *waiter) say(line string) {
	if line == w.said {
		return
	}
	w.said = line
	if !w.app.quiet {
		fmt.Fprintf(w.app.Stderr, "ullage: %s\n", term.Clean(line))
	}
}

// pause waits for some time.
func (w *waiter) pause(ctx context.Context, d time.Duration) error {
	over, stop := w.app.GPUs.Clock.Timer(d)
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitText says where a lease is in the queue, and what keeps it there.
func waitText(x *client.Explanation) string {
	text := fmt.Sprintf("lease %d", x.Lease.ID)
	if x.Lease.Position > 0 {
		text += ", " + ordinal(x.Lease.Position) + " in the queue"
	}
	var why []string
	for _, r := range x.Reasons {
		why = append(why, r.Text)
	}
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return text
}

// causes are why a lease has ended, in words.
var causes = map[string]string{
	"released":  "it was given back",
	"exited":    "its process is gone",
	"expired":   "its time is over",
	"stopped":   "more was used than it had",
	"rebooted":  "the machine was started anew",
	"not-now":   "there was no room for it",
	"drained":   "its GPU is being emptied",
	"extension": "its time is over",
	"grace":     "its time is over",
}

// causeText says why a lease drains or has ended: whose doing it was, where that is neither the
// lease's user nor the agent, and what it was stopped for.
func causeText(l *client.Lease) string {
	text, known := causes[l.Cause]
	switch {
	case !known:
		return l.Cause
	case l.Cause == "released" && l.EndedBy != "" && l.EndedBy != l.User:
		return l.EndedBy + " gave it back"
	case l.Over != nil:
		return overText(l)
	case l.Cause == "expired" && l.Granted != nil && l.Expires != nil:
		return fmt.Sprintf("its time of %s is over", units.FormatDuration(l.Expires.Sub(*l.Granted)))
	}
	return text
}

// overText says by how much a lease used more than it had, and where.
func overText(l *client.Lease) string {
	text := fmt.Sprintf("%s were used on %s", units.FormatBytes(l.Over.UsedBytes), l.Over.Device)
	for _, s := range l.Shares {
		if s.Device == l.Over.Device {
			text += fmt.Sprintf(", %s more than its %s", units.FormatBytes(l.Over.UsedBytes-s.Bytes), units.FormatBytes(s.Bytes))
		}
	}
	return text
}
