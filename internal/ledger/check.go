package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/internal/lease"
)

// Report is what Check found.
type Report struct {
	Schema  int
	Base    int64 // the last event that is no longer kept, 0 where all are
	Events  int64 // that are kept
	Leases  int64 // likewise
	Held    int   // that hold memory now
	Waiting int   // that wait now
	Faults  []string
}

// maxFaults bounds what is said of a ledger that is badly damaged.
const maxFaults = 100

// check looks at everything that is to hold: SQLite's own structures; that the events from the
// first on, or from the base on, which has to be taken as it is, lead from one state to the next,
// with the rules kept at the end of each; that the snapshots are what the events lead to; and that
// the tables say the same as the book.
func check(ctx context.Context, db queryer) (Report, error) {
	r := Report{Schema: SchemaVersion, Faults: []string{}}
	for _, step := range []func(context.Context, queryer, *Report) error{checkFile, checkEvents} {
		if err := step(ctx, db, &r); err != nil {
			return r, err
		}
	}
	r.Faults = r.Faults[:min(len(r.Faults), maxFaults)]
	return r, nil
}

// checkFile is SQLite's own check, which also holds the constraints against the rows.
func checkFile(ctx context.Context, db queryer, r *Report) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", maxFaults))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			r.Faults = append(r.Faults, "SQLite: "+line)
		}
	}
	return rows.Err()
}

// checkEvery is how often the whole book is counted anew while events are replayed. Apply itself
// refuses an event that breaks the rules; counting finds what Apply would have got wrong.
const checkEvery = 64

// row is what the table of leases has to say of one.
type row struct {
	state                                                   lease.State
	bytes, epoch, queued, granted, expires, draining, ended int64
}

func rowOf(l *lease.Lease, expires int64) row {
	return row{l.State, l.Bytes(), l.Epoch, l.QueuedMS, l.GrantedMS, expires, l.DrainingMS, l.EndedMS}
}

// unknownMS is the end of a lease that drained when the base was made: a book keeps it no longer.
const unknownMS = -1

func (got row) is(want row) bool {
	if want.expires == unknownMS {
		got.expires = unknownMS
	}
	return got == want
}

// known is what is known of leases, beside the table: those that lived at the base, and those that
// the events since are about.
type known struct {
	leases map[lease.ID]row
	nextID lease.ID // at the base
	atMS   int64
}

func sinceBase(base *lease.Book) *known {
	k := &known{leases: map[lease.ID]row{}, nextID: base.Snapshot().NextID, atMS: base.NowMS()}
	for _, l := range base.Leases() {
		expires := l.ExpiresMS
		if l.State == lease.Draining {
			expires = unknownMS
		}
		k.leases[l.ID] = rowOf(&l, expires)
	}
	return k
}

// before tells whether a row is of a lease that had ended at the base. Its events are gone.
func (k *known) before(id lease.ID, got row) bool {
	return id < k.nextID && got.state == lease.Ended && got.ended <= k.atMS
}

func checkEvents(ctx context.Context, db queryer, r *Report) error {
	snapshots, err := readSnapshots(ctx, db)
	if err != nil {
		return err
	}
	book, err := loadBase(ctx, db)
	if err != nil {
		r.fault("%v", err)
		return nil
	}
	since := sinceBase(book)
	leases := since.leases
	r.Base = book.Seq()
	if err := fold(ctx, db, book, func(e *lease.Event) error {
		noteLease(book, e, leases)
		if e.Seq%checkEvery == 0 {
			r.checkBook(book)
		}
		if body, ok := snapshots[e.Seq]; ok {
			delete(snapshots, e.Seq)
			if !sameBook(book, body) {
				r.fault("the snapshot of event %d is not what the events lead to", e.Seq)
			}
		}
		return nil
	}); err != nil {
		r.fault("%v", err)
	}
	for seq := range snapshots {
		r.fault("there is a snapshot of event %d, which the events do not reach", seq)
	}
	r.checkBook(book)
	r.count(book)
	return checkTables(ctx, db, book, since, r)
}

