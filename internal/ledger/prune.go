package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ullage-dev/ullage/internal/lease"
)

// Retention is what is kept of what is over. 0 keeps all.
type Retention struct {
	EventsMS int64 // decisions, for so long at least
	LeasesMS int64 // what leases held that have ended, which usage adds up, for so long at least
	Most     int64 // and of each no more than about so many, whatever their age
}

// Prune deletes what Retention does not keep: a bounded number of rows in one transaction, so that
// no decision waits for it for long. It tells whether there may be more to delete.
//
// Events are only deleted from the first on, in steps of some hundreds. What they led to becomes
// the base, from which a replay begins then. A lease has gone from the table only after its events.
func (l *Ledger) Prune(ctx context.Context, nowMS int64, keep Retention) (more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return false, fmt.Errorf("%s: %w", l.path, l.broken)
	}
	more, err = l.pruneEvents(ctx, nowMS, keep)
	if err == nil {
		var leases bool
		leases, err = l.pruneLeases(ctx, nowMS, keep)
		more = more || leases
	}
	if err != nil {
		return false, fmt.Errorf("%s: what is too old could not be deleted: %w", l.path, err)
	}
	return more, nil
}

// pruneEvents deletes a step of events, if there is a whole one to delete: each step writes a base.
func (l *Ledger) pruneEvents(ctx context.Context, nowMS int64, keep Retention) (more bool, err error) {
	base, err := loadBase(ctx, l.db)
	if err != nil {
		return false, err
	}
	last, err := lastToPrune(ctx, l.db, nowMS, keep)
	until := base.Seq() + l.tuning.pruneStep
	if err != nil || until > min(last, l.book.Seq()-1) { // the last event stays: the next one follows it
		return false, err
	}
	if err := foldUntil(ctx, l.db, base, until); err != nil {
		return false, err
	}
	return true, l.rebase(ctx, base)
}

// lastToPrune is the number of the last event that need not be kept.
func lastToPrune(ctx context.Context, db queryer, nowMS int64, keep Retention) (int64, error) {
	var newest, old int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM event`).Scan(&newest); err != nil {
		return 0, err
	}
	last := int64(0)
	if keep.Most > 0 {
		last = newest - keep.Most
	}
	if keep.EventsMS > 0 {
		err := db.QueryRowContext(ctx, `SELECT seq FROM event WHERE at_ms < ? ORDER BY at_ms DESC, seq DESC LIMIT 1`, nowMS-keep.EventsMS).Scan(&old)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	return max(last, old), nil
}

// rebase makes a book the base, and deletes the events that led to it.
func (l *Ledger) rebase(ctx context.Context, base *lease.Book) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	w := writer{ctx: ctx, tx: tx, made: map[string]*sql.Stmt{}}
	s := base.Snapshot()
	w.exec(`INSERT INTO base (one, seq, at_ms, body) VALUES (1, ?1, ?2, ?3) ON CONFLICT DO UPDATE SET seq = ?1, at_ms = ?2, body = ?3`, s.Seq, s.NowMS, w.json(s))
	w.exec(`DELETE FROM snapshot WHERE seq <= ?`, s.Seq)
	l.at("pruning")
	w.exec(`DELETE FROM event WHERE seq <= ?`, s.Seq)
	if w.err != nil {
		return w.err
	}
	l.at("prune")
	if err := tx.Commit(); err != nil {
		return err
	}
	l.at("pruned")
	return nil
}

// pruneLeases deletes a step of leases that ended before the base, those that ended first, and
// notes up to when: what was held before that can no longer be added up.
func (l *Ledger) pruneLeases(ctx context.Context, nowMS int64, keep Retention) (more bool, err error) {
	endedMS, last := int64(0), int64(0)
	if keep.LeasesMS > 0 {
		endedMS = nowMS - keep.LeasesMS
	}
	if keep.Most > 0 {
		if err := l.db.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) - ? FROM lease`, keep.Most).Scan(&last); err != nil {
			return false, err
		}
	}
	if endedMS <= 0 && last <= 0 {
		return false, nil
	}
	var n, latest sql.NullInt64
	const which = ` FROM (SELECT id, ended_ms FROM lease WHERE ended_ms IS NOT NULL ORDER BY ended_ms, id LIMIT ?1)
		WHERE ended_ms < (SELECT at_ms FROM base) AND (ended_ms < ?2 OR id <= ?3) AND id < (SELECT max(id) FROM lease)`
	if err := l.db.QueryRowContext(ctx, `SELECT count(*), max(ended_ms)`+which, l.tuning.pruneStep, endedMS, last).Scan(&n, &latest); err != nil || n.Int64 == 0 {
		return false, err
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	w := writer{ctx: ctx, tx: tx, made: map[string]*sql.Stmt{}}
	w.exec(`UPDATE base SET leases_ms = max(leases_ms, ?)`, latest.Int64)
	w.exec(`DELETE FROM lease WHERE id IN (SELECT id`+which+`)`, l.tuning.pruneStep, endedMS, last)
	if w.err != nil {
		return false, w.err
	}
	return n.Int64 == l.tuning.pruneStep, tx.Commit()
}
