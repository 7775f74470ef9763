package ledger

import (
	"context"
	"fmt"

	"github.com/ullage-dev/ullage/internal/lease"
)

// Usage is what one user, group or project has held in a span of time. Memory counts from the
// grant until the driver has shown it free: while a lease drains nobody else can have it.
type Usage struct {
	Name       string  `json:"name"`
	Leases     int64   `json:"leases"`
	MiBMS      int64   `json:"mib_ms"`      // exact
	GiBSeconds float64 `json:"gib_seconds"` // the same
}

// CompleteMS is the time from which on Usage knows everything: leases that ended before it are no
// longer kept. It is 0 where all are.
func (r *Reader) CompleteMS(ctx context.Context) (ms int64, err error) {
	err = r.within(ctx, func(db queryer) error {
		return db.QueryRowContext(ctx, `SELECT coalesce((SELECT leases_ms FROM base), 0)`).Scan(&ms)
	})
	return ms, err
}

// Usage adds up what was held from sinceMS until untilMS, by scope, those who used most first.
func (l *Ledger) Usage(ctx context.Context, by lease.Scope, sinceMS, untilMS int64) ([]Usage, error) {
	l.mu.RLock() // the one connection may be within a transaction
	defer l.mu.RUnlock()
	return usage(ctx, l.db, by, sinceMS, untilMS)
}

// Usage is Ledger.Usage for a ledger that is only looked at.
func (r *Reader) Usage(ctx context.Context, by lease.Scope, sinceMS, untilMS int64) (all []Usage, err error) {
	err = r.within(ctx, func(db queryer) (err error) {
		all, err = usage(ctx, db, by, sinceMS, untilMS)
		return err
	})
	return all, err
}

func usage(ctx context.Context, db queryer, by lease.Scope, sinceMS, untilMS int64) ([]Usage, error) {
	switch by {
	case lease.User, lease.Group, lease.Project: // names of columns
	default:
		return nil, fmt.Errorf("usage by %q: expected user, group or project", by)
	}
	rows, err := db.QueryContext(ctx, `
		SELECT "`+string(by)+`", count(*), sum(bytes / 1048576 * (min(coalesce(ended_ms, ?2), ?2) - max(granted_ms, ?1))) AS used
		FROM lease WHERE granted_ms < ?2 AND coalesce(ended_ms, ?2) > ?1
		GROUP BY 1 ORDER BY used DESC, 1`, sinceMS, untilMS)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []Usage{}
	for rows.Next() {
		var u Usage
		if err := rows.Scan(&u.Name, &u.Leases, &u.MiBMS); err != nil {
			return nil, err
		}
		u.GiBSeconds = float64(u.MiBMS) / 1024 / 1000
		all = append(all, u)
	}
	return all, rows.Err()
}
