package message

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Parse reads a text to its end and returns what it found. An error is one of
// reading; the report holds what was found before it.
func Parse(r io.Reader, opt Options) (*Report, error) {
	if opt.MaxFindings <= 0 {
		opt.MaxFindings = 1000
	}
	s := &scanner{window: newWindow(r), opt: opt, rep: &Report{}, seen: map[string]int{}, used: map[int64]struct{}{}, tried: -1}
	s.run()
	s.rep.Bytes = s.base + int64(len(s.buf))
	if n := len(s.buf); n > 0 {
		s.rep.Lines = s.lineNumber(n)
		if s.buf[n-1] == '\n' {
			s.rep.Lines--
		}
	} else {
		s.rep.Lines = s.lines
	}
	return s.rep, s.err
}

type scanner struct {
	*window
	opt  Options
	rep  *Report
	seen map[string]int     // by process and numbers: index of an OOM or a clue
	used map[int64]struct{} // where lines begin, in the text, that findings have used
	done int64              // offset in the text up to which a dictionary has used it

	tried int64 // where the last line begins, in the text, in which a dictionary was looked for
}

func (s *scanner) run() {
	for {
		s.ensure()
		limit := s.limit()
		hit := wordSearch.find(s.buf[s.pos:min(limit+lookahead, len(s.buf))])
		if hit < 0 || s.pos+hit >= limit {
			s.pos = max(s.pos, limit)
			if s.eof {
				return
			}
			continue
		}
		s.pos = s.handle(s.pos + hit)
	}
}

// handle deals with the line in which offset at lies and returns where to go on.
func (s *scanner) handle(at int) int {
	low := max(s.pos-lookahead, at-lookahead/2, 0)
	start := s.lineStart(at, low)
	if _, ok := s.used[s.base+int64(start)]; ok {
		return max(s.after(s.lineEnd(at, len(s.buf))), at+1)
	}
	if start == low && start > 0 && !isBreak(s.buf[start-1]) {
		s.rep.CutLines++
	}
	v := &view{s: s, start: start, load: start}
	v.more()
	next := v.lines[0].next
	above := start
	if v.lines[0].bare {
		above = s.wrappedAbove(start, mayEnd(squeeze(nil, v.lines[0].text)))
	}
	wrapped := func() bool {
		return above < start && s.dealWith(&view{s: s, start: above, load: above, wrapped: true}, start)
	}
	if !(startsLate(v.lines[0].text) && wrapped()) && !s.dealWith(v, start) {
		wrapped()
	}
	return max(next, at+1)
}

// startsLate reports whether a line begins within "CUDA out of memory".
func startsLate(text []byte) bool {
	t := trimPanel(text)
	for _, s := range []string{"UDA out of", "DA out of", "A out of", "out of memory", "of memory", "memory."} {
		if bytes.HasPrefix(t, []byte(s)) {
			return true
		}
	}
	return false
}

// dealWith deals with the lines of a view up to the one that begins at last. It
// reports whether anything was found.
func (s *scanner) dealWith(v *view, last int) bool {
	found := false
	for i := 0; ; {
		e, ok := v.get(i)
		if !ok || e.at > last {
			return found
		}
		n := s.line(v, i)
		found = found || n > 0
		i += max(1, n)
	}
}

// wrappedAbove returns where the line begins of which the line at start may be the
// continuation: up to two lines above, if they are as wide as a terminal and a
// message may begin in one of them.
func (s *scanner) wrappedAbove(start int, begins bool) int {
	at := start
	for range 2 {
		end := at - 1
		if end > 0 && s.buf[end] == '\n' && s.buf[end-1] == '\r' {
			end--
		}
		from := s.lineStart(end, max(0, end-maxTerminal))
		if _, used := s.used[s.base+int64(from)]; used || end-from < minTerminal || end-from >= maxTerminal {
			break
		}
		at = from
		begins = begins || mayBegin(squeeze(nil, s.buf[from:end]))
	}
	if !begins {
		return start
	}
	return at
}

// Widths, in bytes, at which terminals and panels wrap. A border takes three bytes.
const (
	minTerminal = 70
	maxTerminal = 400
)

