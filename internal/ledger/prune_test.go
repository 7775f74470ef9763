package ledger

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/lease"
)

// prune deletes all that a retention does not keep.
func prune(t *testing.T, l *Ledger, nowMS int64, keep Retention) (steps int) {
	t.Helper()
	for more := true; more; steps++ {
		var err error
		if more, err = l.Prune(t.Context(), nowMS, keep); err != nil {
			t.Fatal(err)
		}
	}
	return steps
}

// bounds are the first and last event and lease that are kept.
func bounds(t *testing.T, l *Ledger) (b struct{ firstEvent, lastEvent, firstLease, lastLease, leases int64 }) {
	t.Helper()
	if err := l.db.QueryRow(`SELECT (SELECT min(seq) FROM event), (SELECT max(seq) FROM event), (SELECT min(id) FROM lease), (SELECT max(id) FROM lease), (SELECT count(*) FROM lease)`).
		Scan(&b.firstEvent, &b.lastEvent, &b.firstLease, &b.lastLease, &b.leases); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPrune: what is too old goes, in steps, and nothing else does; the book, what lives, and what
// was used since stay as they were, and the check finds no fault, over restarts and more work too.
func TestPrune(t *testing.T) {
	made := filepath.Join(t.TempDir(), "ledger.db")
	if err := worked(t, made, 16, 25).Close(); err != nil {
		t.Fatal(err)
	}
	for name, keep := range map[string]func(nowMS int64) Retention{
		"all":                   func(int64) Retention { return Retention{} },
		"decisions by time":     func(now int64) Retention { return Retention{EventsMS: now / 4} },
		"decisions by number":   func(int64) Retention { return Retention{Most: 100} },
		"leases too":            func(now int64) Retention { return Retention{EventsMS: now / 4, LeasesMS: now / 3} },
		"leases alone":          func(now int64) Retention { return Retention{LeasesMS: now / 3} },
		"nothing that can go":   func(int64) Retention { return Retention{EventsMS: 1, LeasesMS: 1} },
		"as little as possible": func(int64) Retention { return Retention{EventsMS: 1, LeasesMS: 1, Most: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time goes by waiting for the disk
			path := filepath.Join(t.TempDir(), "ledger.db")
			if err := copyFile(made, path); err != nil {
				t.Fatal(err)
			}
			l := openTest(t, path)
			before, had := snapshotOf(l), bounds(t, l)
			r := keep(before.NowMS)
			steps := prune(t, l, before.NowMS, r)
			if diff := cmp.Diff(before, snapshotOf(l)); diff != "" {
				t.Errorf("the book has changed (-before +after):\n%s", diff)
			}
			has := bounds(t, l)
			switch gone := has.firstEvent - 1; {
			case r.EventsMS == 0 && r.Most == 0:
				if has != had || steps != 1 {
					t.Errorf("%+v, of %+v, in %d steps", has, had, steps)
				}
			case gone%20 != 0 || int64(steps) < gone/20 || gone < had.lastEvent/2 || has.lastEvent != had.lastEvent:
				t.Errorf("%+v, of %+v, in %d steps", has, had, steps)
			}
			if fewer := has.leases < had.leases; fewer != (r.EventsMS > 0 && r.LeasesMS > 0 || r.Most > 0) || has.lastLease != had.lastLease {
				t.Errorf("leases: %+v, of %+v", has, had)
			}
			if report := checked(t, path); report.Base != has.firstEvent-1 || report.Events != has.lastEvent-report.Base || report.Leases != has.leases {
				t.Errorf("%+v for %+v", report, has)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again := openTest(t, path)
			if diff := cmp.Diff(before, snapshotOf(again)); diff != "" {
				t.Fatalf("opened again (-before +after):\n%s", diff)
			}
			w := &workload{ledger: again, seed: 9, out: new(strings.Builder)}
			if err := w.run(t.Context(), 16, 6); err != nil {
				t.Fatal(err)
			}
			prune(t, again, snapshotOf(again).NowMS, r)
			checked(t, path)
		})
	}
}

// TestPruneKeepsUsage: what was used is the same as before from the time on that is told.
func TestPruneKeepsUsage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := worked(t, path, 16, 25)
	r, err := l.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	complete := func() int64 {
		ms, err := r.CompleteMS(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ms
	}
	usage := func(sinceMS, untilMS int64) []Usage {
		all, err := r.Usage(t.Context(), lease.User, sinceMS, untilMS)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if ms := complete(); ms != 0 {
		t.Errorf("complete from %d on, and nothing has gone", ms)
	}
	now := snapshotOf(l).NowMS
	before := map[int64][]Usage{}
	for since := int64(0); since < now; since += 16 {
		before[since] = usage(since, now)
	}
	prune(t, l, now, Retention{EventsMS: now / 4, LeasesMS: now / 3})
	from := complete()
	if from <= 0 || from >= now-now/3 {
		t.Fatalf("complete from %d on, of %d", from, now)
	}
	for since := (from + 15) / 16 * 16; since < now; since += 16 {
		if diff := cmp.Diff(before[since], usage(since, now)); diff != "" {
			t.Fatalf("used since %d (-before +after):\n%s", since, diff)
		}
	}
	if cmp.Equal(before[0], usage(0, now)) {
		t.Error("what was used since the beginning is as before: nothing has gone")
	}
}

// snapshotNow keeps the book as it is. Which events have snapshots otherwise depends on how many each
// transaction had.
func snapshotNow(t *testing.T, l *Ledger) {
	t.Helper()
	s := snapshotOf(l)
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.db.Exec(`INSERT OR REPLACE INTO snapshot (seq, body) VALUES (?, ?)`, s.Seq, string(body)); err != nil {
		t.Fatal(err)
	}
}

// TestPruneIsGuarded: the tables refuse to let go of what is needed, and the check finds a base that
// is not what it was.
func TestPruneIsGuarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := worked(t, path, 16, 25)
	now := snapshotOf(l).NowMS
	prune(t, l, now, Retention{EventsMS: now / 4, LeasesMS: now / 2})
	snapshotNow(t, l)
	for query, want := range map[string]string{
		`DELETE FROM event WHERE seq = (SELECT min(seq) FROM event)`: "never deleted",
		`DELETE FROM base`:                                         "never deleted",
		`UPDATE base SET seq = seq - 1`:                            "moves on",
		`UPDATE base SET seq = 1000000`:                            "before the last event",
		`DELETE FROM lease WHERE id = (SELECT max(id) FROM lease)`: "never deleted",
		`DELETE FROM lease WHERE state = 'granted'`:                "never deleted",
		`DELETE FROM lease WHERE state = 'ended' AND ended_ms >= (SELECT max(at_ms) FROM base)`: "never deleted",
	} {
		if _, err := l.db.Exec(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
	checked(t, path)
	for query, want := range map[string]string{
		`DROP TRIGGER base_goes_on; UPDATE base SET body = '{}'`:                                                                                       "",
		`DROP TRIGGER base_goes_on; UPDATE base SET seq = seq - 1, body = json_set(body, '$.seq', seq - 1)`:                                            "the event before has number",
		`DROP TRIGGER base_goes_on; UPDATE base SET body = json_set(body, '$.policy.keep_ms', 5)`:                                                      "snapshot of event",
		`DROP TRIGGER lease_goes_on; UPDATE lease SET ended_ms = ended_ms + 1000000 WHERE id = (SELECT min(id) FROM lease WHERE state = 'ended')`:      "in the table",
		`DROP TRIGGER lease_goes_on; UPDATE lease SET state = 'granted', ended_ms = NULL WHERE id = (SELECT min(id) FROM lease WHERE state = 'ended')`: "in the table",
	} {
		t.Run(query, func(t *testing.T) {
			spoiled := filepath.Join(t.TempDir(), "ledger.db")
			for _, suffix := range []string{"", "-wal"} {
				if err := copyFile(path+suffix, spoiled+suffix); err != nil {
					t.Fatal(err)
				}
			}
			db, err := database(spoiled, "rw")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
			report, err := check(t.Context(), db)
			if text := strings.Join(report.Faults, "\n"); err != nil || text == "" || !strings.Contains(text, want) {
				t.Errorf("%v, %q, want %q", err, text, want)
			}
		})
	}
}

// TestMigrate: a ledger of the first schema is brought up to date, and is as it was.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := copyFile(filepath.Join("..", "..", "testdata", "ledger", "schema1.db"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "schema version 1: expected 2") {
		t.Errorf("it is read as it is: %v", err)
	}
	l := openTest(t, path)
	if report := checked(t, path); report.Events != 16 || report.Base != 0 {
		t.Errorf("%+v", report)
	}
	prune(t, l, morningMS*2, Retention{EventsMS: 1, LeasesMS: 1})
	checked(t, path)
}
