package node

import (
	"context"
	"errors"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// lookTime is how long a look into the ledger may take. It holds no decision up, but the next
// look.
const lookTime = 10 * time.Second

// usagePeriod is what GET /v1/usage is about where nothing else is said.
const usagePeriod = 30 * 24 * time.Hour

// getUsage answers GET /v1/usage. Who is no admin sees what concerns them: their own, their
// groups', and that of projects which they may ask in the name of.
func (a *Agent) getUsage(q *question) (any, error) {
	params, err := query(q.Request, "by", "since", "until")
	if err != nil {
		return nil, err
	}
	by := lease.Scope(params.Get("by"))
	if by == "" {
		by = lease.User
	}
	mine, err := a.partiesOf(q.who, by)
	if err != nil {
		return nil, err
	}
	nowMS := a.Clock.NowMS()
	until, err := timeParam(params, "until", timeOf(nowMS))
	if err != nil {
		return nil, err
	}
	since, err := timeParam(params, "since", until.Add(-usagePeriod))
	if err != nil {
		return nil, err
	}
	if until.Before(since) {
		return nil, invalidf("until is before since")
	}
	ctx, cancel := q.lasting(lookTime)
	defer cancel()
	rows, err := a.audit.Usage(ctx, by, since.UnixMilli(), min(until.UnixMilli(), nowMS))
	if err != nil {
		return nil, looked(err)
	}
	complete, err := a.audit.CompleteMS(ctx)
	if err != nil {
		return nil, looked(err)
	}
	answer := client.Usage{By: string(by), Since: since, Until: until, Complete: timeOrNil(complete), Rows: []client.UsageRow{}}
	for _, r := range rows {
		if mine == nil || slices.Contains(mine, r.Name) {
			answer.Rows = append(answer.Rows, client.UsageRow{Name: r.Name, Leases: r.Leases, GiBHours: r.GiBSeconds / 3600, GiBSeconds: r.GiBSeconds})
		}
	}
	return answer, nil
}

// partiesOf returns the users, groups or projects whose use a caller may see; nil is all.
func (a *Agent) partiesOf(who *caller, by lease.Scope) (names []string, err error) {
	switch by {
	case lease.User:
		names = []string{who.user}
	case lease.Group:
		names = who.groups
	case lease.Project:
		names = []string{}
		s := a.settings.Load()
		for _, p := range s.Projects {
			if s.Member(p.Name, who.user, who.groups) {
				names = append(names, p.Name)
			}
		}
	default:
		return nil, invalidf("by=%.40q: expected user, group or project", by)
	}
	if who.admin {
		names = nil
	}
	return names, nil
}

// timeParam reads a parameter that is a time. Years beyond four digits have no place in JSON.
func timeParam(q url.Values, name string, absent time.Time) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UTC().Year() < 1970 || t.UTC().Year() > 9999 {
		return t, invalidf("%s=%.60q: expected a time as in 2026-01-31T23:59:59Z, from 1970 on", name, text)
	}
	return t.UTC(), nil
}

// Limits of a page of events.
const (
	eventsPage  = 100
	eventsMost  = 1000
	eventsReach = 100_000 // searched for a page: some 100 ms
)

// getEvents answers GET /v1/events.
func (a *Agent) getEvents(q *question) (any, error) {
	params, err := query(q.Request, "since", "lease", "limit")
	if err != nil {
		return nil, err
	}
	x := ledger.Excerpt{Reach: eventsReach}
	var limit int64
	var faults [3]error
	x.After, faults[0] = wholeNumber(params, "since", 0, 0, math.MaxInt64)
	x.Lease, faults[1] = wholeNumber(params, "lease", 0, 1, math.MaxInt64)
	limit, faults[2] = wholeNumber(params, "limit", eventsPage, 1, eventsMost)
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	if x.Limit = int(limit); !q.who.admin {
		x.User = q.who.user
	}
	ctx, cancel := q.lasting(lookTime)
	defer cancel()
	found, next, err := a.audit.Events(ctx, x)
	if err != nil {
		return nil, looked(err)
	}
	answer := client.Events{Events: make([]client.Event, len(found)), Next: next}
	for i, e := range found {
		answer.Events[i] = client.Event(e)
	}
	return answer, nil
}

// looked gives a look into the ledger that failed its answer.
func looked(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return unready(err, "the ledger could not be searched within %s", lookTime)
	}
	return err
}