// line deals with line i of a view and returns how many lines it used; 0 if the
// line holds nothing.
func (s *scanner) line(v *view, i int) int {
	text := v.lines[i].text
	if !v.wrapped && wordSearch.find(text) < 0 && !v.lines[i].cut {
		return 0
	}
	for _, read := range []func(*view, int) int{s.summary, s.smi, s.stats, s.torch, s.clue, s.settings} {
		if n := read(v, i); n > 0 {
			v.use(i, n)
			return n
		}
	}
	return 0
}

// keep adds a finding to those of its sort, or counts it where there are enough.
func keep[T any](s *scanner, list []T, found T) []T {
	if len(list) >= s.opt.MaxFindings {
		s.rep.Dropped++
		return list
	}
	return append(list, found)
}

// maxUsed bounds the memory for lines that were used. Older ones lie behind.
const maxUsed = 1 << 14

// use marks n lines from i on as dealt with, but not those that other processes
// wrote in between.
func (v *view) use(i, n int) {
	s := v.s
	if len(s.used) > maxUsed {
		clear(s.used)
	}
	for k := i; k < min(i+n, len(v.lines)); k++ {
		if key := v.lines[k].key; key == v.lines[i].key || key == "" {
			s.used[s.base+int64(v.lines[k].at)] = struct{}{}
		}
	}
}

// entry is a line, taken out of JSON and HTML, without colours and prefixes.
type entry struct {
	text  []byte
	src   Source
	time  string
	key   string // what lines of one process have in common
	at    int    // where its line begins in the window
	next  int    // where the next line begins
	cut   bool   // the line is longer than the limit
	width int    // of the line, in bytes
	bare  bool   // the line has no prefix: it may be what a terminal wrapped
}

// view is the lines from one on, read as they are asked for.
type view struct {
	s     *scanner
	lines []entry
	start int
	load  int // where the next line to be read begins

	wrapped bool // its first lines are taken for the start of a message though no word is whole in them
}

// maxView bounds a view: nothing that is read has more lines.
const maxView = 1000

// get returns line i, or false after the end.
func (v *view) get(i int) (*entry, bool) {
	for i >= len(v.lines) && len(v.lines) < maxView {
		if !v.more() {
			return nil, false
		}
	}
	if i >= len(v.lines) {
		return nil, false
	}
	return &v.lines[i], true
}

// more reads the next line.
func (v *view) more() bool {
	w := v.s.window
	if v.load >= len(w.buf) || v.load-v.start >= lookahead {
		return false
	}
	high := min(v.load+lookahead, len(w.buf))
	end := w.lineEnd(v.load, high)
	next := w.after(end)
	cut := end == high && high < len(w.buf)
	if cut {
		next = end
		v.s.rep.CutLines++
	}
	v.lines = append(v.lines, expand(w.buf[v.load:end], v.load, next, cut)...)
	v.load = next
	return true
}

// expand cleans one line of the text.
func expand(line []byte, at, next int, cut bool) []entry {
	plain := stripANSI(line)
	outer := stripPrefix(plain)
	u := unwrap(outer.text)
	list := make([]entry, 0, len(u.lines))
	for _, l := range u.lines {
		in := stripPrefix(stripANSI(l))
		e := entry{text: in.text, src: merge(outer.src, in.src), time: outer.time, at: at, next: next, cut: cut, width: len(line), bare: len(outer.text) == len(plain)}
		if u.rank >= 0 && e.src.Rank < 0 {
			e.src.Rank = u.rank
		}
		for _, t := range []string{u.time, in.time} {
			if e.time == "" {
				e.time = t
			}
		}
		e.key = e.src.key()
		list = append(list, e)
	}
	if len(list) == 0 {
		list = append(list, entry{src: outer.src, key: outer.src.key(), at: at, next: next})
	}
	return list
}

func merge(a, b Source) Source {
	if b.Rank < 0 {
		b.Rank = a.Rank
	}
	if b.Label == "" {
		b.Label = a.Label
	}
	if b.PID == 0 {
		b.PID = a.PID
	}
	if b.Host == "" {
		b.Host = a.Host
	}
	return b
}

