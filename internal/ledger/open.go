package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/ullage-dev/ullage/internal/lease"
)

// Ledger is an open ledger, of which there is one for a file at a time. Its methods may be
// called from several goroutines.
type Ledger struct {
	path string
	lock *os.File
	db   *sql.DB

	mu     sync.RWMutex // held for writing from the first decision of a transaction to its commit
	book   *lease.Book
	broken error // why nothing can be decided any more

	waiting chan *decision
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once

	tuning tuning
}

// tuning is what only tests set otherwise than Open.
type tuning struct {
	snapshotEvery int64              // events from one snapshot to the next
	pruneStep     int64              // rows that are deleted in a transaction
	reach         func(point string) // called at named points of a transaction; a test ends the process there
}

// LockedError says that another process has the ledger open.
type LockedError struct{ Path string }

func (e *LockedError) Error() string { return e.Path + ": another process has the ledger open" }

// Hint says what to look for.
func (e *LockedError) Hint() string { return "one agent of a machine keeps the ledger; is it running?" }

// Open opens the ledger in a file, or makes it there. It recovers what a crash left.
func Open(ctx context.Context, path string) (*Ledger, error) {
	return open(ctx, path, tuning{snapshotEvery: 4096, pruneStep: 500})
}

func open(ctx context.Context, path string, t tuning) (*Ledger, error) {
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		path: path, lock: lock, tuning: t,
		waiting: make(chan *decision), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	if err := l.start(ctx); err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", path, err), unlock(lock))
		if l.db != nil {
			err = errors.Join(err, l.db.Close())
		}
		return nil, err
	}
	go l.run()
	return l, nil
}

// Lock takes the lock beside a file that a program is to have for itself, the ledger or another,
// until it is given back or the program ends. Its error is a *LockedError where another has it.
func Lock(path string) (release func() error, err error) {
	f, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	return func() error { return unlock(f) }, nil
}

// lockFile makes, opens and locks the file beside the ledger. It is never removed: who removes
// a lock file may remove the one that somebody else has just locked.
func lockFile(path string) (*os.File, error) {
	return openLocked(path, os.O_CREATE)
}

// openLocked opens and locks the file beside the ledger; flag says what else than to open it.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{path}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (l *Ledger) start(ctx context.Context) (err error) {
	if err := makePrivate(l.path); err != nil {
		return err
	}
	// FULL makes SQLite call fsync for each commit: NORMAL would lose the last ones with the power.
	l.db, err = database(l.path, "rw", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "trusted_schema(OFF)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	if err := migrate(ctx, l.db); err != nil {
		return err
	}
	l.book, err = load(ctx, l.db)
	return err
}

// makePrivate makes the file, readable by its owner alone, where there is none.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// database opens a file with SQLite: one connection, so that pragmas hold for all there is.
func database(path, mode string, pragmas ...string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // C:/state
	}
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Close waits for the transaction under way and closes the file. It is not needed for safety.
func (l *Ledger) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closing)
		<-l.closed
		err = errors.Join(l.db.Close(), unlock(l.lock))
	})
	return err
}

// View calls look with the book as it is on disk. look must not change the book, nor keep it.
func (l *Ledger) View(look func(*lease.Book)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	look(l.book)
}
