package code

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/syntax"
)

const evaluation = `import torch
class T:
    def evaluate(self, loader):
        self.model.eval()
        total = 0
        for x, y in loader:
            total += (self.model(x).argmax(1) == y).sum().item()
        return total
`

const metered = `import torch
from utils import AverageMeter
def train(model, opt, loader):
    losses = AverageMeter()
    for x in loader:
        loss = model(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.update(loss, 1)
`

// TestLeakFixes: a repair is offered where it keeps what the program computes, and nowhere else.
func TestLeakFixes(t *testing.T) {
	for _, c := range []struct{ name, source, old, new string }{
		{"an evaluation is decorated in its column", evaluation, "    def evaluate", "    @torch.no_grad()\n    def evaluate"},
		{"a meter gets the loss detached", metered, "update(loss, 1)", "update(loss.detach(), 1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := repaired(t, c.source), replaceOnce(t, c.source, c.old, c.new); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for _, c := range []struct{ name, source, old, new string }{
		{"what is returned may need its graph", evaluation, "return total", "return self.model(x)"},
		{"torch has another name", evaluation, "import torch\n", "import torch as th\n"},
		{"the name does not say that it evaluates", evaluation, "evaluate", "collect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := replaceOnce(t, c.source, c.old, c.new)
			if got := repaired(t, source); got != source {
				t.Errorf("repaired to\n%s", got)
			}
		})
	}
}

// repaired returns a source with all repairs done; there must be a mistake in it.
func repaired(t *testing.T, source string) string {
	t.Helper()
	src, err := syntax.Read("a.py", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	mistakes := check(t, src)
	if len(mistakes) == 0 {
		t.Fatalf("no mistake in\n%s", source)
	}
	for i := len(mistakes) - 1; i >= 0; i-- {
		if fix := mistakes[i].Fix; fix != nil {
			for j := len(fix.Edits) - 1; j >= 0; j-- {
				e := fix.Edits[j]
				source = source[:e.Start] + e.Text + source[e.End:]
			}
		}
	}
	return source
}

func replaceOnce(t *testing.T, s, old, new string) string {
	t.Helper()
	before, after, ok := strings.Cut(s, old)
	if !ok {
		t.Fatalf("%q is not in the source", old)
	}
	return before + new + after
}