func (s Source) key() string {
	if s.Label == "" && s.Rank < 0 && s.Host == "" {
		return ""
	}
	return s.Host + "\x00" + s.Label
}

// joined is several lines of one process without white space.
type joined struct {
	text []byte
	ends []int // length of text after each line
	rows []int // its index in the view; lines before the view have negative ones
}

// row returns the index in the view of the line that offset at lies in.
func (j *joined) row(at int) int {
	for k, end := range j.ends {
		if at < end {
			return j.rows[k]
		}
	}
	return j.rows[len(j.rows)-1]
}

// join squeezes line i and up to ahead lines of the same process after it, as long
// as more allows. A line without a prefix goes with the line directly before it:
// terminals that wrap do not repeat prefixes.
func (v *view) join(i, ahead int, more func(j *joined, e *entry) bool) *joined {
	j := &joined{}
	key, last := v.lines[i].key, i-1
	for k := i; k <= i+ahead; k++ {
		e, ok := v.get(k)
		if !ok {
			break
		}
		if e.key != key && (e.key != "" || k != last+1) {
			continue
		}
		last = k
		before := len(j.text)
		j.text = squeeze(j.text, e.text)
		if len(j.text) == before && k > i {
			break // an empty line ends a message
		}
		j.ends = append(j.ends, len(j.text))
		j.rows = append(j.rows, k)
		if len(j.text) > 8<<10 || !more(j, e) {
			break
		}
	}
	return j
}

// joinWrapped squeezes line i and what a terminal may have wrapped of it: up to
// ahead lines directly below, without a prefix, as long as they fill the width.
func (v *view) joinWrapped(i, ahead int) *joined {
	j := &joined{text: squeeze(nil, v.lines[i].text)}
	j.ends, j.rows = []int{len(j.text)}, []int{i}
	for k := i; k < i+ahead && v.lines[k].width >= minTerminal && v.lines[k].width < maxTerminal; k++ {
		e, ok := v.get(k + 1)
		if !ok || !e.bare {
			break
		}
		j.text = squeeze(j.text, e.text)
		j.ends = append(j.ends, len(j.text))
		j.rows = append(j.rows, k+1)
	}
	return j
}

// settings notes the allocator's configuration and PyTorch's version where a log
// names them.
func (s *scanner) settings(v *view, i int) int {
	text := v.lines[i].text
	for _, name := range []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"} {
		if _, rest, ok := bytes.Cut(text, []byte(name)); ok {
			s.addSetting(name, rest)
			break
		}
	}
	for _, head := range []string{"PyTorch version:", "Torch version:", "torch=="} {
		if _, rest, ok := bytes.Cut(text, []byte(head)); ok {
			s.addVersion(string(bytes.TrimSpace(rest)))
			break
		}
	}
	return 0
}

// addSetting reads the value after a variable's name: "=a:b", ": 'a:b'", "', 'a:b')".
func (s *scanner) addSetting(name string, rest []byte) {
	value := strings.TrimLeft(string(rest[:min(len(rest), 300)]), "]'\"=:, ")
	end := strings.IndexAny(value, " '\")\\;&")
	if end >= 0 {
		value = value[:end]
	}
	if !strings.Contains(value, ":") {
		return
	}
	s.rep.Settings = addOnce(s.rep.Settings, name+"="+strings.TrimRight(value, ".,"))
}

func (s *scanner) addVersion(v string) {
	end := 0
	for end < len(v) && end < 40 && (isDigit(v[end]) || v[end] == '.' || v[end] == '+' || end > 0 && lower(v[end])-'a' < 26) {
		end++
	}
	if v = v[:end]; strings.Count(v, ".") >= 1 {
		s.rep.Versions = addOnce(s.rep.Versions, v)
	}
}

// maxNames is how many settings, and how many versions, are kept: a log that names
// more is no one's to make sense of.
const maxNames = 32

func addOnce(list []string, v string) []string {
	if len(list) == maxNames || slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
