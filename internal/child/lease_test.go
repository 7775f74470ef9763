package child

import (
	"strings"
	"testing"
)

func TestLeaseOf(t *testing.T) {
	env := func(list []string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for _, e := range list {
				if v, ok := strings.CutPrefix(e, name+"="); ok {
					return v, true
				}
			}
			return "", false
		}
	}
	want := Lease{ID: 7, Epoch: 12, MemoryBytes: 8 << 30, ContextBytes: 500 << 20}
	if got, err := LeaseOf(env(want.Environ())); err != nil || *got != want {
		t.Errorf("%v comes back as %v, %v", want, got, err)
	}
	if got, err := LeaseOf(env([]string{"ULLAGE_LEASE=7"})); err != nil || *got != (Lease{ID: 7, ContextBytes: defaultContextBytes}) {
		t.Errorf("a number alone is %v, %v", got, err)
	}
	if got, err := LeaseOf(env(nil)); got != nil || err != nil {
		t.Errorf("without a lease there is %v, %v", got, err)
	}
	for _, bad := range []string{"ULLAGE_LEASE=seven", "ULLAGE_LEASE=-1"} {
		if got, err := LeaseOf(env([]string{bad})); err == nil || !strings.Contains(err.Error(), "ULLAGE_LEASE") {
			t.Errorf("%s is %v, %v", bad, got, err)
		}
	}
}
