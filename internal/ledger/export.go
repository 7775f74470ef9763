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

// Export shows every event from sinceMS on to see, in order.
func (r *Reader) Export(ctx context.Context, sinceMS int64, see func(Exported) error) error {
	return r.within(ctx, func(db queryer) error {
		return scanEvents(ctx, db, 0, func(e *lease.Event) error {
			if e.AtMS < sinceMS {
				return nil
			}
			body, err := json.Marshal(e.Body)
			if err != nil {
				return err
			}
			return see(Exported{e.Seq, TimeText(e.AtMS), e.Actor, e.Kind(), int64(e.Lease()), body})
		})
	})
}

// TimeText prints a time of the ledger as RFC 3339 with milliseconds.
func TimeText(atMS int64) string {
	return time.UnixMilli(atMS).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
