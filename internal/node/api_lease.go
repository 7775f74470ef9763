package node

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// getLeases answers GET /v1/leases.
func (a *Agent) getLeases(q *question) (any, error) {
	params, err := query(q.Request, "all")
	if err != nil {
		return nil, err
	}
	all := params.Get("all")
	if !slices.Contains([]string{"", "true", "false"}, all) {
		return nil, invalidf("all=%.40q: expected true or false", all)
	}
	var answer client.Leases
	v := a.now()
	a.Ledger.View(func(b *lease.Book) {
		which := b.Leases()
		if all == "true" {
			which = append(b.Past(), which...)
			slices.SortFunc(which, func(x, y lease.Lease) int { return cmp.Compare(x.ID, y.ID) })
		} else {
			which = slices.DeleteFunc(which, func(l lease.Lease) bool { return !l.Holds() })
		}
		answer.Leases = a.clientLeases(b, v, which, q.who)
	})
	return answer, nil
}

// leaseID reads the number of a question's path.
func leaseID(q *question) (lease.ID, error) {
	id, err := strconv.ParseInt(q.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, invalidf("a lease %.40q: expected its number", q.PathValue("id"))
	}
	return lease.ID(id), nil
}

// owned finds a lease that the caller may see.
func (c *caller) owned(b *lease.Book, id lease.ID) (lease.Lease, error) {
	l, ok := b.Lease(id)
	switch {
	case !ok:
		return l, refusef(http.StatusNotFound, codeUnknown, "there is no lease %d", id)
	case !c.owns(&l):
		return l, forbiddenf("lease %d belongs to another user", id)
	}
	return l, nil
}

// lookUp finds the lease of a question's path and shows it to look, with the book that it is
// from.
func (a *Agent) lookUp(q *question, look func(b *lease.Book, l *lease.Lease)) error {
	id, err := leaseID(q)
	if err != nil {
		return err
	}
	a.Ledger.View(func(b *lease.Book) {
		var l lease.Lease
		if l, err = q.who.owned(b, id); err == nil {
			look(b, &l)
		}
	})
	return err
}

// inQueue is a lease's place in the queue, from 1; 0 where it does not wait.
func inQueue(b *lease.Book, id lease.ID) int { return slices.Index(b.Waiting(), id) + 1 }

// maxWaitMS bounds a question that waits for a change.
const maxWaitMS = 60_000

// getLease answers GET /v1/leases/{id}: at once, or when the lease has left a state.
func (a *Agent) getLease(q *question) (any, error) {
	params, err := query(q.Request, "wait", "from")
	if err != nil {
		return nil, err
	}
	waitMS, err := wholeNumber(params, "wait", 0, 0, maxWaitMS)
	if err != nil {
		return nil, err
	}
	from := params.Get("from")
	if !slices.Contains([]lease.State{"", lease.Queued, lease.Granted, lease.Draining, lease.Ended}, lease.State(from)) {
		return nil, invalidf("from=%.40q: expected queued, granted, draining or ended", from)
	}
	var l client.Lease
	look := func() error {
		return a.lookUp(q, func(b *lease.Book, found *lease.Lease) { l = a.clientLease(a.now(), found, inQueue(b, found.ID)) })
	}
	if err := look(); err != nil || waitMS == 0 {
		return l, err
	}
	err = a.await(q.Context(), lease.ID(l.ID), time.Duration(waitMS)*time.Millisecond, func() (bool, error) {
		err := look()
		from = cmp.Or(from, l.State)
		return l.State != from, err
	})
	return l, err
}

