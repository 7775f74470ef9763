package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/units"
)

// costsHead are the first lines of the table of lint.md that says what mistakes cost.
const costsHead = "| mistake | measured | with it | without |\n|---|---|--:|--:|\n"

var costsTable = regexp.MustCompile(regexp.QuoteMeta(costsHead) + `(\|[^\n]*\n)+`)

// costCases are the cases of lint_check.py that the table shows, by the rule that finds them.
var costCases = []struct{ name, rule string }{
	{"loss_with_graph_no_backward", "leak/loss-with-graph"},
	{"list_with_graph_no_backward", "leak/list-with-graph"},
	{"recurrent_state", "leak/recurrent-state"},
	{"hook_cache", "leak/hook-cache"},
	{"eval_without_no_grad", "leak/eval-without-no-grad"},
	{"exception_frame", "leak/exception-frame"},
	{"create_graph", "leak/create-graph"},
	{"module_self_reference", "leak/module-self-reference"},
	{"cached_method", "leak/cached-method"},
	{"tensor_on_ctx", "leak/tensor-on-ctx"},
	{"retain_graph", "leak/retain-graph"},
	{"checkpoint_load", "peak/checkpoint-load"},
	{"logits_float32", "peak/full-logits"},
	{"worker_context", "dist/worker-context"},
	{"thread_workspaces", "third/thread-workspaces"},
	{"stream_per_call", "frag/stream-per-call"},
	{"pinned_rounding", "host/pinned-rounding"},
}

type cost struct {
	Case        string `json:"case"`
	At          string `json:"at"`
	With        *int64 `json:"with_bytes"`
	Without     *int64 `json:"without_bytes"`
	HostWith    int64  `json:"host_with_bytes"`
	HostWithout int64  `json:"host_without_bytes"`
	InForce     *bool  `json:"in_force"`
}

// TestLintCosts holds the table of lint.md, and what is said below it, against what was
// measured. -update fills the table in.
func TestLintCosts(t *testing.T) {
	costs := readCosts(t)
	want := costsHead
	for _, c := range costCases {
		m, ok := costs[c.name]
		if !ok || m.With == nil || m.Without == nil {
			t.Fatalf("%s was not measured", c.name)
		}
		want += fmt.Sprintf("| [%s](rules/%s.md) | %s | %s | %s |\n", c.rule, c.rule, m.At, units.FormatBytes(*m.With), units.FormatBytes(*m.Without))
	}
	page := readPage(t, "lint.md")
	if *update {
		page = costsTable.ReplaceAllLiteralString(page, want)
		if err := os.WriteFile("lint.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(page, want) {
		t.Errorf("lint.md has not this table, which -update writes:\n%s", want)
	}
	sum := costs["loss_with_graph"]
	if *sum.With != 0 || sum.HostWithout != 0 || !strings.Contains(page, units.FormatBytes(sum.HostWith)+" of main memory a step") {
		t.Errorf("a sum of losses after a backward: %+v", sum)
	}
	if *costs["conf_after_cuda"].InForce || !*costs["conf_after_import"].InForce {
		t.Error("when settings are still read is not what lint.md and conf/ignored-variable say")
	}
}

func readCosts(t *testing.T) map[string]cost {
	t.Helper()
	data, err := os.ReadFile("../testdata/gpu/lint_check.txt")
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]cost{}
	for line := range bytes.Lines(data) {
		var c cost
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		costs[c.Case] = c
	}
	return costs
}
