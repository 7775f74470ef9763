package node

import (
	"math"
	"net/http"

	"github.com/ullage-dev/ullage/internal/lease"
)

// meant is which lease a client that changes one means, besides its number: after a ledger was
// lost, the next one counts from 1 again, and a number that somebody has kept is another lease's.
type meant struct {
	key, user       string
	hasKey, hasUser bool
	epoch           int64 // 0: not told
}

func meantOf(q *question) (m meant, err error) {
	params, err := query(q.Request, "key", "user", "epoch")
	if err != nil {
		return m, err
	}
	m = meant{key: params.Get("key"), hasKey: params.Has("key"), user: params.Get("user"), hasUser: params.Has("user")}
	if m.epoch, err = wholeNumber(params, "epoch", 0, 1, math.MaxInt64); err == nil && m.epoch == 0 && params.Has("epoch") {
		err = invalidf("epoch is empty: expected the number of a grant")
	}
	return m, err
}

// refuses says that a lease is not the one that is meant. Who does not say whose it is means
// an own one, admins too.
func (m *meant) refuses(who *caller, l *lease.Lease) error {
	switch {
	case m.hasKey && l.Key != m.key:
		return refusef(http.StatusNotFound, codeUnknown, "lease %d is not that of this key", l.ID)
	case m.epoch != 0 && l.Epoch != m.epoch:
		return refusef(http.StatusNotFound, codeUnknown, "lease %d is not that of grant %d", l.ID, m.epoch).
			hint("numbers begin again where a ledger was lost: the lease that was meant may be gone")
	case m.hasUser && l.User != m.user:
		return refusef(http.StatusNotFound, codeUnknown, "lease %d is not of %.80q, but of %s", l.ID, m.user, l.User)
	case !m.hasUser && l.User != who.user:
		return forbiddenf("lease %d belongs to %s", l.ID, l.User).
			hint("an admin who means it says whose it is: --user " + l.User + ", in the API user=" + l.User)
	}
	return nil
}