func (r *Report) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

func (r *Report) checkBook(book *lease.Book) {
	for _, w := range book.Check() {
		r.fault("after event %d: %s", book.Seq(), w)
	}
}

func (r *Report) count(book *lease.Book) {
	r.Events = book.Seq() - r.Base
	for _, l := range book.Leases() {
		if l.Holds() {
			r.Held++
		} else {
			r.Waiting++
		}
	}
}

// noteLease keeps what became of the lease that an event is about. The deadline stays in the table
// as it was when the lease began to drain.
func noteLease(book *lease.Book, e *lease.Event, leases map[lease.ID]row) {
	l, ok := book.Lease(e.Lease())
	if !ok || e.Kind() == "refuse" {
		return
	}
	expires := l.ExpiresMS
	if l.State == lease.Draining || l.State == lease.Ended {
		expires = leases[l.ID].expires // or unknownMS
	}
	leases[l.ID] = rowOf(&l, expires)
}

func readSnapshots(ctx context.Context, db queryer) (map[int64]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT seq, body FROM snapshot`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64]string{}
	for rows.Next() {
		var seq int64
		var body string
		if err := rows.Scan(&seq, &body); err != nil {
			return nil, err
		}
		all[seq] = body
	}
	return all, rows.Err()
}

// sameBook tells whether a snapshot, read back, is the book.
func sameBook(book *lease.Book, body string) bool {
	back, err := restore(body)
	if err != nil {
		return false
	}
	want, err := json.Marshal(book.Snapshot())
	if err != nil {
		return false
	}
	got, err := json.Marshal(back.Snapshot())
	return err == nil && bytes.Equal(want, got)
}

// checkTables compares the tables with the book, and with what the events say of each lease.
func checkTables(ctx context.Context, db queryer, book *lease.Book, since *known, r *Report) error {
	leases := since.leases
	wrong, err := compareHoldings(ctx, db, book)
	if err != nil {
		return err
	}
	r.Faults = append(r.Faults, wrong...)
	rows, err := db.QueryContext(ctx, `SELECT id, state, bytes, coalesce(epoch, 0), queued_ms, coalesce(granted_ms, 0), coalesce(expires_ms, 0),
		coalesce(draining_ms, 0), coalesce(ended_ms, 0) FROM lease ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id lease.ID
		var got row
		if err := rows.Scan(&id, &got.state, &got.bytes, &got.epoch, &got.queued, &got.granted, &got.expires, &got.draining, &got.ended); err != nil {
			return err
		}
		if want, ok := leases[id]; ok && !got.is(want) || !ok && !since.before(id, got) {
			r.fault("lease %d is %+v in the table, and %+v by the events", id, got, want)
		}
		delete(leases, id)
		r.Leases++
	}
	for _, id := range slices.Sorted(maps.Keys(leases)) {
		r.fault("lease %d is missing from the table", id)
	}
	return rows.Err()
}

// compareHoldings says where the table of holdings is not what the book's leases hold.
func compareHoldings(ctx context.Context, db queryer, book *lease.Book) (wrong []string, err error) {
	type place struct {
		lease  lease.ID
		device string
	}
	want := map[place]int64{}
	for _, l := range book.Leases() {
		for _, s := range l.Shares {
			want[place{l.ID, s.Device}] = s.Bytes
		}
	}
	rows, err := db.QueryContext(ctx, `SELECT lease, device, bytes FROM holding ORDER BY lease, device`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at place
		var n int64
		if err := rows.Scan(&at.lease, &at.device, &n); err != nil {
			return nil, err
		}
		if m, ok := want[at]; !ok || m != n {
			wrong = append(wrong, fmt.Sprintf("lease %d holds %d bytes of %s in the table, and %d by the events", at.lease, n, at.device, m))
		}
		delete(want, at)
	}
	for at, n := range want {
		wrong = append(wrong, fmt.Sprintf("lease %d holds %d bytes of %s by the events, and nothing in the table", at.lease, n, at.device))
	}
	slices.Sort(wrong)
	return wrong, rows.Err()
}
