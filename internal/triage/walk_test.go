package triage

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
)

// everyPath walks all ways through the tree, and calls visit with the answers and the
// turns of each.
func everyPath(t *testing.T, visit func(a Answers, turns []Turn)) (paths int) {
	t.Helper()
	var descend func(a Answers)
	descend = func(a Answers) {
		turns, next := Walk(a)
		if len(turns) != len(a) {
			t.Fatalf("%v: an answer was asked for and not used", a)
		}
		if next == nil {
			paths++
			visit(a, turns)
			return
		}
		if len(a) > len(tree) {
			t.Fatalf("%v: the tree has a cycle", a)
		}
		for _, o := range next.Options {
			b := maps.Clone(a)
			b[next.Key] = o.Value
			descend(b)
		}
	}
	descend(Answers{})
	return paths
}

// TestEveryPath: there is no dead end, all causes are of the catalogue and have a way to
// be confirmed, and what answers alone can tell is never certain.
func TestEveryPath(t *testing.T) {
	paths := everyPath(t, func(a Answers, turns []Turn) {
		out := Conclude(a, nil)
		if len(out.Causes) == 0 {
			t.Errorf("%v ends in nothing", a)
		}
		if len(out.Open) > 0 || len(out.Unused) > 0 {
			t.Errorf("%v: at the end %d questions are open and %v is unused", a, len(out.Open), out.Unused)
		}
		if len(turns) > 8 {
			t.Errorf("%v: %d questions are too many", a, len(turns))
		}
		for _, c := range out.Causes {
			if c.Confidence >= rules.High {
				t.Errorf("%v: %s is certain by answers alone", a, c.Rule.ID)
			}
			if c.Check.Run == "" && len(c.Check.Code) == 0 {
				t.Errorf("%s has no check", c.Rule.ID)
			}
			if len(c.Because) == 0 {
				t.Errorf("%v: nothing speaks for %s", a, c.Rule.ID)
			}
		}
	})
	if paths < 300 {
		t.Errorf("%d paths: the tree is not walked", paths)
	}
	t.Logf("%d paths", paths)
}

// TestTree holds the data to its form.
func TestTree(t *testing.T) {
	leads := map[string]bool{Root: true}
	for i := range tree {
		q := &tree[i]
		if q.Text == "" || q.Help == "" || !strings.HasSuffix(q.Text, "?") {
			t.Errorf("%s: a question and its help are missing", q.Key)
		}
		if byKey[q.Key] != q {
			t.Errorf("%s stands twice", q.Key)
		}
		for _, o := range q.Options {
			checkOption(t, q, o)
			leads[o.Next] = true
		}
	}
	for i := range tree {
		if !leads[tree[i].Key] {
			t.Errorf("nothing leads to %s", tree[i].Key)
		}
	}
}

func checkOption(t *testing.T, q *Question, o Option) {
	t.Helper()
	if o.Next != "" && (byKey[o.Next] == nil || len(o.Leaf) > 0) {
		t.Errorf("%s=%s leads to %q and to %v", q.Key, o.Value, o.Next, o.Leaf)
	}
	if o.open() && o.Value != Unsure {
		t.Errorf("%s=%s is a dead end", q.Key, o.Value)
	}
	if o.Value == "b" || o.Value == "q" || strings.ContainsAny(o.Value, "= ,?0123456789") {
		t.Errorf("%s=%s cannot be typed", q.Key, o.Value)
	}
	for i, g := range o.Leaf {
		if _, err := rules.Get(g.Rule); err != nil {
			t.Errorf("%s=%s: %v", q.Key, o.Value, err)
		}
		if i > 0 && g.Confidence > o.Leaf[i-1].Confidence {
			t.Errorf("%s=%s: %s is likelier than what stands before it", q.Key, o.Value, g.Rule)
		}
	}
}

