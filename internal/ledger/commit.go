package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/lease"
)

// maxBatch bounds the decisions of a transaction, so that the first does not wait for ever for
// the last.
const maxBatch = 256

// Decide looks at the book, changes it by its decisions only, and returns their events.
type Decide func(*lease.Book) ([]lease.Event, error)

type decision struct {
	decide Decide
	events []lease.Event
	err    error
	done   chan struct{}
}

// ErrClosed is the error of a decision after Close.
var ErrClosed = errors.New("the ledger is closed")

// ErrNotStored is among the errors of a decision that could not be put on disk: the disk is full,
// or broken.
var ErrNotStored = errors.New("not stored")

// Do runs a decision and returns its events when they are on disk. The error of a decision that was
// refused is a lease.RefusedError, and comes when the refusal is on disk, if it is an event. After any other error
// nothing of the decision is stored.
//
// A context that ends while the decision waits for its turn withdraws it; once it is being decided,
// Do returns when it is stored.
func (l *Ledger) Do(ctx context.Context, decide Decide) ([]lease.Event, error) {
	d := &decision{decide: decide, done: make(chan struct{})}
	select {
	case l.waiting <- d:
		<-d.done
		return d.events, d.err
	case <-l.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run takes what waits and commits it, until the ledger is closed.
func (l *Ledger) run() {
	defer close(l.closed)
	for {
		select {
		case d := <-l.waiting:
			l.transact(l.gather(d))
		case <-l.closing:
			return
		}
	}
}

// gather takes all that wait besides the first. Senders that wait are served in their order.
func (l *Ledger) gather(first *decision) []*decision {
	batch := []*decision{first}
	for len(batch) < maxBatch {
		select {
		case d := <-l.waiting:
			batch = append(batch, d)
		default:
			return batch
		}
	}
	return batch
}

// transact decides a batch, stores it, and answers.
func (l *Ledger) transact(batch []*decision) {
	l.mu.Lock()
	err := l.broken
	if err == nil {
		err = l.store(batch)
	}
	l.mu.Unlock()
	l.at("answer")
	for _, d := range batch {
		if err != nil {
			d.events, d.err = nil, fmt.Errorf("%s: %w: %w", l.path, ErrNotStored, err)
		}
		close(d.done)
	}
}

func (l *Ledger) at(point string) {
	if l.tuning.reach != nil {
		l.tuning.reach(point)
	}
}

// store runs the decisions and commits what comes of them. When it fails, the book is as it is
// on disk again; when even that fails, the ledger decides nothing any more.
func (l *Ledger) store(batch []*decision) error {
	err := l.commit(context.Background(), batch)
	if err == nil {
		return nil
	}
	book, loadErr := load(context.Background(), l.db)
	if loadErr != nil {
		l.broken = fmt.Errorf("the ledger is out of use since a transaction failed (%w) and could not be undone: %w", err, loadErr)
		return l.broken
	}
	l.book = book
	return err
}

func (l *Ledger) commit(ctx context.Context, batch []*decision) error {
	before := l.book.Seq()
	var events []lease.Event
	for _, d := range batch {
		d.events, d.err = d.decide(l.book)
		if refused := (*lease.RefusedError)(nil); d.err != nil && !errors.As(d.err, &refused) {
			return d.err
		}
		events = append(events, d.events...)
	}
	l.at("decided")
	if l.book.Seq() != before+int64(len(events)) {
		return fmt.Errorf("a decision did not return all of its events: the book is at %d, expected %d", l.book.Seq(), before+int64(len(events)))
	}
	if len(events) == 0 {
		return nil
	}
	if wrong := l.book.Check(); len(wrong) > 0 {
		return fmt.Errorf("the decision breaks the rules: %s", strings.Join(wrong, "; "))
	}
	return l.write(ctx, before, events)
}

// write stores events, and what they change in the tables, in one transaction.
func (l *Ledger) write(ctx context.Context, before int64, events []lease.Event) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	w := writer{ctx: ctx, tx: tx, book: l.book, made: map[string]*sql.Stmt{}}
	for i := range events {
		w.event(&events[i])
		l.at("written")
	}
	if every := l.tuning.snapshotEvery; before/every != l.book.Seq()/every {
		w.snapshot()
		l.at("snapshot")
	}
	if w.err != nil {
		return w.err
	}
	l.at("commit")
	if err := tx.Commit(); err != nil {
		return err
	}
	l.at("committed")
	return nil
}
