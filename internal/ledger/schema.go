package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks the file as a ledger of ours, in SQLite's header: "ULLG".
const applicationID = 0x554c4c47

// SchemaVersion is the version of the schema that this release writes.
const SchemaVersion = 2

// migrations lead from each version of the schema to the next. Version n is after the first n.
// What is here was released: it is never changed, only added to.
var migrations = [SchemaVersion]string{`
CREATE TABLE event (
	seq   INTEGER PRIMARY KEY,
	at_ms INTEGER NOT NULL,
	actor TEXT NOT NULL,
	kind  TEXT NOT NULL,
	lease INTEGER,
	body  TEXT NOT NULL
) STRICT;
CREATE INDEX event_lease ON event (lease) WHERE lease IS NOT NULL;
CREATE INDEX event_time ON event (at_ms);

CREATE TABLE snapshot (
	seq  INTEGER PRIMARY KEY REFERENCES event (seq),
	body TEXT NOT NULL
) STRICT;

CREATE TABLE device (
	uuid           TEXT PRIMARY KEY,
	capacity_bytes INTEGER NOT NULL CHECK (capacity_bytes >= 0)
) STRICT;

CREATE TABLE lease (
	id          INTEGER PRIMARY KEY,
	user        TEXT NOT NULL CHECK (user <> ''),
	"group"     TEXT NOT NULL,
	project     TEXT NOT NULL,
	state       TEXT NOT NULL CHECK (state IN ('queued', 'granted', 'draining', 'ended')),
	bytes       INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
	epoch       INTEGER UNIQUE,
	queued_ms   INTEGER NOT NULL,
	granted_ms  INTEGER,
	expires_ms  INTEGER,
	draining_ms INTEGER,
	ended_ms    INTEGER,
	cause       TEXT,
	CHECK ((epoch IS NULL) = (granted_ms IS NULL)),
	CHECK ((state = 'ended') = (ended_ms IS NOT NULL))
) STRICT;
CREATE INDEX lease_granted ON lease (granted_ms) WHERE granted_ms IS NOT NULL;

CREATE TABLE holding (
	lease  INTEGER NOT NULL REFERENCES lease (id),
	device TEXT NOT NULL REFERENCES device (uuid),
	bytes  INTEGER NOT NULL CHECK (bytes >= 0),
	PRIMARY KEY (lease, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX holding_device ON holding (device);

CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER event_is_final BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_follows BEFORE INSERT ON event
WHEN NEW.seq <> 1 + (SELECT coalesce(max(seq), 0) FROM event)
BEGIN SELECT RAISE(ABORT, 'events follow one another without a gap'); END;
CREATE TRIGGER lease_is_kept BEFORE DELETE ON lease
BEGIN SELECT RAISE(ABORT, 'leases are never deleted'); END;
CREATE TRIGGER lease_is_new BEFORE INSERT ON lease
WHEN NEW.state <> 'queued' OR NEW.id <> 1 + (SELECT coalesce(max(id), 0) FROM lease)
BEGIN SELECT RAISE(ABORT, 'a lease begins in the queue, with the next id'); END;
CREATE TRIGGER lease_goes_on BEFORE UPDATE ON lease
WHEN OLD.state = 'ended'
	OR OLD.state <> NEW.state AND OLD.state || ' ' || NEW.state NOT IN
		('queued granted', 'queued ended', 'granted draining', 'granted ended', 'draining ended')
BEGIN SELECT RAISE(ABORT, 'a lease goes from queued to granted to draining to ended, and never back'); END;
CREATE TRIGGER holding_fits AFTER INSERT ON holding
WHEN (SELECT sum(bytes) FROM holding WHERE device = NEW.device) > (SELECT capacity_bytes FROM device WHERE uuid = NEW.device)
BEGIN SELECT RAISE(ABORT, 'over the capacity of the device'); END;
CREATE TRIGGER holding_is_granted AFTER INSERT ON holding
WHEN (SELECT state FROM lease WHERE id = NEW.lease) <> 'granted'
BEGIN SELECT RAISE(ABORT, 'only a granted lease takes memory'); END;
`, `
CREATE TABLE base (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	seq   INTEGER NOT NULL CHECK (seq > 0),
	at_ms INTEGER NOT NULL,
	body  TEXT NOT NULL,

	leases_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX lease_ended ON lease (ended_ms) WHERE ended_ms IS NOT NULL;

DROP TRIGGER event_is_kept;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
WHEN OLD.seq > coalesce((SELECT seq FROM base), 0)
BEGIN SELECT RAISE(ABORT, 'events after the base are never deleted'); END;
DROP TRIGGER lease_is_kept;
CREATE TRIGGER lease_is_kept BEFORE DELETE ON lease
WHEN OLD.state <> 'ended' OR OLD.ended_ms >= coalesce((SELECT at_ms FROM base), 0) OR OLD.id = (SELECT max(id) FROM lease)
BEGIN SELECT RAISE(ABORT, 'leases are never deleted that have not ended before the base, nor the last one'); END;
CREATE TRIGGER base_is_kept BEFORE DELETE ON base
BEGIN SELECT RAISE(ABORT, 'the base is never deleted'); END;
CREATE TRIGGER base_goes_on BEFORE UPDATE OF seq, at_ms, body ON base
WHEN NEW.seq <= OLD.seq OR NEW.at_ms < OLD.at_ms OR NEW.seq >= (SELECT max(seq) FROM event)
BEGIN SELECT RAISE(ABORT, 'the base moves on, and to before the last event'); END;
`}

// migrate brings the schema up to date, each version in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB) error {
	version, err := version(ctx, db)
	if err != nil {
		return err
	}
	for ; version < SchemaVersion; version++ {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		steps := migrations[version] + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version+1)
		if _, err := tx.ExecContext(ctx, steps); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
	}
	return nil
}

// version returns the version of the schema, 0 for an empty file. It refuses other databases and
// newer versions.
func version(ctx context.Context, db *sql.DB) (int, error) {
	var app, version, tables int
	row := db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a, pragma_user_version v`)
	if err := row.Scan(&app, &version, &tables); err != nil {
		return 0, err
	}
	switch {
	case app != applicationID && tables > 0, app != applicationID && app != 0:
		return 0, &FormatError{"an SQLite database, but not a ledger of leases"}
	case version > SchemaVersion:
		return 0, &FormatError{fmt.Sprintf("schema version %d is newer than this release knows, %d", version, SchemaVersion)}
	case tables == 0:
		return 0, nil
	}
	return version, nil
}

// FormatError says that a file is not a ledger that this release can read.
type FormatError struct{ Why string }

func (e *FormatError) Error() string { return e.Why }
