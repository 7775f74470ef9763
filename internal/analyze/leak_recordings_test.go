package analyze

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// leaksOf reads a recording and looks for leaks on each of its devices.
func leaksOf(t testing.TB, path string, f func(tl *timeline.Timeline, s Steps, r LeakReport)) {
	t.Helper()
	leaksIn(t, readRecording(t, path), f)
}

func readRecording(t testing.TB, path string) *snapshot.Recording {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec, err := snapshot.Read(file, snapshot.Options{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func leaksIn(t testing.TB, rec *snapshot.Recording, f func(tl *timeline.Timeline, s Steps, r LeakReport)) {
	t.Helper()
	sites := NewSites(rec)
	for _, d := range rec.Devices {
		tl := timeline.Build(rec, d)
		steps := FindSteps(tl, sites)
		opt := LeakOptions{DiedAt: -1}
		if o := FindOOMs(tl, 0).Fatal; o != nil {
			opt.DiedAt = o.Event
		}
		f(tl, steps, Leaks(tl, sites, steps, opt))
	}
}

func TestRecordedLoops(t *testing.T) {
	const noLeak = ""
	for _, c := range []struct {
		name     string
		source   StepSource
		steps    int
		leaksAt  string // function in the finding's stack
		severity rules.Severity
		cause    string // the likeliest
		perStep  int64  // bytes; 0 where batches vary
		every    int
	}{
		{"leak_loss_history", StepsAnnotated, 20, "train_step", rules.Warning, "leak/list-with-graph", 34_347_520, 1},
		{"leak_loss_history-oom", StepsAnnotated, 111, "train_step", rules.Error, "leak/list-with-graph", 34_347_520, 1},
		{"leak_loss_history-ring", StepsAnnotated, 10, "train_step", rules.Warning, "leak/list-with-graph", 34_347_520, 1},
		{"leak_loss_history-three", StepsAnnotated, 3, noLeak, 0, "", 0, 0},
		{"leak_running_total", StepsAnnotated, 20, "step", rules.Warning, "leak/list-with-graph", 34_347_008, 1},
		{"leak_eval_outputs", StepsPeriodic, 19, "step", rules.Warning, "leak/eval-without-no-grad", 34_345_984, 1},
		{"leak_eval_phase", StepsAnnotated, 30, "validate", rules.Warning, "leak/eval-without-no-grad", 103_037_952 / 5, 5},
		{"leak_hook_cache", StepsAnnotated, 20, "step", rules.Warning, "leak/hook-cache", 16 * mib, 1},
		{"leak_ref_cycle", StepsAnnotated, 20, "step", rules.Warning, "leak/hook-cache", 17_563_648, 1},
		{"leak_grad_graph", StepsAnnotated, 15, "step", rules.Warning, "leak/create-graph", 0, 1},
		{"leak_exceptions", StepsAnnotated, 20, "work", rules.Warning, "leak/hook-cache", 0, 1},
		{"leak_log10", StepsAnnotated, 60, "step", rules.Warning, "leak/step-outputs", 1_677_722, 10},
		{"leak_late", StepsAnnotated, 60, "_xy", rules.Warning, "leak/step-outputs", 768 << 10, 1},
		{"leak_rnn_state", StepsPeriodic, 20, "step", rules.Warning, "leak/recurrent-state", 0, 1},
		{"leak_shape_cache", StepsAnnotated, 60, "step", rules.Warning, "leak/step-outputs", 0, 1},
		{"leak_slow", StepsAnnotated, 60, "step", rules.Info, "leak/logger-tensors", 512, 1},
		{"leak_metric_cat", StepsAnnotated, 60, noLeak, 0, "", 0, 0},
		{"no_leak_buffer", StepsAnnotated, 40, noLeak, 0, "", 0, 0},
		{"warm_caches", StepsAnnotated, 40, noLeak, 0, "", 0, 0},
		{"gan", StepsAnnotated, 20, noLeak, 0, "", 0, 0},
		{"accum_eval", StepsAnnotated, 20, noLeak, 0, "", 0, 0},
		{"eval_loop", StepsPeriodic, 19, noLeak, 0, "", 0, 0},
		{"streams", StepsAnnotated, 20, noLeak, 0, "", 0, 0},
		{"rnn_tbptt", StepsAnnotated, 20, noLeak, 0, "", 0, 0},
		{"ema", StepsAnnotated, 15, noLeak, 0, "", 0, 0},
		{"profiler", StepsAnnotated, 12, noLeak, 0, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaksOf(t, "../../testdata/leaks/"+c.name+".pickle.xz", func(tl *timeline.Timeline, s Steps, r LeakReport) {
				if s.Source != c.source || s.Len() != c.steps {
					t.Errorf("%d steps by %s, want %d by %s: %s", s.Len(), s.Source, c.steps, c.source, s.Why)
				}
				if c.leaksAt == noLeak {
					for _, f := range alarms(r) {
						t.Errorf("%s: %s", f.Rule, f.Title)
					}
					return
				}
				if len(r.Growing) != 1 {
					t.Fatalf("%d growths, want 1: %+v", len(r.Growing), r.Growing)
				}
				g, f := r.Growing[0], r.Findings[0]
				if f.Rule != "leak/growing-site" || !inStack(f.Stack, c.leaksAt) || f.Severity != c.severity || f.Causes[0] != c.cause || g.EverySteps != c.every {
					t.Errorf("every %d steps: %+v", g.EverySteps, f)
				}
				if got := int64(g.BytesPerStep + 0.5); c.perStep != 0 && got != c.perStep {
					t.Errorf("%d bytes a step, want %d", got, c.perStep)
				}
			})
		})
	}
}

// TestWithoutAnnotations reads recordings as older versions of torch wrote them: the
// steps have to be found by what recurs, and the verdicts stay.
func TestWithoutAnnotations(t *testing.T) {
	for name, want := range map[string]struct {
		steps   int
		leaksAt string
		cause   string
	}{
		"leak_loss_history": {19, "train_step", "leak/list-with-graph"},
		"leak_eval_phase":   {29, "validate", "leak/eval-without-no-grad"},
		"leak_hook_cache":   {19, "step", "leak/hook-cache"},
		"leak_grad_graph":   {14, "step", "leak/create-graph"},
		"leak_log10":        {59, "step", "leak/step-outputs"},
		"leak_late":         {59, "_xy", "leak/step-outputs"},
		"no_leak_buffer":    {39, "", ""},
		"warm_caches":       {39, "", ""},
		"gan":               {19, "", ""},
		"streams":           {19, "", ""},
	} {
		rec := readRecording(t, "../../testdata/leaks/"+name+".pickle.xz")
		rec.Annotations = nil
		leaksIn(t, rec, func(_ *timeline.Timeline, s Steps, r LeakReport) {
			if s.Source != StepsPeriodic || s.Len() != want.steps {
				t.Errorf("%s: %d steps by %s, want %d: %s", name, s.Len(), s.Source, want.steps, s.Why)
			}
			f := alarms(r)
			if want.leaksAt == "" && len(f) > 0 || want.leaksAt != "" && (len(f) != 1 || !inStack(f[0].Stack, want.leaksAt) || f[0].Causes[0] != want.cause) {
				t.Errorf("%s: %+v", name, f)
			}
		})
	}
}

// TestReplacedBuffer finds the buffer of 640 B more a step that torch.cat makes anew
// each time, however small it is beside the model, and raises no alarm.
func TestReplacedBuffer(t *testing.T) {
	leaksOf(t, "../../testdata/leaks/leak_metric_cat.pickle.xz", func(_ *timeline.Timeline, _ Steps, r LeakReport) {
		if len(r.Growing) != 0 || len(r.Findings) != 1 {
			t.Fatalf("growing %+v, findings %+v", r.Growing, r.Findings)
		}
		f := r.Findings[0]
		if f.Rule != "leak/growing-site" || f.Severity != rules.Info || f.Causes[0] != "leak/concat-in-loop" || !inStack(f.Stack, "step") {
			t.Errorf("%+v", f)
		}
		if r.SwellingBytesPerStep < 512 || r.SwellingBytesPerStep > 768 { // 640 B, in blocks of 512 B
			t.Errorf("%.0f B a step", r.SwellingBytesPerStep)
		}
	})
}

// TestGANWithCppStacks knows a cycle of optimizers although the backward pass of both
// goes through the same C++ frames.
func TestGANWithCppStacks(t *testing.T) {
	leaksOf(t, "../../testdata/gpu/gan.pickle.xz", func(_ *timeline.Timeline, s Steps, _ LeakReport) {
		if s.Len() != 16 {
			t.Errorf("%d steps, want 16: %s", s.Len(), s.Why)
		}
	})
}

// TestCycleBursts tells garbage in cycles, collected wherever Python happens to be,
// from leaks. In the second recording the program calls the collector as well.
func TestCycleBursts(t *testing.T) {
	for _, name := range []string{"gc_auto", "gc_cycles"} {
		leaksOf(t, "../../testdata/leaks/"+name+".pickle.xz", func(_ *timeline.Timeline, _ Steps, r LeakReport) {
			if len(r.Growing) != 0 {
				t.Errorf("%s: growing: %+v", name, r.Growing)
			}
			if f := alarms(r); len(f) != 1 || f[0].Rule != "leak/cycle-bursts" || !inStack(f[0].Stack, "step") {
				t.Errorf("%s: alarms: %+v", name, f)
			}
		})
	}
}

// TestStillFillingBuffer pins what is said of a buffer that the recording does not
// see full: it grows like a leak, and the finding says that it may be none.
func TestStillFillingBuffer(t *testing.T) {
	leaksOf(t, "../../testdata/leaks/no_leak_buffer-short.pickle.xz", func(_ *timeline.Timeline, _ Steps, r LeakReport) {
		f := alarms(r)
		if len(f) != 1 || f[0].Confidence != rules.Medium || !slices.ContainsFunc(f[0].Evidence, func(e string) bool { return strings.Contains(e, "still filling") }) {
			t.Errorf("alarms: %+v", f)
		}
	})
}

// TestEveryRecording looks for leaks in all recordings of the repository: those that
// leaks.json beside them names have one at the functions it names, the others none.
func TestEveryRecording(t *testing.T) {
	for _, folder := range []string{"gpu", "recordings"} {
		leaks := map[string][]string{"leak_eval_outputs-oom": {"step"}}
		if text, err := os.ReadFile("../../testdata/" + folder + "/leaks.json"); err == nil {
			if err := json.Unmarshal(text, &leaks); err != nil {
				t.Fatal(err)
			}
		}
		paths, err := filepath.Glob("../../testdata/" + folder + "/*.pickle.xz")
		if err != nil || len(paths) == 0 {
			t.Fatalf("no recordings in %s: %v", folder, err)
		}
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".pickle.xz")
			t.Run(name, func(t *testing.T) {
				leaksOf(t, path, func(_ *timeline.Timeline, _ Steps, r LeakReport) { checkAlarms(t, r, leaks[name]) })
			})
		}
	}
}

func checkAlarms(t *testing.T, r LeakReport, at []string) {
	t.Helper()
	f := alarms(r)
	found := slices.ContainsFunc(f, func(f rules.Finding) bool {
		return slices.ContainsFunc(at, func(name string) bool { return inStack(f.Stack, name) })
	})
	switch {
	case len(at) > 0 && !found:
		t.Errorf("no leak found at %q: %+v", at, f)
	case len(at) == 0 && len(f) > 0:
		t.Errorf("%s: %s", f[0].Rule, f[0].Title)
	}
}

func inStack(frames []snapshot.Frame, name string) bool {
	return slices.ContainsFunc(frames, func(f snapshot.Frame) bool { return f.Name == name })
}
