package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
)

// githubCommands are GitHub's words for severities.
var githubCommands = map[rules.Severity]string{rules.Error: "error", rules.Warning: "warning", rules.Info: "notice"}

// LintGitHub prints findings as commands that GitHub Actions shows beside the lines of a pull
// request, and the verdict for the log. GitHub shows ten of each severity a step.
func LintGitHub(w io.Writer, r *lint.Result) error {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		from, to := f.From.Stored, f.To.Stored
		text := f.Message
		if f.From.Cell > 0 {
			text = fmt.Sprintf("cell %d, line %d: %s", f.From.Cell, f.From.Line, text)
		}
		if f.Remedy != "" {
			text += "\n" + f.Remedy
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,title=%s::%s\n", githubCommands[f.Severity],
			githubProperty.Replace(visible(f.Path)), from.Line, from.Column, to.Line, max(to.Column, from.Column), githubProperty.Replace(f.Rule), githubText.Replace(visible(text)))
	}
	b.WriteString(githubText.Replace(LintVerdict(r)) + ".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// visible takes what would steer a terminal out of a text of a file, in which lines are kept: logs of
// builds are read in terminals too.
func visible(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = term.Clean(line)
	}
	return strings.Join(lines, "\n")
}

// What would end a command, or a property of it, is escaped as GitHub's own toolkit does.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
