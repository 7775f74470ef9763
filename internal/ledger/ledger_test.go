package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/lease"
)

// TestReopen: what was decided is there when the file is opened again, over snapshots too, and no
// check finds a fault, with the ledger open or closed.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?%.db")
	l := worked(t, path, 8, 60)
	want := snapshotOf(l)
	if snapshots, err := readSnapshots(t.Context(), l.db); err != nil || len(snapshots) != 2 {
		t.Fatalf("%d snapshots are kept after %d events, want 2: %v", len(snapshots), want.Seq, err)
	}
	live := checked(t, path)
	if live.Events != want.Seq || live.Leases != int64(want.NextID)-1 || live.Held == 0 {
		t.Errorf("while open: %+v, want %d events and %d leases", live, want.Seq, want.NextID-1)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, checked(t, path)); diff != "" {
		t.Errorf("open and closed (-open +closed):\n%s", diff)
	}
	if diff := cmp.Diff(want, snapshotOf(openTest(t, path))); diff != "" {
		t.Errorf("reopened (-want +got):\n%s", diff)
	}
}

// checked runs the full check and wants no fault.
func checked(t testing.TB, path string) Report {
	t.Helper()
	r, err := Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	report, err := r.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Faults) > 0 {
		t.Fatalf("faults: %s", strings.Join(report.Faults, "\n"))
	}
	return report
}

func TestSecondOpenerIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	var locked *LockedError
	if _, err := Open(t.Context(), path); !errors.As(err, &locked) {
		t.Fatalf("a second opener gets %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Do(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a decision after Close gets %v", err)
	}
	openTest(t, path)
}

