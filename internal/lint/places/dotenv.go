package places

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// dotenv reads NAME=value lines. Whether quotes around a value are taken off depends on
// who reads the file (compose does, docker run --env-file does not), so they are here.
func (f *file) dotenv() { f.byLine(dotenvLine, f.keptQuotes) }

// keptQuotes: who gives the file to docker run gets the quotes as part of the value.
func (f *file) keptQuotes(s *setting) {
	if !IsAllocator(s.name) || s.value == "" || s.valueAt.start == s.at.start+len(s.name)+1 {
		return
	}
	f.report(s.valueAt, (&Fault{
		Rule: "conf/bad-value", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("docker run --env-file keeps the quotes around the value of %s, and PyTorch refuses it then", s.name),
	}).
		because("compose and shells take them off; see docker/cli#4665").do("write the value without quotes: %s=%s", s.name, s.value))
}

// dotenvLine reads a line that begins at an offset.
func dotenvLine(line string, at int) (s setting, ok bool) {
	line = strings.TrimRight(line, " \t\r\n")
	trimmed := strings.TrimLeft(line, " \t")
	trimmed = strings.TrimLeft(strings.TrimPrefix(trimmed, "export "), " \t")
	start := at + len(line) - len(trimmed)
	name, value, equals := strings.Cut(trimmed, "=")
	if !equals || strings.HasPrefix(trimmed, "#") {
		return setting{}, false
	}
	valueAt := start + len(name) + 1
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value, valueAt = value[1:n-1], valueAt+1
	} else if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimRight(value[:i], " \t")
	}
	return setting{
		name: strings.TrimRight(name, " \t"), value: value,
		at: span{start, start + len(trimmed)}, valueAt: span{valueAt, valueAt + len(value)},
	}, true
}
