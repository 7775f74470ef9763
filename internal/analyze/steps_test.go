package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// batch makes one pass: an input, some activations that a backward pass frees, and
// returns the event at which it begins.
func (m *loopModel) batch(name string) int {
	begin := m.dev.Events.Len()
	x := m.alloc("load_"+name, 2*mib)
	var acts []uint64
	for i := range 4 {
		acts = append(acts, m.alloc(fmt.Sprintf("net.%s%d", name, i), 4*mib))
	}
	grad := m.alloc("", 2*mib)
	m.release("", acts...)
	m.release("train", x, grad)
	return begin
}

func (m *loopModel) optimize(name string) (end int) {
	m.annotate("Optimizer.step#"+name+".step", true)
	m.release("adam", m.alloc("adam", 2*mib))
	m.annotate("Optimizer.step#"+name+".step", false)
	return m.dev.Events.Len()
}

func stepsOf(m *loopModel) Steps {
	tl, sites := m.done()
	return FindSteps(tl, sites)
}

func (m *loopModel) setUp() {
	for i := range 10 {
		m.alloc(fmt.Sprintf("weights%d", i), 4*mib)
	}
}

func TestStepsEndWithTheOptimizer(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	want := []int{}
	for i := range 7 {
		begin := m.batch("a")
		if i == 0 {
			want = append(want, begin+1) // the event before is the segment of its first block
		}
		want = append(want, m.optimize("Adam"))
	}
	s := stepsOf(m)
	if s.Source != StepsAnnotated || s.Confidence != rules.High || fmt.Sprint(s.Bounds) != fmt.Sprint(want) {
		t.Errorf("%+v, want bounds %v", s, want)
	}
	for event, step := range map[int]int{0: -1, want[0]: 0, want[1] - 1: 0, want[1]: 1, want[7] - 1: 6, want[7]: 7} {
		if got := s.Of(event); got != step {
			t.Errorf("event %d is in step %d, want %d", event, got, step)
		}
	}
}

// TestSeveralOptimizers makes one step of a cycle of calls.
func TestSeveralOptimizers(t *testing.T) {
	for _, c := range []struct {
		name  string
		round func(m *loopModel)
	}{
		{"one", func(m *loopModel) { m.batch("a"); m.optimize("Adam") }},
		{"a GAN with two critic steps", func(m *loopModel) {
			m.batch("critic")
			m.optimize("Adam")
			m.batch("critic")
			m.optimize("Adam")
			m.batch("generator")
			m.optimize("Adam")
		}},
		{"two optimizers after one backward pass", func(m *loopModel) {
			m.batch("a")
			m.optimize("SGD")
			m.optimize("Adam")
		}},
		{"gradients of four batches", func(m *loopModel) {
			for range 4 {
				m.batch("a")
			}
			m.optimize("Adam")
		}},
		{"two optimizers by turns", func(m *loopModel) {
			m.batch("policy")
			m.optimize("Adam")
			m.batch("value")
			m.optimize("SGD")
		}},
	} {
		m := newLoopModel()
		m.setUp()
		for range 9 {
			c.round(m)
		}
		if s := stepsOf(m); s.Len() != 9 || s.Source != StepsAnnotated {
			t.Errorf("%s: %d steps by %s, want 9: %s", c.name, s.Len(), s.Source, s.Why)
		}
	}
}

func TestStepsByOtherScopes(t *testing.T) {
	for _, name := range []string{"ProfilerStep#%d", "train_step", "[pl][profile]run_training_batch", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "DistributedDataParallel.forward"} {
		m := newLoopModel()
		for i := range 3 { // before the window: its steps are not numbered
			m.rec.Annotations = append(m.rec.Annotations, snapshot.Annotation{Name: strings.Replace(name, "%d", "0", 1), Start: i < 2, TimeUS: int64(i)})
		}
		m.setUp()
		for i := range 6 {
			label := name
			if strings.Contains(name, "%d") {
				label = fmt.Sprintf(name, i)
			}
			m.annotate(label, true)
			m.batch("a")
			m.annotate(label, false)
		}
		if s := stepsOf(m); s.Source != StepsAnnotated || s.Len() != 6 {
			t.Errorf("%s: %d steps by %s: %s", name, s.Len(), s.Source, s.Why)
		}
	}
}

// TestStepsByTraceEvents reads the annotations of torch 2.4, which lie in the trace.
func TestStepsByTraceEvents(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	mark := func(end string) {
		m.rec.Frames = append(m.rec.Frames, snapshot.Frame{Name: end, Filename: "Optimizer.step#Adam.step"})
		id := m.rec.Stacks.Add([]snapshot.FrameID{snapshot.FrameID(len(m.rec.Frames) - 1)})
		m.event(snapshot.UserDefined, 0, 0, id)
	}
	for range 5 {
		m.batch("a")
		mark("START")
		mark("END")
	}
	if s := stepsOf(m); s.Source != StepsAnnotated || s.Len() != 5 {
		t.Errorf("%d steps by %s: %s", s.Len(), s.Source, s.Why)
	}
}

