package lease

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/units"
)

// refuse notes a refusal, with texts cut to what a ledger keeps, and returns it as Submit does. Where
// it is about a lease, id is its id. Time has passed, so others may start.
func (t *turn) refuse(id ID, r Request, err error) (ID, []Event, error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return 0, nil, err
	}
	for _, s := range []*string{&r.User, &r.Group, &r.Project, &r.Name, &r.Key, &r.Device, &r.Model, &r.Queue} {
		*s = (*s)[:min(len(*s), maxText)]
	}
	if t.writes(refused.Code) {
		t.emit(&Refused{id, r, refused.Code, refused.Why})
	}
	if events, fault := t.done(); fault != nil {
		return 0, events, fault
	}
	return 0, t.events, err
}

// admit checks a request against what one may ask for, and against what there is.
func (b *Book) admit(r Request) (Request, error) {
	asked := r.MemoryBytes
	r, err := r.normal()
	if err != nil {
		return r, err
	}
	if _, ok := b.policy.queue(r.Queue); !ok {
		return r, refusal(CodeUnknown, fmt.Sprintf("there is no queue %q", r.Queue))
	}
	if err := b.applyLimits(&r); err != nil {
		return r, err
	}
	if err := r.usable(asked); err != nil {
		return r, err
	}
	switch n := b.suitable(&r); {
	case n == 0:
		return r, refusal(CodeNever, b.whyNever(&r))
	case n < r.Devices:
		return r, refusal(CodeNever, fmt.Sprintf("%d of the devices here could hold it, and it needs %d", n, r.Devices))
	}
	for _, who := range r.parties() {
		q, need := b.policy.quota(who), b.least(&r)
		if q.PeakBytes > 0 && need > q.PeakBytes {
			return r, refusal(CodeQuotaPeak, fmt.Sprintf("%s is more than the quota of %s, %s", sizes(need, q.PeakBytes), who, sizes(q.PeakBytes, need)))
		}
	}
	return r, nil
}

// usable refuses what could be, and is of no use: too little for any program, or memory that nobody
// would ever give back. asked is the memory before it was rounded. Ledgers of earlier releases have such requests, so it is no matter of what
// a request can be.
func (r *Request) usable(asked int64) error {
	switch {
	case asked < LeastBytes && (asked > 0 || !r.Exclusive):
		return refusal(CodeInvalid, fmt.Sprintf("%s is less than any program takes of a device: expected %s at least", units.FormatBytes(asked), units.FormatBytes(LeastBytes)))
	case r.Detached && r.TTLMS == 0:
		return refusal(CodeInvalid, "a detached lease is held by no process, so it has to have an end: a time to live")
	}
	return nil
}

// suitable counts the devices that could hold a request.
func (b *Book) suitable(r *Request) (n int) {
	for _, d := range b.devices {
		if d.suits(r) {
			n++
		}
	}
	return n
}

// least is the least that a request can be charged with, in bytes.
func (b *Book) least(r *Request) int64 {
	var shares []int64
	for _, d := range b.devices {
		if d.suits(r) {
			shares = append(shares, d.share(r))
		}
	}
	slices.Sort(shares)
	var sum int64
	for _, s := range shares[:min(r.Devices, len(shares))] {
		sum += s
	}
	return sum
}