// await asks done after each change of a lease, and returns when it says so, when the time is
// over, or when the client has closed its end: then there may still be somebody who reads.
func (a *Agent) await(ctx context.Context, id lease.ID, most time.Duration, done func() (bool, error)) error {
	changed, stop := a.changes.of(id)
	defer stop()
	over, cancel := a.Clock.Timer(most)
	defer cancel()
	for {
		if enough, err := done(); enough || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-over:
			_, err := done()
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// postLease answers POST /v1/leases.
func (a *Agent) postLease(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	var asked client.Request
	if err := readBody(q.w, q.Request, &asked); err != nil {
		return nil, err
	}
	if err := a.watching(); err != nil {
		return nil, unready(nil, "nothing is granted now: %v", err)
	}
	request, holder, err := a.requestOf(q.who, &asked)
	if err != nil {
		return nil, err
	}
	return a.submit(q, request, holder)
}

// requestOf makes a request of what a client asks for: the rest is known of the client. holder is
// why no process can hold it.
func (a *Agent) requestOf(who *caller, asked *client.Request) (r lease.Request, holder, err error) {
	r = lease.Request{
		User: who.user, Group: who.group, Project: asked.Project, Name: asked.Name, Key: asked.Key,
		MemoryBytes: asked.MemoryBytes, Devices: asked.Devices, Device: asked.Device, Model: asked.Model,
		Exclusive: asked.Exclusive, Priority: asked.Priority, Queue: asked.Queue, TTLMS: asked.TTLMS,
		Detached: asked.Detached, NoWait: asked.NoWait,
	}
	if err := a.mayUse(who, asked.Project); err != nil {
		return r, nil, err
	}
	if asked.Detached {
		if asked.HolderPID != 0 {
			return r, nil, invalidf("a detached lease has no holder_pid")
		}
		return r, nil, nil
	}
	id, holder := a.holderOf(who, asked.HolderPID)
	r.HolderPID, r.HolderStart = id.PID, id.Start
	return r, holder, nil
}

// submit puts a request to the book, and answers with what came of it. One that no process can hold
// is refused, unless its key is that of a lease: its holder may have ended since it was granted,
// and the client may not have heard of that.
func (a *Agent) submit(q *question, r lease.Request, holder error) (any, error) {
	ctx, cancel := q.lasting(decisionTime)
	defer cancel()
	var l lease.Lease
	var position int
	var why []lease.Reason
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		if holder != nil {
			if known, ok := b.Keyed(r.User, r.Key); ok {
				l, holder = known, nil
			}
			return nil, nil // and no error, which would be one of all who share the transaction
		}
		id, events, err := b.Submit(atMS, r)
		l, _ = b.Lease(id)
		position = inQueue(b, id)
		if l.Cause == lease.NotNow {
			why = b.WhyNot(atMS, l)
		}
		return events, err
	})
	switch {
	case err != nil:
		return nil, err
	case holder != nil:
		return nil, holder
	case l.Cause == lease.NotNow:
		return nil, notNow(&l, why)
	case !same(&l.Request, &r):
		e := invalidf("the key %.80q was that of another request", r.Key)
		e.body.Lease = int64(l.ID)
		return nil, e
	}
	return a.clientLease(a.now(), &l, position), nil
}

// notNow says why a request that did not want to wait has ended.
func notNow(l *lease.Lease, why []lease.Reason) *apiError {
	e := refusef(http.StatusConflict, string(lease.CodeMemory), "there was no room, and it did not want to wait")
	if len(why) > 0 {
		e = refusef(http.StatusConflict, string(why[0].Code), "it cannot start now: %s", why[0].Text)
	}
	e.body.Lease = int64(l.ID)
	return e
}

// same tells whether a request is the one that a lease came of. What its holder is may differ:
// a client that asks again may be another process. So may the time to live of one that named
// none, for a limit may have given it one.
func same(have, asked *lease.Request) bool {
	mib := func(n int64) int64 { return (min(n, math.MaxInt64-units.MiB) + units.MiB - 1) / units.MiB }
	return have.Device == asked.Device && have.Model == asked.Model && have.Exclusive == asked.Exclusive &&
		have.Queue == asked.Queue && have.Project == asked.Project && have.Detached == asked.Detached &&
		have.Priority == asked.Priority && (have.TTLMS == asked.TTLMS || asked.TTLMS == 0) &&
		have.Devices == cmp.Or(asked.Devices, 1) && mib(have.MemoryBytes) == mib(asked.MemoryBytes)
}

// getExplain answers GET /v1/leases/{id}/explain.
func (a *Agent) getExplain(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	var x client.Explanation
	err := a.lookUp(q, func(b *lease.Book, l *lease.Lease) {
		x.Lease = a.clientLease(a.now(), l, inQueue(b, l.ID))
		x.Reasons = clientReasons(b.Explain(a.Clock.NowMS(), l.ID))
	})
	return x, err
}

// postExtend answers POST /v1/leases/{id}/extend.
func (a *Agent) postExtend(q *question) (any, error) {
	var x client.Extension
	if err := readBody(q.w, q.Request, &x); err != nil {
		return nil, err
	}
	return a.changeLease(q, func(b *lease.Book, atMS int64, id lease.ID) ([]lease.Event, error) {
		return b.Extend(atMS, id, x.TTLMS, q.who.user)
	})
}

// deleteLease answers DELETE /v1/leases/{id}.
func (a *Agent) deleteLease(q *question) (any, error) {
	return a.changeLease(q, func(b *lease.Book, atMS int64, id lease.ID) ([]lease.Event, error) {
		return b.Release(atMS, id, q.who.user, lease.Released)
	})
}

// changeLease runs a decision about the lease of a question's path, and answers with what it
// is then.
func (a *Agent) changeLease(q *question, decision func(b *lease.Book, atMS int64, id lease.ID) ([]lease.Event, error)) (any, error) {
	meant, err := meantOf(q)
	if err != nil {
		return nil, err
	}
	id, err := leaseID(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := q.lasting(decisionTime)
	defer cancel()
	var l lease.Lease
	var position int
	var stranger error
	_, err = a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		var found lease.Lease
		if found, stranger = q.who.owned(b, id); stranger == nil {
			stranger = meant.refuses(q.who, &found)
		}
		if stranger != nil {
			return nil, nil // and no error, which would be one of all who share the transaction
		}
		events, err := decision(b, atMS, id)
		l, _ = b.Lease(id)
		position = inQueue(b, id)
		return events, err
	})
	if stranger != nil {
		return nil, stranger
	}
	if err != nil {
		e := answerOf(err)
		e.body.Lease = int64(id)
		return nil, e
	}
	return a.clientLease(a.now(), &l, position), nil
}
