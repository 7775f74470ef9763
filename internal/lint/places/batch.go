package places

import (
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// batch judges a batch file of Windows, where set takes all behind the = for the value:
// quotes and blanks too.
func (f *file) batch() { f.byLine(batchLine, f.notOnWindows) }

// batchLine reads set NAME=value, or set "NAME=value".
func batchLine(line string, at int) (s setting, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	trimmed := strings.TrimLeft(line, " \t@")
	if len(trimmed) < 4 || !strings.EqualFold(trimmed[:3], "set") || trimmed[3] != ' ' && trimmed[3] != '\t' {
		return setting{}, false
	}
	rest := strings.TrimLeft(trimmed[4:], " \t")
	start := at + len(line) - len(rest)
	if strings.HasPrefix(rest, `"`) && strings.HasSuffix(strings.TrimRight(rest, " \t"), `"`) {
		rest = strings.TrimRight(rest, " \t")
		rest, start = rest[1:len(rest)-1], start+1
	}
	name, value, equals := strings.Cut(rest, "=")
	if !equals || strings.HasPrefix(name, "/") {
		return setting{}, false
	}
	return setting{
		name: name, value: value, unknown: strings.Contains(value, "%") || strings.Contains(value, "!"),
		at: span{start, start + len(rest)}, valueAt: span{start + len(name) + 1, start + len(rest)},
	}, true
}

// inPowerShell is how PowerShell sets a variable of the environment.
var inPowerShell = regexp.MustCompile(`(?im)^[ \t]*\$env:([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:"([^"\n]*)"|'([^'\n]*)')`)

// powershell judges a script of PowerShell.
func (f *file) powershell() {
	var all []setting
	for _, m := range inPowerShell.FindAllStringSubmatchIndex(f.text, -1) {
		value := span{max(m[4], m[6]), max(m[5], m[7])} // of the kind of quotes that is not there, -1
		start := m[0] + strings.Index(f.text[m[0]:], "$")
		s := setting{
			name: f.text[m[2]:m[3]], value: f.text[value.start:value.end], at: span{start, m[1]}, valueAt: value,
			unknown: m[4] >= 0 && strings.ContainsAny(f.text[value.start:value.end], "$`"),
		}
		all = append(all, s)
		f.variable(&s)
		f.notOnWindows(&s)
	}
	f.alone(all)
}

// notOnWindows: PyTorch for Windows has no expandable segments.
func (f *file) notOnWindows(s *setting) {
	i := strings.Index(s.value, "expandable_segments:True")
	if !IsAllocator(s.name) || s.unknown || i < 0 {
		return
	}
	f.report(s.at, (&Fault{
		Rule: "conf/expandable-off", Severity: rules.Warning, Confidence: rules.Medium,
		Message: "expandable_segments:True has no effect on Windows",
	}).
		because("PyTorch warns that expandable_segments is not supported on this platform, and goes on without").
		do("remove expandable_segments; max_split_size_mb is what there is against fragmentation on Windows"))
}
