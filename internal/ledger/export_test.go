package ledger

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEvents: pages of events, put together, are all events that Export shows, of a user and a
// lease too; and a page that was searched in vain says where to go on.
func TestEvents(t *testing.T) {
	l := worked(t, filepath.Join(t.TempDir(), "ledger.db"), 16, 15)
	r, err := l.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []Exported
	if err := r.Export(t.Context(), 0, func(e Exported) error { all = append(all, e); return nil }); err != nil {
		t.Fatal(err)
	}
	owner := map[int64]string{}
	rows, err := l.db.Query(`SELECT id, user FROM lease`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var user string
		if err := rows.Scan(&id, &user); err != nil {
			t.Fatal(err)
		}
		owner[id] = user
	}
	user := owner[3]
	for name, tt := range map[string]struct {
		x    Excerpt
		want func(Exported) bool
	}{
		"all":             {Excerpt{Limit: 7, Reach: 1000}, func(Exported) bool { return true }},
		"a short reach":   {Excerpt{Limit: 1000, Reach: 3}, func(Exported) bool { return true }},
		"of a lease":      {Excerpt{Lease: 3, Limit: 1, Reach: 2}, func(e Exported) bool { return e.Lease == 3 }},
		"of a user":       {Excerpt{User: user, Limit: 2, Reach: 5}, func(e Exported) bool { return e.Actor == user || owner[e.Lease] == user }},
		"of nobody":       {Excerpt{User: "nobody", Limit: 2, Reach: 5}, func(Exported) bool { return false }},
		"not their lease": {Excerpt{User: "nobody", Lease: 3, Limit: 2, Reach: 5}, func(Exported) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want []Exported
			for _, e := range all {
				if tt.want(e) {
					want = append(want, e)
				}
			}
			for x := tt.x; ; {
				page, next, err := r.Events(t.Context(), x)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page...)
				if len(page) > x.Limit || next < x.After {
					t.Fatalf("after %d: %d events, and on from %d", x.After, len(page), next)
				}
				if next == x.After {
					break
				}
				x.After = next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if page, _, err := r.Events(t.Context(), Excerpt{After: math.MaxInt64, Limit: 1, Reach: 1}); err != nil || len(page) != 0 {
		t.Errorf("after the end: %d events, %v", len(page), err)
	}
}
