package analyze

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestRedactFrames hides what is the user's own, whatever system it is from, and keeps
// what tells which library was called.
func TestRedactFrames(t *testing.T) {
	for _, c := range []struct{ from, want snapshot.Frame }{
		{frame("/home/ann/secret/train.py", 7, "fit_secret"), frame("user1.py", 7, "f1")},
		{frame(`C:\Users\ann\secret\train.py`, 7, "fit_secret"), frame("user1.py", 7, "f1")},
		{frame("train.py", 7, "<module>"), frame("user1.py", 7, "f1")},
		{frame("/home/ann/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", 3, "forward"), frame("site-packages/torch/nn/modules/linear.py", 3, "forward")},
		{frame(`C:\Users\ann\venv\Lib\site-packages\torch\nn\modules\linear.py`, 3, "forward"), frame("site-packages/torch/nn/modules/linear.py", 3, "forward")},
		{frame("/home/ann/miniconda3/lib/python3.12/threading.py", 9, "run"), frame("lib/python3/threading.py", 9, "run")},
		{frame("??", 0, "at::_ops::mm::call(at::Tensor const&)"), frame("??", 0, "at::_ops::mm::call(at::Tensor const&)")},
		{frame("/home/ann/secret/ext.cpp", 0, "secret_kernel(int)"), frame("ext.cpp", 0, "native1")},
		{snapshot.Frame{Filename: "/home/ann/m.py", Name: "g", Line: 1, Fx: "x = secret(y)"}, frame("user1.py", 1, "f1")},
	} {
		rec := &snapshot.Recording{Frames: []snapshot.Frame{c.from}}
		if diff := cmp.Diff(c.want, Redact(rec).Frames[0]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.from, diff)
		}
	}
}

// TestRedactNames keeps the names that steps and collectives are found by.
func TestRedactNames(t *testing.T) {
	for from, want := range map[string]string{
		"ProfilerStep#12": "ProfilerStep#12", "nccl:all_reduce": "nccl:all_reduce", "Optimizer.step#AdamW.step": "Optimizer.step#optimizer1",
		"train secret model": "scope1", "": "",
	} {
		rec := &snapshot.Recording{Annotations: []snapshot.Annotation{{Name: from}}}
		if got := Redact(rec).Annotations[0].Name; got != want {
			t.Errorf("%q becomes %q, want %q", from, got, want)
		}
	}
}

// TestRedactIsConsistent: one name becomes one other, everywhere, and the recording that
// was given stays as it is.
func TestRedactIsConsistent(t *testing.T) {
	rec := &snapshot.Recording{
		Frames: []snapshot.Frame{frame("/a/x.py", 1, "f"), frame("/b/x.py", 2, "f"), frame("/a/x.py", 3, "g")},
		Labels: []string{"", "region a", "N/A"},
	}
	before := rec.Frames[0]
	got := Redact(rec)
	want := []snapshot.Frame{frame("user1.py", 1, "f1"), frame("user2.py", 2, "f1"), frame("user1.py", 3, "f2")}
	if diff := cmp.Diff(want, got.Frames); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "label1", "N/A"}, got.Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rec.Frames[0] != before {
		t.Error("the recording itself was changed")
	}
}

// TestRedactedAnswersAreTheSame: sizes, steps and findings do not depend on names.
func TestRedactedAnswersAreTheSame(t *testing.T) {
	side := recording(t, "bert_varlen-lim16")
	rec := side.TL.Rec
	plain, err := Explain(side.TL, side.Sites, Options{})
	if err != nil {
		t.Fatal(err)
	}
	hidden := Redact(rec)
	redacted, err := Explain(timeline.Build(hidden, side.TL.Dev), NewSites(hidden), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]any{
		"verdict": {plain.Verdict.Kind, redacted.Verdict.Kind}, "accounting": {plain.Accounting, redacted.Accounting},
		"steps": {plain.Steps.Bounds, redacted.Steps.Bounds}, "rules": {ruleIDs(plain), ruleIDs(redacted)}, "categories": {sharesOf(plain), sharesOf(redacted)},
	} {
		if diff := cmp.Diff(v[0], v[1]); diff != "" {
			t.Errorf("%s (-plain +redacted):\n%s", name, diff)
		}
	}
}

func ruleIDs(x *Explanation) (ids []string) {
	for _, f := range x.Findings {
		ids = append(ids, f.Rule)
	}
	return ids
}

func sharesOf(x *Explanation) map[string]int64 {
	m := map[string]int64{}
	for _, c := range x.Holders.Categories {
		m[c.Category.String()] = c.Bytes
	}
	return m
}

// TestFoldFrames shows the user's frames one by one and runs of a library's as one line.
func TestFoldFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []snapshot.Frame
		want   []string
	}{
		{"none", nil, nil},
		{"the user's", []snapshot.Frame{frame("/p/net.py", 3, "forward"), frame("/p/train.py", 9, "step")}, []string{"net.py:3 forward", "train.py:9 step"}},
		{
			"a call of a module", join([]snapshot.Frame{frame(pkgs+"torch/nn/functional.py", 5, "relu")}, callFrames(), []snapshot.Frame{frame(`C:\p\train.py`, 9, "step")}),
			[]string{"… 3 frames in torch", "train.py:9 step"},
		},
		{"library around", join([]snapshot.Frame{frame("/p/train.py", 9, "step")}, []snapshot.Frame{frame(pkgs+"lightning/loop.py", 2, "run")}), []string{"train.py:9 step", "… 1 frame in lightning"}},
		{"the recorder's own", []snapshot.Frame{frame("??", 0, "torch::unwind::unwind()"), frame("/p/train.py", 9, "step")}, []string{"train.py:9 step"}},
	} {
		if diff := cmp.Diff(c.want, FoldFrames(c.frames)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if got := strings.Join(FoldFrames(callFrames()), "\n"); got != "… 2 frames in torch" {
		t.Errorf("library frames alone: %s", got)
	}
}
