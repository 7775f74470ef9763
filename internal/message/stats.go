package message

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// statNames are the first parts of the keys of memory_stats().
var statNames = []string{
	"allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
	"inactive_split_bytes", "requested_bytes", "oversize_allocations", "oversize_segments", "num_alloc_retries", "num_ooms",
	"num_oom_rejections", "num_sync_all_streams", "num_device_alloc", "num_device_free", "max_split_size", "reserved_bytes_by_private_pools",
}

// stats reads the memory_stats() dictionaries of line i: JSON, or what Python prints,
// flat or nested. A line is tried once, however many lines its escapes make of it.
func (s *scanner) stats(v *view, i int) int {
	text := v.lines[i].text
	start := v.lines[i].at
	if s.tried == s.base+int64(start) || !bytes.Contains(text, []byte("allocated_bytes")) && !bytes.Contains(text, []byte("reserved_bytes")) {
		return 0
	}
	s.tried = s.base + int64(start)
	end := s.lineEnd(start, min(len(s.buf), start+lookahead))
	used := 0
	for at := start; at < end; {
		word := bytes.Index(s.buf[at:end], []byte("d_bytes"))
		if word < 0 {
			return used
		}
		l, from := s.dictionary(start, at+word)
		if l == nil {
			s.done = max(s.done, s.base+int64(start)) // what stands above was looked at
			return used
		}
		s.rep.Stats = keep(s, s.rep.Stats, Stats{Values: l.values, Source: v.lines[i].src, Line: s.lineNumber(start)})
		at = from + l.i
		used = s.linesUntil(v, i, at)
	}
	return used
}

// dictionary reads the dictionary around offset word, or returns nil.
func (s *scanner) dictionary(start, word int) (*statsLexer, int) {
	inner, outer := s.openBraces(start, word)
	if inner < 0 {
		return nil, 0
	}
	if l := s.lexStats(outer); l.enough() {
		return l, outer
	}
	if l := s.lexStats(inner); inner != outer && l.enough() { // in a string of another
		return l, inner
	}
	return nil, 0
}

func (s *scanner) lexStats(from int) *statsLexer {
	l := &statsLexer{b: s.buf[from:min(len(s.buf), from+lookahead)], values: map[string]int64{}}
	l.run()
	return l
}

// maxBefore is how far a dictionary may begin before its "allocated_bytes", which
// comes early: keys are sorted. Printed in colour with prefixes it is about 2 KiB.
const maxBefore = 4 << 10

// openBraces finds the innermost and the outermost bracket that opens a dictionary
// around offset word, in the line that begins at start or above it, where it was
// printed over several lines; -1 if there is none.
func (s *scanner) openBraces(start, word int) (inner, outer int) {
	depth := 0
	inner, outer = -1, -1
	for k := word; k > max(-1, word-maxBefore, int(s.done-s.base)-1); k-- {
		switch s.buf[k] {
		case '}':
			depth++
		case '{':
			if depth--; depth < 0 {
				outer, depth = k, 0
				inner = max(inner, k)
			}
		case '\n':
			if !statLine(s.buf[k+1:s.lineEnd(k+1, min(len(s.buf), k+1+maxTerminal))]) || outer >= 0 && depth == 0 && k < start-1 {
				return inner, outer
			}
		case '(': // OrderedDict([('active.all.allocated', 1), …
			if outer < 0 && bytes.HasSuffix(s.buf[:k], []byte("OrderedDict")) {
				return k, k
			}
		}
	}
	return inner, outer
}

// statLine reports whether a line can be within a dictionary.
func statLine(line []byte) bool {
	t := bytes.TrimSpace(line)
	return len(t) == 0 || bytes.IndexByte([]byte(`{}"'[],()`), t[0]) >= 0 || isDigit(t[0])
}

// linesUntil returns how many lines from line i on end before offset end.
func (s *scanner) linesUntil(v *view, i, end int) int {
	s.done = s.base + int64(end)
	n := 1
	for {
		e, ok := v.get(i + n)
		if !ok || e.at >= end {
			return n
		}
		n++
	}
}

