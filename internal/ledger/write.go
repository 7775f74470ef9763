package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/ullage-dev/ullage/internal/lease"
)

// writer puts events into the tables. After an error it does nothing more.
type writer struct {
	ctx  context.Context
	tx   *sql.Tx
	book *lease.Book // after all events
	made map[string]*sql.Stmt
	err  error
}

func (w *writer) exec(query string, args ...any) {
	if w.err != nil {
		return
	}
	stmt, ok := w.made[query]
	if !ok { // compiling costs more than running; the transaction's end closes what was compiled
		if stmt, w.err = w.tx.PrepareContext(w.ctx, query); w.err != nil {
			return
		}
		w.made[query] = stmt
	}
	_, w.err = stmt.ExecContext(w.ctx, args...)
}

func (w *writer) json(v any) string {
	text, err := json.Marshal(v)
	if w.err == nil {
		w.err = err
	}
	return string(text)
}

func (w *writer) event(e *lease.Event) {
	w.exec(`INSERT INTO event (seq, at_ms, actor, kind, lease, body) VALUES (?, ?, ?, ?, nullif(?, 0), ?)`,
		e.Seq, e.AtMS, e.Actor, e.Kind(), int64(e.Lease()), w.json(e.Body))
	switch body := e.Body.(type) {
	case *lease.DevicesSet:
		w.devices(body.Devices)
	case *lease.Submitted:
		r := body.Request
		w.exec(`INSERT INTO lease (id, user, "group", project, state, queued_ms) VALUES (?, ?, ?, ?, 'queued', ?)`,
			int64(body.ID), r.User, r.Group, r.Project, e.AtMS)
	case *lease.Placed:
		w.placed(e.AtMS, body)
	case *lease.DeadlineSet:
		w.exec(`UPDATE lease SET expires_ms = ? WHERE id = ?`, body.ExpiresMS, int64(body.ID))
	case *lease.DrainBegun:
		w.exec(`UPDATE lease SET state = 'draining', draining_ms = ?, cause = ? WHERE id = ?`, e.AtMS, string(body.Cause), int64(body.ID))
	case *lease.Closed:
		w.exec(`DELETE FROM holding WHERE lease = ?`, int64(body.ID))
		w.exec(`UPDATE lease SET state = 'ended', ended_ms = ?, cause = coalesce(cause, ?) WHERE id = ?`, e.AtMS, string(body.Cause), int64(body.ID))
	}
	if w.err != nil {
		w.err = fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind(), w.err)
	}
}

// devices are kept when they are gone: leases may be on them.
func (w *writer) devices(all []lease.Device) {
	for _, d := range all {
		w.exec(`INSERT INTO device (uuid, capacity_bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET capacity_bytes = excluded.capacity_bytes`, d.UUID, d.CapacityBytes)
	}
}

func (w *writer) placed(atMS int64, p *lease.Placed) {
	var sum int64
	for _, s := range p.Shares {
		sum += s.Bytes
	}
	w.exec(`UPDATE lease SET state = 'granted', granted_ms = ?, expires_ms = nullif(?, 0), epoch = ?, bytes = ? WHERE id = ?`,
		atMS, p.ExpiresMS, p.Epoch, sum, int64(p.ID))
	for _, s := range p.Shares {
		w.exec(`INSERT INTO holding (lease, device, bytes) VALUES (?, ?, ?)`, int64(p.ID), s.Device, s.Bytes)
	}
}

// snapshot keeps the book as it is after the transaction, and the one before in case this one is
// ever found wrong.
func (w *writer) snapshot() {
	s := w.book.Snapshot()
	w.exec(`INSERT INTO snapshot (seq, body) VALUES (?, ?)`, s.Seq, w.json(s))
	w.exec(`DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT 2)`)
}
