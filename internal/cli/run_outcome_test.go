package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ullage-dev/ullage/internal/child"
)

// TestRunOutcome: the program's own failure counts more than what was found, and an
// explanation that could not be given, or was not waited for, is said in words.
func TestRunOutcome(t *testing.T) {
	stopped := fmt.Errorf("a.pickle: %w", context.Canceled)
	for _, tt := range []struct {
		name  string
		code  int
		found error
		want  int
		says  string
	}{
		{"both well", 0, nil, exitDone, ""},
		{"a finding", 0, findingErrorf("leak"), exitFinding, ""},
		{"a finding of a program that failed", 5, findingErrorf("leak"), 5, ""},
		{"interrupted", 0, stopped, exitInterrupted, ""},
		{"interrupted after a failure", 5, stopped, 5, "ullage: warning: not explained: interrupted; for the explanation: ullage explain runs\n"},
		{"unreadable after a failure", 5, errors.New("a.pickle: no"), 5, "ullage: warning: not explained: a.pickle: no\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &outside{}
			r := &runner{app: o.app(), cfg: child.Config{Out: "runs"}}
			if code := exitCode(r.outcome(tt.code, tt.found)); code != tt.want || o.stderr.String() != tt.says {
				t.Errorf("exit code %d, want %d; says %q, want %q", code, tt.want, o.stderr.String(), tt.says)
			}
		})
	}
}
