package places

import "strings"

// dotenv reads NAME=value lines. Whether quotes around a value are taken off depends on
// who reads the file (compose does, docker run --env-file does not), so they are here.
func (f *file) dotenv() {
	var all []setting
	at := 0
	for line := range strings.Lines(f.text) {
		if s, ok := dotenvLine(line, at); ok {
			all = append(all, s)
			f.variable(&s)
		}
		at += len(line)
	}
	f.alone(all)
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