// statsLexer walks over a dictionary and collects its numbers by key. It accepts
// JSON, Python's dict with either quote, and OrderedDict([(key, value), …]).
type statsLexer struct {
	b       []byte
	i       int
	path    []string // keys of the dictionaries that are open
	key     string
	hasKey  bool
	depth   int // brackets of all sorts that are open
	started bool
	values  map[string]int64
}

// Limits of a dictionary; memory_stats() has about 120 values, two levels deep.
const (
	maxStatValues = 2000
	maxStatDepth  = 64
	maxLead       = 2 << 10 // other values before the first
)

func (l *statsLexer) run() {
	for l.i < len(l.b) && len(l.values) < maxStatValues && l.depth < maxStatDepth {
		if l.started && l.depth <= 0 || l.i > maxLead && len(l.values) == 0 {
			return
		}
		switch c := l.b[l.i]; {
		case c == '"' || c == '\'':
			l.quoted(c)
		case isDigit(c) || c == '-':
			l.number()
		case c == 0x1b:
			l.i += max(1, escape(l.b[l.i:]))
		case c == '\\': // a dictionary in a string of JSON
			l.i++
		default:
			l.punctuation(c)
			l.i++
		}
	}
}

func (l *statsLexer) punctuation(c byte) {
	switch c {
	case '{':
		l.path = append(l.path, l.key)
		l.hasKey = false
		l.open()
	case '[', '(':
		l.open()
	case '}':
		if len(l.path) > 0 {
			l.path = l.path[:len(l.path)-1]
		}
		l.hasKey = false
		l.depth--
	case ']', ')':
		l.depth--
	}
}

func (l *statsLexer) open() {
	l.depth++
	l.started = true
}

// quoted reads a string, which is a key: no value of memory_stats() is one.
func (l *statsLexer) quoted(q byte) {
	l.i++
	n := bytes.IndexByte(l.b[l.i:min(len(l.b), l.i+200)], q)
	if n < 0 {
		return
	}
	l.key, l.hasKey = strings.TrimSuffix(string(l.b[l.i:l.i+n]), `\`), true
	l.i += n + 1
}

func (l *statsLexer) number() {
	start := l.i
	l.i++
	for l.i < len(l.b) && (isDigit(l.b[l.i]) || strings.IndexByte(".eE+", l.b[l.i]) >= 0) {
		l.i++
	}
	if !l.hasKey {
		return
	}
	l.hasKey = false
	text := string(l.b[start:l.i])
	v, err := strconv.ParseInt(text, 10, 64)
	if f, ferr := strconv.ParseFloat(text, 64); err != nil {
		if ferr != nil || f < -1 || f > 1<<60 {
			return
		}
		v = int64(f)
	}
	if name := l.name(); name != "" {
		l.values[name] = v
	}
}

// name is the flat key of the number: from the last part that is a statistic's.
func (l *statsLexer) name() string {
	near := l.path[max(0, len(l.path)-4):] // a nested key has three parts, or four by private pool
	full := strings.Trim(strings.Join(append(slices.Clone(near), l.key), "."), ".")
	parts := strings.Split(full, ".")
	for k := len(parts) - 1; k >= 0; k-- {
		if slices.Contains(statNames, lastSegment(parts[k])) {
			parts[k] = lastSegment(parts[k])
			return strings.Join(parts[k:], ".")
		}
	}
	return ""
}

// lastSegment drops what loggers put before a key: "memory/allocated_bytes".
func lastSegment(s string) string {
	return s[strings.LastIndexAny(s, "/: ")+1:]
}

// enough reports whether this was a memory_stats() dictionary, not just a key of
// the same name.
func (l *statsLexer) enough() bool {
	_, a := l.values["allocated_bytes.all.current"]
	_, b := l.values["reserved_bytes.all.current"]
	return a || b
}