// TestAnnotationsOfOtherDevices uses the marks of another device where this one has
// none, and leaves out what lies before the window.
func TestAnnotationsOfOtherDevices(t *testing.T) {
	m := newLoopModel()
	for i := range 3 {
		m.rec.Annotations = append(m.rec.Annotations, snapshot.Annotation{Name: "Optimizer.step#SGD.step", Device: 1, TimeUS: int64(i)})
	}
	for range 6 {
		m.batch("a")
		m.optimize("SGD")
	}
	for i := range m.rec.Annotations {
		m.rec.Annotations[i].Device = 1
	}
	if s := stepsOf(m); s.Len() != 6 || s.Source != StepsAnnotated {
		t.Errorf("%d steps by %s: %s", s.Len(), s.Source, s.Why)
	}
}

// TestEvaluationAfterTraining counts the batches of an evaluation behind the last
// annotation as steps.
func TestEvaluationAfterTraining(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	for range 8 {
		m.batch("train")
		m.optimize("Adam")
	}
	for range 20 {
		m.batch("eval")
	}
	s := stepsOf(m)
	if s.Tail != 8 || s.Len() < 26 || s.Len() > 28 {
		t.Errorf("%d steps, the last %d without annotation, want 8 and about 19: %s", s.Len(), s.Len()-s.Tail, s.Why)
	}
}

// TestRequestsAreStepsAndTokensAreNot finds the outer loop of a server: its cache
// lives across the tokens of a request.
func TestRequestsAreStepsAndTokensAreNot(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	for i := range 12 {
		prompt := m.alloc("prompt", 4*mib)
		cache := m.alloc("net.prefill", 8*mib)
		for token := range 5 + i*7%11 {
			next := m.alloc("net.token", 2*mib)
			grown := m.alloc("net.cat", int64(8+2*token)*mib)
			m.release("cat", cache)
			cache = grown
			m.release("token", next)
		}
		m.release("serve", cache, prompt)
	}
	s := stepsOf(m)
	if s.Source != StepsPeriodic || s.Len() != 11 || !strings.Contains(s.Name, "prompt") && !strings.Contains(s.Name, "prefill") {
		t.Errorf("%d steps by %s at %s: %s", s.Len(), s.Source, s.Name, s.Why)
	}
}

// TestBatchesAreStepsAndEpochsAreNot finds the inner loop where memory falls as low
// between its rounds as between those of the loop around it.
func TestBatchesAreStepsAndEpochsAreNot(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	for range 6 {
		for range 10 {
			m.batch("a")
		}
		for i := range 4 {
			site := fmt.Sprintf("log%d", i)
			m.release(site, m.alloc(site, 2*mib))
		}
	}
	if s := stepsOf(m); s.Source != StepsPeriodic || s.Len() != 59 {
		t.Errorf("%d steps by %s: %s", s.Len(), s.Source, s.Why)
	}
}

// TestFewOptimizerSteps takes batches for steps where gradients are accumulated over
// so many that hardly any optimizer step is left.
func TestFewOptimizerSteps(t *testing.T) {
	m := newLoopModel()
	m.setUp()
	for range 40 {
		m.batch("a")
	}
	m.optimize("Adam")
	if s := stepsOf(m); s.Source != StepsPeriodic || s.Len() != 39 {
		t.Errorf("%d steps by %s: %s", s.Len(), s.Source, s.Why)
	}
}

// TestMarksAndEventsOfOneMicrosecond puts an event that shares the time of a mark on
// the side on which it happened.
func TestMarksAndEventsOfOneMicrosecond(t *testing.T) {
	m := newLoopModel()
	var want []int
	for range 4 {
		want = append(want, m.dev.Events.Len())
		m.rec.Annotations = append(m.rec.Annotations, snapshot.Annotation{Name: "train_step", Start: true, TimeUS: m.time + 3})
		m.batch("a")
		m.rec.Annotations = append(m.rec.Annotations, snapshot.Annotation{Name: "train_step", TimeUS: m.time})
	}
	want = append(want, m.dev.Events.Len())
	if s := stepsOf(m); fmt.Sprint(s.Bounds) != fmt.Sprint(want) {
		t.Errorf("bounds %v, want %v", s.Bounds, want)
	}
}

func TestNoSteps(t *testing.T) {
	empty := newLoopModel()
	loading := newLoopModel()
	for range 50 {
		loading.alloc("__init__", 4*mib)
	}
	irregular := newLoopModel()
	irregular.setUp()
	for name, m := range map[string]*loopModel{"no events": empty, "a model that is made": loading, "no site twice": irregular} {
		if s := stepsOf(m); s.Source != StepsUnknown || s.Len() != 0 || s.Of(3) != -1 || s.Why == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
