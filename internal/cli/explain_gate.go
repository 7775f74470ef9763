package cli

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// gate is what a user asked to fail on.
type gate struct {
	failOn  []string // ids of rules, or beginnings of them
	budgets []budget
}

// budget is a limit on one peak.
type budget struct {
	name  string // requested, allocated or reserved
	bytes int64
}

// parseGate reads the flags --fail-on and --budget.
func parseGate(failOn, budgets string) (gate, error) {
	var g gate
	for _, id := range list(failOn) {
		if len(rules.Match(id)) == 0 {
			return g, usageErrorf("--fail-on: no rule's id begins with %q; 'ullage rules' lists them", id)
		}
		g.failOn = append(g.failOn, id)
	}
	for _, b := range list(budgets) {
		name, size, ok := strings.Cut(b, "=")
		if !ok || !slices.Contains([]string{"requested", "allocated", "reserved"}, name) {
			return g, usageErrorf("--budget: %q is not requested=SIZE, allocated=SIZE or reserved=SIZE", b)
		}
		n, err := units.ParseBytes(size)
		if err != nil {
			return g, usageErrorf("--budget: %w", err)
		}
		g.budgets = append(g.budgets, budget{name, n})
	}
	return g, nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// check holds an explanation against the budgets.
func (g gate) check(x *analyze.Explanation) []report.BudgetJSON {
	peaks := map[string]int64{"requested": x.Peak.Requested.Bytes, "allocated": x.Peak.Allocated.Bytes, "reserved": x.Peak.Reserved.Bytes}
	var out []report.BudgetJSON
	for _, b := range g.budgets {
		out = append(out, report.BudgetJSON{
			File: x.TL.Rec.Source.Name, Device: x.TL.Dev.Index, Name: b.name, LimitBytes: b.bytes, PeakBytes: peaks[b.name], Kept: peaks[b.name] <= b.bytes,
		})
	}
	return out
}

// matches returns the first finding on which the user asked to fail. Findings that
// only inform do not count.
func (g gate) matches(findings []rules.Finding) (rules.Finding, bool) {
	for _, f := range findings {
		if f.Severity == rules.Info {
			continue
		}
		for _, id := range g.failOn {
			if strings.HasPrefix(f.Rule, id) {
				return f, true
			}
		}
	}
	return rules.Finding{}, false
}
