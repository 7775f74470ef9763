package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// About tells of the agent, and whom it takes this process for.
func (c *Client) About(ctx context.Context) (a About, err error) {
	return a, c.call(ctx, http.MethodGet, "/v1/agent", nil, nil, &a)
}

// Devices lists the devices as leases see them.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	var d Devices
	err := c.call(ctx, http.MethodGet, "/v1/devices", nil, nil, &d)
	return d.Devices, err
}

// State returns all that a monitor shows.
func (c *Client) State(ctx context.Context) (s State, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/state", nil, nil, &s)
}

// Leases lists the leases that hold memory, or with all those that wait or have ended too.
func (c *Client) Leases(ctx context.Context, all bool) ([]Lease, error) {
	query := url.Values{}
	if all {
		query.Set("all", "true")
	}
	var l Leases
	err := c.call(ctx, http.MethodGet, "/v1/leases", query, nil, &l)
	return l.Leases, err
}

// Submit asks for a lease. The answer is one that waits or one that is granted.
func (c *Client) Submit(ctx context.Context, r Request) (l Lease, err error) {
	return l, c.call(ctx, http.MethodPost, "/v1/leases", nil, r, &l)
}

// Lease returns a lease.
func (c *Client) Lease(ctx context.Context, id int64) (l Lease, err error) {
	return l, c.call(ctx, http.MethodGet, leasePath(id), nil, nil, &l)
}

// Wait returns a lease when it is no longer in a state, or as it is after some time: a minute
// at most.
func (c *Client) Wait(ctx context.Context, id int64, from string, most time.Duration) (l Lease, err error) {
	query := url.Values{"from": {from}, "wait": {strconv.FormatInt(most.Milliseconds(), 10)}}
	return l, c.call(ctx, http.MethodGet, leasePath(id), query, nil, &l)
}

// Explain says why a lease waits.
func (c *Client) Explain(ctx context.Context, id int64) (x Explanation, err error) {
	return x, c.call(ctx, http.MethodGet, leasePath(id)+"/explain", nil, nil, &x)
}

// Meant tells which lease a number is to be that of. A ledger that is begun anew, after one was
// lost, counts from 1 again, so that a number that was kept may be another's by now. What is
// empty is not compared; without User, it has to be the caller's own.
type Meant struct {
	Key   string // of the request
	User  string // whose it is
	Epoch int64  // of its grant, which no ledger uses twice
}

// Meant is all that tells a lease from another of its number.
func (l *Lease) Meant() Meant { return Meant{l.Key, l.User, l.Epoch} }

func (m Meant) query() url.Values {
	query := url.Values{}
	if m.Key != "" {
		query.Set("key", m.Key)
	}
	if m.User != "" {
		query.Set("user", m.User)
	}
	if m.Epoch != 0 {
		query.Set("epoch", strconv.FormatInt(m.Epoch, 10))
	}
	return query
}

// Extend moves the end of a lease to some time from now.
func (c *Client) Extend(ctx context.Context, id int64, m Meant, ttl time.Duration) (l Lease, err error) {
	return l, c.call(ctx, http.MethodPost, leasePath(id)+"/extend", m.query(), Extension{ttl.Milliseconds()}, &l)
}

// Release gives a lease back. Its memory is free when its processes are gone.
func (c *Client) Release(ctx context.Context, id int64, m Meant) (l Lease, err error) {
	return l, c.call(ctx, http.MethodDelete, leasePath(id), m.query(), nil, &l)
}

// GiveBack releases a lease that was asked for or listed before, and no other of its number.
func (c *Client) GiveBack(ctx context.Context, known *Lease) (Lease, error) {
	return c.Release(ctx, known.ID, known.Meant())
}

// Cordon keeps new leases off a device; with on false, it lets them on it again.
func (c *Client) Cordon(ctx context.Context, uuid string, on bool) (d Device, err error) {
	verb := "uncordon"
	if on {
		verb = "cordon"
	}
	return d, c.call(ctx, http.MethodPost, devicePath(uuid)+verb, nil, struct{}{}, &d)
}

// Drain cordons a device, and gives the leases on it some time at most.
func (c *Client) Drain(ctx context.Context, uuid string, grace time.Duration) (d Device, err error) {
	return d, c.call(ctx, http.MethodPost, devicePath(uuid)+"drain", nil, Drain{grace.Milliseconds()}, &d)
}

// Report tells the agent of this process's allocators.
func (c *Client) Report(ctx context.Context, r Report) (a Advice, err error) {
	return a, c.call(ctx, http.MethodPost, "/v1/report", nil, r, &a)
}

// Usage adds up what users, groups or projects held.
func (c *Client) Usage(ctx context.Context, by string, since, until time.Time) (u Usage, err error) {
	query := url.Values{"by": {by}, "since": {since.UTC().Format(time.RFC3339Nano)}, "until": {until.UTC().Format(time.RFC3339Nano)}}
	return u, c.call(ctx, http.MethodGet, "/v1/usage", query, nil, &u)
}

// Events returns at most limit decisions of the ledger after one, of a lease or, with 0, of all.
func (c *Client) Events(ctx context.Context, after, lease int64, limit int) (e Events, err error) {
	query := url.Values{"since": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}
	if lease != 0 {
		query.Set("lease", strconv.FormatInt(lease, 10))
	}
	return e, c.call(ctx, http.MethodGet, "/v1/events", query, nil, &e)
}

func leasePath(id int64) string { return fmt.Sprintf("/v1/leases/%d", id) }

func devicePath(uuid string) string { return "/v1/devices/" + url.PathEscape(uuid) + "/" }
