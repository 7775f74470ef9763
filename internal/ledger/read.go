package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader looks at a ledger and changes nothing.
type Reader struct {
	db  *sql.DB
	dir string // of the copy, if it is one
}

// Read opens a ledger to look at. Where an agent has it open, the reader looks at it as SQLite
// lets readers: at what is committed, without holding the writer up. Where nobody has, it looks at
// a copy, because opening the file itself would work what a crash left into it.
func Read(ctx context.Context, path string) (*Reader, error) {
	if err := isFile(path); err != nil {
		return nil, err
	}
	r, err := openReader(path)
	if err != nil {
		return nil, err
	}
	if err := readable(ctx, r.db); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
	}
	return r, nil
}

// Reader opens the ledger a second time, to look at: what takes long to read holds no decision up.
func (l *Ledger) Reader(ctx context.Context) (*Reader, error) { return Read(ctx, l.path) }

// readable wants a ledger of the version that this release writes.
func readable(ctx context.Context, db *sql.DB) error {
	v, err := version(ctx, db)
	switch {
	case err != nil:
		return err
	case v == 0:
		return &FormatError{"an empty file: expected a ledger of leases"}
	case v != SchemaVersion:
		return &FormatError{fmt.Sprintf("schema version %d: expected %d, which the agent of this release makes of it", v, SchemaVersion)}
	}
	return nil
}

func isFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("expected a file")}
	}
	return err
}

func openReader(path string) (*Reader, error) {
	lock, err := lockIfThere(path)
	if locked := (*LockedError)(nil); errors.As(err, &locked) {
		db, err := database(path, "ro", "query_only(ON)", "busy_timeout(5000)")
		return &Reader{db: db}, err
	}
	if err != nil {
		return nil, err
	}
	r, err := openCopy(path)
	if lock != nil {
		err = errors.Join(err, unlock(lock))
	}
	return r, err
}

// lockIfThere takes the lock where there is a lock file, so that no agent starts while the files
// are being copied. Where there is none nobody has ever opened the file at this place.
func lockIfThere(path string) (*os.File, error) {
	f, err := openLocked(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// openCopy opens a copy of the file and of its write-ahead log.
func openCopy(path string) (*Reader, error) {
	dir, err := os.MkdirTemp("", "ullage-ledger-")
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir}
	to := filepath.Join(dir, "ledger.db")
	err = copyFile(path, to)
	if walErr := copyFile(path+"-wal", to+"-wal"); err == nil && !errors.Is(walErr, fs.ErrNotExist) {
		err = walErr
	}
	if err == nil {
		r.db, err = database(to, "rw", "query_only(ON)")
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close removes the copy, if there is one.
func (r *Reader) Close() error {
	var err error
	if r.db != nil {
		err = r.db.Close()
	}
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// within runs look on one state of the ledger, however the agent goes on meanwhile.
func (r *Reader) within(ctx context.Context, look func(queryer) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return look(tx)
}

// Check looks for faults. An error says that it could not.
func (r *Reader) Check(ctx context.Context) (report Report, err error) {
	err = r.within(ctx, func(db queryer) (err error) {
		report, err = check(ctx, db)
		return err
	})
	return report, err
}