// TestEveryAnswerMatters: two answers of a question never lead to the same, wherever it is
// asked.
func TestEveryAnswerMatters(t *testing.T) {
	for i := range tree {
		ends := map[string]string{}
		for _, o := range tree[i].Options {
			end := o.Next
			for _, g := range o.Leaf {
				end += " " + g.Rule + " " + g.Confidence.String()
			}
			// Not to know may lead where the harmless answer leads: on to the next question.
			if other, ok := ends[end]; ok && o.Value != Unsure {
				t.Errorf("%s: %s and %s lead to the same: %s", tree[i].Key, other, o.Value, end)
			}
			ends[end] = o.Value
		}
		if len(ends) < 2 {
			t.Errorf("%s changes nothing", tree[i].Key)
		}
	}
}

// TestEveryRootIsReached: each of the five ways in which memory stays taken is at the end
// of some path.
func TestEveryRootIsReached(t *testing.T) {
	reached := map[rules.Root]int{}
	everyPath(t, func(a Answers, _ []Turn) {
		for _, c := range Conclude(a, nil).Causes[:1] {
			reached[c.Rule.Root]++
		}
	})
	for _, root := range []rules.Root{rules.References, rules.Graphs, rules.AsyncFrees, rules.Replicas, rules.ThirdParties} {
		if reached[root] == 0 {
			t.Errorf("no path ends in %q first", root)
		}
	}
}

// TestEveryCause: each cause of the catalogue is at a leaf, or it is said why no question
// leads there.
func TestEveryCause(t *testing.T) {
	reached := map[string]bool{}
	for i := range tree {
		for _, o := range tree[i].Options {
			for _, g := range o.Leaf {
				reached[g.Rule] = true
			}
		}
	}
	for _, r := range rules.All() {
		why := NotAsked(r.ID)
		switch {
		case r.Kind == rules.Cause && !reached[r.ID] && why == "":
			t.Errorf("no question leads to %s, and unreachable.go does not say why", r.ID)
		case reached[r.ID] && why != "":
			t.Errorf("unreachable.go gives a reason for %s, which is reached", r.ID)
		}
		if r.Kind == rules.Cause && checks[r.ID].Run == "" && len(checks[r.ID].Code) == 0 {
			t.Errorf("%s has no check", r.ID)
		}
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(notAsked)), slices.Collect(maps.Keys(checks)), slices.Collect(maps.Keys(told))) {
		if _, err := rules.Get(id); err != nil {
			t.Error(err)
		}
	}
}

// TestChecksAreShort: a check is one command, or lines that can be pasted.
func TestChecksAreShort(t *testing.T) {
	for id, c := range checks {
		if (c.Run == "") == (len(c.Code) == 0) || len(c.Code) > 3 || strings.Contains(c.Run, "\n") {
			t.Errorf("%s: %+v", id, c)
		}
	}
}

func TestCheckAnswer(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"symptom", "oom", ""},
		{"where", "unsure", ""},
		{"color", "red", `"color" is no question; they are symptom, error, `},
		{"error", "nvml", `"nvml" is no answer to error; they are torch, library, `},
	} {
		err := CheckAnswer(c.key, c.value)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// TestOpen: questions that the answers have made idle are not among the open ones, and
// answers ahead of the walk count.
func TestOpen(t *testing.T) {
	if open := Open(Answers{}); len(open) != len(tree) || open[0].Key != Root {
		t.Errorf("without answers %d of %d questions are open", len(open), len(tree))
	}
	keys := func(a Answers) (all []string) {
		for _, q := range Open(a) {
			all = append(all, q.Key)
		}
		return all
	}
	if got := keys(Answers{Root: "killed"}); !slices.Equal(got, []string{"host"}) {
		t.Errorf("after killed: %v", got)
	}
	if got := keys(Answers{Root: "grows", "where": "epoch"}); !slices.Equal(got, []string{"what", "pieces", "outside", "host", "epoch", "extra", "contexts", "device"}) {
		t.Errorf("where it grows is known, what is not: %v", got)
	}
	if got := keys(Answers{Root: "killed", "host": "pinned"}); got != nil {
		t.Errorf("at the end: %v", got)
	}
}
