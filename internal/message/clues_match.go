package message

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// clueSearch finds the first words of the patterns, so that a line without any costs
// one pass.
var clueSearch = newSkipper(firstWords())

// clueStarts has what is left of a first word where a line was wrapped within it.
var clueStarts = startsOf(firstWords())

func startsOf(list []string) map[string]struct{} {
	m := map[string]struct{}{}
	for _, w := range list {
		for n := minStart; n < len(w); n++ {
			m[w[:n]] = struct{}{}
		}
	}
	return m
}

// minStart is how much of a word has to be left to be taken for its start.
const minStart = 3

// mayBegin reports whether a message of the table, or one of the allocator, may
// begin in a line without white space and go on in the next.
func mayBegin(line []byte) bool {
	for n := minStart; n <= len(line) && n < 64; n++ {
		if _, ok := clueStarts[string(line[len(line)-n:])]; ok {
			return true
		}
	}
	return clueSearch.find(line) >= 0 || mayAnchor(line)
}

// mayEnd reports whether a line begins with all but a letter or two of a first word,
// too little for mayBegin to know the start by.
func mayEnd(line []byte) bool {
	for i := range patterns {
		w := patterns[i].all[0]
		for n := 1; n < minStart; n++ {
			if bytes.HasPrefix(line, []byte(w[n:])) {
				return true
			}
		}
	}
	return false
}

func firstWords() []string {
	var list []string
	for i := range patterns {
		if w := patterns[i].all[0]; !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// maxClueText bounds the line that a clue keeps.
const maxClueText = 300

// clue reads a message of the table in line i, which may be wrapped into the next.
func (s *scanner) clue(v *view, i int) int {
	line := squeeze(nil, v.lines[i].text)
	p, c := match(line, len(line))
	if e := &v.lines[i]; e.width >= minTerminal && e.width < maxTerminal && (v.wrapped || mayBegin(line)) {
		j := v.joinWrapped(i, 3)
		if q, d := match(j.text, j.ends[0]); q < p || q == p && c != nil && c.less(d) {
			p, c = q, d
		}
	}
	if c == nil {
		if c = bareKilled(v.lines[i].text); c == nil {
			return 0
		}
	}
	s.addClue(v, i, c)
	return 1
}

func newClue(k Kind) *Clue { return &Clue{Kind: k, GPU: -1, User: -1, Source: Source{Rank: -1}} }

// less reports whether d read numbers that c lacks, from the lines below.
func (c *Clue) less(d *Clue) bool {
	return !c.Size.Known() && d.Size.Known() || !c.Used.Known() && d.Used.Known() || !c.Limit.Known() && d.Limit.Known() ||
		c.Source.PID == 0 && d.Source.PID != 0
}

// match finds the first pattern in text of which the first word begins before the
// end of the first line, and returns its place in the table.
func match(text []byte, firstLine int) (int, *Clue) {
	if clueSearch.find(text) < 0 {
		return len(patterns), nil
	}
	for k := range patterns {
		p := &patterns[k]
		at := bytes.Index(text, []byte(p.all[0]))
		if at < 0 || at >= firstLine || !p.rest(text, at+len(p.all[0])) || splitsNumber(text, at+len(p.all[0])) || p.ok != nil && !p.ok(text, at) {
			continue
		}
		c := newClue(p.kind)
		if p.kind == NCCLAlloc {
			c.GPU = ncclDevice(text)
		}
		if p.read != nil {
			p.read(c, &cursor{b: text, i: at + len(p.all[0])})
		}
		return k, c
	}
	return len(patterns), nil
}

// notZero reports whether a count other than 0 stands before offset at.
func notZero(text []byte, at int) bool {
	return at > 0 && isDigit(text[at-1]) && (text[at-1] != '0' || at > 1 && isDigit(text[at-2]))
}

// splitsNumber reports whether a word that ends in a digit was found in a longer
// number: exit code 1370 is not 137.
func splitsNumber(text []byte, end int) bool {
	return end < len(text) && isDigit(text[end-1]) && isDigit(text[end])
}

func (p *pattern) rest(text []byte, at int) bool {
	for _, w := range p.all[1:] {
		n := bytes.Index(text[at:], []byte(w))
		if n < 0 {
			return false
		}
		at += n + len(w)
	}
	for _, w := range p.not {
		if bytes.Contains(text, []byte(w)) {
			return false
		}
	}
	return true
}

// bareKilled recognises what shells print: "Killed", "line 28:  8156 Killed
// python3 main.py", "[1]    8156 killed     python train.py".
func bareKilled(text []byte) *Clue {
	if !bytes.Contains(text, []byte("illed")) {
		return nil
	}
	f := strings.Fields(string(text[:min(len(text), 400)]))
	for i, w := range f {
		if w != "Killed" && w != "killed" {
			continue
		}
		if len(f) == 1 {
			return newClue(Sigkill)
		}
		if i > 0 && allDigits(f[i-1]) && (i == 1 || strings.HasSuffix(f[i-2], ":") || strings.HasSuffix(f[i-2], "]") || f[i-2] == "+" || f[i-2] == "-") {
			c := newClue(Sigkill)
			c.Process = strings.Join(f[i+1:], " ")
			c.Source.PID, _ = strconv.Atoi(f[i-1])
			return c
		}
		return nil
	}
	return nil
}

func (s *scanner) addClue(v *view, i int, c *Clue) {
	e := &v.lines[i]
	c.Source = merge(e.src, c.Source)
	c.Time, c.Line, c.Count = e.time, s.lineNumber(e.at), 1
	c.Text = clip(string(bytes.TrimSpace(trimPanel(e.text))), maxClueText)
	id := "\x03" + string(c.Kind) + c.Size.Text + c.Process
	kill := (c.Kind == OOMKiller || c.Kind == CgroupKill) && c.Source.PID != 0
	if kill {
		id += strconv.Itoa(c.Source.PID)
	}
	if k, ok := s.lookUp(e.key, id); ok {
		s.rep.Clues[k].repeat(c, kill)
		s.seen[e.key+"\x01"+id] = k
		return
	}
	if len(s.rep.Clues) >= s.opt.MaxFindings {
		s.rep.Dropped++
		return
	}
	if !c.Kind.Host() || c.Kind == HostAlloc || c.Kind == HostPinned {
		c.Frames = s.traceback(v, i)
		c.User = userFrame(c.Frames)
	}
	s.remember(e.key, id, len(s.rep.Clues))
	s.rep.Clues = append(s.rep.Clues, *c)
}

// repeat counts an equal clue. The kernel writes two lines about one kill, of which
// the second has the sizes.
func (c *Clue) repeat(again *Clue, kill bool) {
	c.LastLine = again.Line
	if !kill {
		c.Count++
		return
	}
	if again.Used.Known() && !c.Used.Known() {
		c.Used, c.Text = again.Used, again.Text
	}
}

// clip cuts s to at most n bytes, at the start of a character.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
