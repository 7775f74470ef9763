package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ullage-dev/ullage/internal/lease"
)

// Exported is one event as it is exported: what the ledger is the fold of, and its audit table.
type Exported struct {
	Seq   int64           `json:"seq"`
	Time  string          `json:"time"` // RFC 3339, in UTC
	Actor string          `json:"actor"`
	Kind  string          `json:"kind"`
	Lease int64           `json:"lease,omitempty"`
	Body  json.RawMessage `json:"body"`
}

// Export shows every event that is kept from sinceMS on to see, in order.
func (r *Reader) Export(ctx context.Context, sinceMS int64, see func(Exported) error) error {
	return r.within(ctx, func(db queryer) error {
		return scanEvents(ctx, db, 0, func(e *lease.Event) error {
			if e.AtMS < sinceMS {
				return nil
			}
			x, err := exported(e)
			if err != nil {
				return err
			}
			return see(x)
		})
	})
}

func exported(e *lease.Event) (Exported, error) {
	body, err := json.Marshal(e.Body)
	return Exported{e.Seq, TimeText(e.AtMS), e.Actor, e.Kind(), int64(e.Lease()), body}, err
}

// Excerpt is which events Events shows.
type Excerpt struct {
	After int64  // those with a higher number
	Lease int64  // of one lease; 0: of all
	User  string // that the user brought about, and those of the user's leases; empty: of all
	Limit int    // so many at most
	Reach int    // and among so many numbers at most, so that a search for little ends
}

// Events returns an excerpt of the events, in order, and the number after which the next excerpt
// begins: with no event in it too, where there are more.
func (r *Reader) Events(ctx context.Context, x Excerpt) (events []Exported, next int64, err error) {
	err = r.within(ctx, func(db queryer) (err error) {
		events, next, err = excerpt(ctx, db, x)
		return err
	})
	return events, next, err
}

func excerpt(ctx context.Context, db queryer, x Excerpt) ([]Exported, int64, error) {
	var before, last int64 // the base, before which there is nothing to search, and the last
	if err := db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(seq) FROM event), 1) - 1, coalesce((SELECT max(seq) FROM event), 0)`).Scan(&before, &last); err != nil {
		return nil, 0, err
	}
	x.After = min(max(x.After, before), last)
	until := min(last, x.After+int64(x.Reach))
	if x.Lease != 0 {
		until = last // there is an index, and a lease has few events
	}
	rows, err := db.QueryContext(ctx, selectEvents+`
		WHERE seq > ?1 AND seq <= ?2 AND (?3 = 0 OR lease = ?3)
			AND (?4 = '' OR actor = ?4 OR lease IS NOT NULL AND ?4 = (SELECT user FROM lease WHERE id = event.lease))
		ORDER BY seq LIMIT ?5`, x.After, until, x.Lease, x.User, x.Limit)
	if err != nil {
		return nil, 0, err
	}
	events := []Exported{}
	err = eachEvent(rows, func(e *lease.Event) error {
		one, err := exported(e)
		events = append(events, one)
		return err
	})
	if len(events) == x.Limit && x.Limit > 0 {
		until = events[x.Limit-1].Seq
	}
	return events, until, err
}

// TimeText prints a time of the ledger as RFC 3339 with milliseconds.
func TimeText(atMS int64) string {
	return time.UnixMilli(atMS).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
