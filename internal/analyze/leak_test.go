package analyze

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/rules"
)

func alarms(r LeakReport) []rules.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f rules.Finding) bool { return f.Severity < rules.Warning })
}

// TestHealthyRunsRaiseNoAlarm makes runs with all that grows and is no leak.
func TestHealthyRunsRaiseNoAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := drawHealthy(t)
		_, _, steps, report := run.analyze()
		if run.annotated && steps.Source != StepsAnnotated {
			t.Fatalf("steps by %s, of an annotated run", steps.Source)
		}
		for _, f := range alarms(report) {
			if f.Rule == "leak/cycle-bursts" && run.garbage > 0 {
				continue // it is that
			}
			t.Fatalf("%s: %s\n%q\n%+v", f.Rule, f.Title, f.Evidence, run)
		}
	})
}

// TestPlantedLeaksAreFound plants a leak in such runs and wants its site, its rate
// and its first step.
func TestPlantedLeaksAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := drawHealthy(t)
		run.leak = rapid.SampledFrom([]string{"net.kept", "kept"}).Draw(t, "leak")
		run.leakBytes = int64(rapid.IntRange(1, 20).Draw(t, "leak MiB")) * 2 * mib
		run.leakEvery = rapid.IntRange(1, max(1, run.steps/10)).Draw(t, "every")
		run.leakFrom = rapid.IntRange(0, run.steps-8*run.leakEvery).Draw(t, "from")
		_, sites, _, report := run.analyze()
		i := slices.IndexFunc(report.Growing, func(g GrowingSite) bool { return siteName(sites, g.Stack) == run.leak })
		if i < 0 {
			t.Fatalf("not found: %+v\n%+v", run, report.Growing)
		}
		g := report.Growing[i]
		if g.Severity < rules.Warning {
			t.Errorf("severity %d for %d bytes a step", g.Severity, run.leakBytes)
		}
		if want := float64(run.leakBytes) / float64(run.leakEvery); math.Abs(g.BytesPerStep-want) > 0.02*want {
			t.Errorf("%.0f bytes a step, want %.0f: %+v", g.BytesPerStep, want, run)
		}
		if d := g.SinceStep - run.leakFrom; d < -1 || d > 1 {
			t.Errorf("since step %d, want %d: %+v", g.SinceStep, run.leakFrom, run)
		}
		if g.EverySteps != run.leakEvery {
			t.Errorf("every %d steps, want %d", g.EverySteps, run.leakEvery)
		}
		for _, f := range alarms(report) {
			if name := f.Stack[len(f.Stack)-2].Name; name != run.leak && (f.Rule != "leak/cycle-bursts" || run.garbage == 0) {
				t.Errorf("%s at %s, where nothing leaks", f.Rule, name)
			}
		}
	})
}
