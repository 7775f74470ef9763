package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ullage-dev/ullage/internal/lease"
)

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// load reads the book: the last snapshot, or else the base, and the events after it. It compares
// what is held with the table that the triggers watch.
func load(ctx context.Context, db queryer) (*lease.Book, error) {
	book, err := loadBody(ctx, db, `SELECT body FROM snapshot ORDER BY seq DESC LIMIT 1`)
	if errors.Is(err, sql.ErrNoRows) {
		book, err = loadBase(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	if err := fold(ctx, db, book, nil); err != nil {
		return nil, err
	}
	wrong, err := compareHoldings(ctx, db, book)
	if err == nil && len(wrong) > 0 {
		err = errors.New(wrong[0])
	}
	if err != nil {
		return nil, err
	}
	return book, nil
}

// loadBase reads the book before the first event that is kept: an empty one where all are.
func loadBase(ctx context.Context, db queryer) (*lease.Book, error) {
	book, err := loadBody(ctx, db, `SELECT body FROM base`)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return lease.New(), nil
	case err != nil:
		return nil, fmt.Errorf("the base: %w", err)
	}
	return book, nil
}

func loadBody(ctx context.Context, db queryer, query string) (*lease.Book, error) {
	var body string
	if err := db.QueryRowContext(ctx, query).Scan(&body); err != nil {
		return nil, err
	}
	return restore(body)
}

func restore(body string) (*lease.Book, error) {
	var s lease.Snapshot
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return nil, fmt.Errorf("a snapshot is not readable: %w", err)
	}
	return lease.Restore(s)
}

// fold applies the events that follow the book's last one, and shows each to see, if there is one.
func fold(ctx context.Context, db queryer, book *lease.Book, see func(*lease.Event) error) error {
	return scanEvents(ctx, db, book.Seq(), func(e *lease.Event) error {
		if err := book.Apply(*e); err != nil {
			return err
		}
		if see != nil {
			return see(e)
		}
		return nil
	})
}

// foldUntil applies the events that follow the book's last one, up to a number.
func foldUntil(ctx context.Context, db queryer, book *lease.Book, until int64) error {
	rows, err := db.QueryContext(ctx, selectEvents+` WHERE seq > ? AND seq <= ? ORDER BY seq`, book.Seq(), until)
	if err != nil {
		return err
	}
	return eachEvent(rows, func(e *lease.Event) error { return book.Apply(*e) })
}

// selectEvents selects what eachEvent reads.
const selectEvents = `SELECT seq, at_ms, actor, kind, body FROM event`

// scanEvents calls see for each event after a number, in order.
func scanEvents(ctx context.Context, db queryer, after int64, see func(*lease.Event) error) error {
	rows, err := db.QueryContext(ctx, selectEvents+` WHERE seq > ? ORDER BY seq`, after)
	if err != nil {
		return err
	}
	return eachEvent(rows, see)
}

// eachEvent calls see for each row and closes them.
func eachEvent(rows *sql.Rows, see func(*lease.Event) error) error {
	defer rows.Close()
	for rows.Next() {
		var e lease.Event
		var kind string
		var body []byte
		if err := rows.Scan(&e.Seq, &e.AtMS, &e.Actor, &kind, &body); err != nil {
			return err
		}
		var err error
		if e.Body, err = lease.DecodeBody(kind, body); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if err := see(&e); err != nil {
			return err
		}
	}
	return rows.Err()
}