func TestNotALedger(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	db, err := database(other, "rwc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE x (y)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	newer := filepath.Join(dir, "newer.db")
	if err := openTest(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = database(newer, "rw"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database at all\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{other: "not a ledger", newer: "version 99 is newer", text: "not a database", dir: "expected a file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s): %v, want %q", filepath.Base(path), err, want)
		}
	}
	for path, want := range map[string]string{other: "not a ledger", newer: "version 99 is newer", text: "not a database"} {
		if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// TestRefusalIsStored: a refusal is an error to the client and a row in the audit table.
func TestRefusalIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := worked(t, path, 1, 1)
	_, err := l.Do(t.Context(), func(b *lease.Book) ([]lease.Event, error) {
		_, events, err := b.Submit(b.NowMS(), lease.Request{User: "ann", MemoryBytes: 500 * gib})
		return events, err
	})
	var refused *lease.RefusedError
	if !errors.As(err, &refused) || refused.Code != lease.CodeNever {
		t.Fatalf("got %v", err)
	}
	r, err := Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var last Exported
	if err := r.Export(t.Context(), 0, func(e Exported) error { last = e; return nil }); err != nil {
		t.Fatal(err)
	}
	if last.Kind != "refuse" || last.Actor != "ann" || !strings.Contains(string(last.Body), `"code":"never"`) {
		t.Errorf("the last event is %+v", last)
	}
}

// TestBadDecisionIsUndone: of a decision that goes wrong half-way nothing stays, and the ledger
// goes on.
func TestBadDecisionIsUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := worked(t, path, 1, 40)
	before := snapshotOf(l)
	bad := map[string]Decide{
		"an error": func(b *lease.Book) ([]lease.Event, error) {
			events, _ := b.Release(b.NowMS()+1, granted(b), "x", lease.Released)
			return events, errors.New("something else")
		},
		"events kept back": func(b *lease.Book) ([]lease.Event, error) {
			_, err := b.Release(b.NowMS()+1, granted(b), "x", lease.Released)
			return nil, err
		},
	}
	for name, decide := range bad {
		if _, err := l.Do(t.Context(), decide); err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(before, snapshotOf(l)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	w := &workload{ledger: l, seed: 2, out: new(strings.Builder)}
	if err := w.run(t.Context(), 2, 20); err != nil {
		t.Error(err)
	}
	checked(t, path)
}

func granted(b *lease.Book) lease.ID {
	for _, l := range b.Leases() {
		if l.State == lease.Granted {
			return l.ID
		}
	}
	return 0
}

// TestTriggers: the tables refuse by themselves what must not be.
func TestTriggers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := worked(t, path, 2, 100)
	for query, want := range map[string]string{
		`DELETE FROM event`:            "never deleted",
		`UPDATE event SET actor = 'x'`: "never changed",
		`INSERT INTO event VALUES (1000000, 0, 'x', 'tick', NULL, '{}')`: "without a gap",
		`DELETE FROM lease`: "never deleted",
		`UPDATE lease SET state = 'granted', ended_ms = NULL WHERE state = 'ended'`:                                                                         "never back",
		`UPDATE lease SET state = 'queued' WHERE state = 'granted'`:                                                                                         "never back",
		`INSERT INTO lease (id, user, "group", project, state, queued_ms) SELECT max(id), 'x', '', '', 'queued', 0 FROM lease`:                              "with the next id",
		`UPDATE lease SET epoch = (SELECT max(epoch) FROM lease) WHERE id = (SELECT min(id) FROM lease WHERE state = 'granted')`:                            "UNIQUE",
		`INSERT INTO holding SELECT id, 'C', 1000000000000 FROM lease WHERE state = 'granted' AND id NOT IN (SELECT lease FROM holding WHERE device = 'C')`: "over the capacity",
		`INSERT INTO holding SELECT id, 'B', 1 FROM lease WHERE state = 'ended' LIMIT 1`:                                                                    "only a granted lease",
		`INSERT INTO holding SELECT lease, device, 1 FROM holding`:                                                                                          "UNIQUE",
	} {
		if _, err := l.db.Exec(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
	checked(t, path)
}

// TestCheckFinds: each kind of damage is found.
func TestCheckFinds(t *testing.T) {
	made := filepath.Join(t.TempDir(), "ledger.db")
	if err := worked(t, made, 16, 7).Close(); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`UPDATE holding SET bytes = bytes - 1048576 WHERE lease = (SELECT min(lease) FROM holding)`: "by the events",
		`DELETE FROM holding WHERE lease = (SELECT min(lease) FROM holding)`:                        "nothing in the table",
		`UPDATE lease SET bytes = 1 WHERE state = 'granted'`:                                        " is {state:granted bytes:1 ",
		`DROP TRIGGER event_is_kept; DELETE FROM event WHERE seq = 20`:                              "cannot be",
		`DROP TRIGGER event_is_final; UPDATE event SET at_ms = 0 WHERE seq = 20`:                    "before that of the event before",
		`DROP TRIGGER event_is_final; UPDATE event SET kind = 'end' WHERE seq = 20`:                 "",
		`INSERT INTO snapshot SELECT seq, '{}' FROM event WHERE seq = 30`:                           "snapshot of event 30",
		`DROP TRIGGER lease_is_kept; DELETE FROM lease WHERE state = 'ended'`:                       "missing from the table",
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		if err := copyFile(made, path); err != nil {
			t.Fatal(err)
		}
		l := openTest(t, path)
		if _, err := l.db.Exec(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		r, err := Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.Check(t.Context())
		if text := strings.Join(report.Faults, "\n"); err != nil || text == "" || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %q, want %q", query, err, text, want)
		}
		r.Close()
	}
}

// TestUsage: memory counts from the grant until it is free again, cut to the span that is asked for.
func TestUsage(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	do := func(f func(*lease.Book) ([]lease.Event, error)) {
		t.Helper()
		if _, err := l.Do(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	do(func(b *lease.Book) ([]lease.Event, error) { return b.SetDevices(0, "root", testDevices, nil) })
	for _, d := range testDevices {
		do(func(b *lease.Book) ([]lease.Event, error) { return b.SetForeign(0, d.UUID, 0) })
	}
	submit := func(atMS int64, user, project string, memory int64) {
		do(func(b *lease.Book) ([]lease.Event, error) {
			_, events, err := b.Submit(atMS, lease.Request{User: user, Project: project, MemoryBytes: memory})
			return events, err
		})
	}
	submit(1000, "ann", "p", 2*gib)
	submit(2000, "bob", "p", 1*gib)
	submit(5000, "bob", "", 4*gib)
	do(func(b *lease.Book) ([]lease.Event, error) { return b.Release(6000, 1, "ann", lease.Released) })
	do(func(b *lease.Book) ([]lease.Event, error) { return b.Freed(8000, 1) })
	for _, tt := range []struct {
		by           lease.Scope
		since, until int64
		want         []Usage
	}{
		{lease.User, 0, 10_000, []Usage{{"bob", 2, (8 + 4*5) * 1024 * 1000, 28}, {"ann", 1, 2 * 7 * 1024 * 1000, 14}}},
		{lease.User, 4000, 7000, []Usage{{"bob", 2, (3 + 4*2) * 1024 * 1000, 11}, {"ann", 1, 2 * 3 * 1024 * 1000, 6}}},
		{lease.Project, 0, 10_000, []Usage{{"p", 2, 22 * 1024 * 1000, 22}, {"", 1, 20 * 1024 * 1000, 20}}},
		{lease.Group, 9000, 9500, []Usage{{"", 2, 5 * 1024 * 500, 2.5}}},
		{lease.User, 0, 1000, []Usage{}},
	} {
		got, err := l.Usage(t.Context(), tt.by, tt.since, tt.until)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("by %s from %d to %d: %v (-want +got):\n%s", tt.by, tt.since, tt.until, err, diff)
		}
	}
	if _, err := l.Usage(t.Context(), "id; DROP TABLE lease", 0, 1); err == nil {
		t.Error("usage by anything is let through")
	}
}
