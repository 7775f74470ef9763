package message

import (
	"bytes"
	"strconv"
	"strings"
)

// prefixed is a line without what a launcher or logger put before it.
type prefixed struct {
	text []byte
	src  Source
	time string
}

// maxPrefixes is how many prefixes a line may have: a timestamp by the container's
// runtime, the rank by torchrun, level and file by the program's logger …
const maxPrefixes = 8

// stripPrefix takes the known prefixes off the start of line. The indentation of
// what is left is kept.
func stripPrefix(line []byte) prefixed {
	p := prefixed{text: line, src: Source{Rank: -1}}
	for range maxPrefixes {
		n := p.one(p.text)
		if n == 0 {
			break
		}
		p.text = p.text[n:]
		if len(p.text) > 0 && p.text[0] == ' ' {
			p.text = p.text[1:]
		}
	}
	return p
}

// one returns the length of one prefix at the start of b, with its separator, and
// notes what it says; 0 if there is none.
func (p *prefixed) one(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	switch c := b[0]; {
	case c == '[':
		return p.bracket(b)
	case c == '(':
		return p.paren(b)
	case isDigit(c):
		return p.number(b)
	case c == ' ':
		return p.indentedLabel(b)
	case c == '>' && b[1] == ' ':
		return 2
	case c == 0xef && b[1] == 0xbb && b[2] == 0xbf: // byte order mark
		return 3
	case lower(c)-'a' < 26:
		return p.word(b)
	}
	return 0
}

// bracket takes "[rank3]:", "[default0]:", "[1,3]<stderr>:", "[0]:", "[pod/x/y]",
// times and "[file.py:12]".
func (p *prefixed) bracket(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 120)], ']')
	if end < 2 {
		return 0
	}
	in := string(b[1:end])
	n := end + 1
	if allDigits(in) && !bytes.HasPrefix(b[n:], []byte{':'}) && !bytes.HasPrefix(b[n:], []byte("<std")) {
		return 0 // "[1]  8156 killed" is a shell's job
	}
	for _, s := range []string{"<stderr>", "<stdout>", ":"} {
		if bytes.HasPrefix(b[n:], []byte(s)) {
			n += len(s)
		}
	}
	switch {
	case p.rankLabel(in):
	case looksLikeTime(in):
		p.setTime(in)
	case strings.HasPrefix(in, "pod/"), strings.HasPrefix(in, "Stage-"), strings.HasPrefix(in, "gw") && allDigits(in[2:]):
		p.setLabel(in)
	case isLevel(in), isPosition(in), isGlog(in):
	default:
		return 0
	}
	return n
}

// rankLabel takes "rank3", "Rank 3", "default3", "3" and "1,3" (of mpirun: job and rank).
func (p *prefixed) rankLabel(in string) bool {
	s := strings.ToLower(in)
	for _, head := range []string{"rank", "default", "local_rank", "global_rank", "gpu"} {
		if rest, ok := strings.CutPrefix(s, head); ok {
			return p.setRank(strings.TrimLeft(rest, " :=#"), in)
		}
	}
	if job, rank, ok := strings.Cut(s, ","); ok && allDigits(job) {
		return p.setRank(rank, in)
	}
	return allDigits(s) && len(s) < 6 && p.setRank(s, in)
}

func (p *prefixed) setRank(digits, label string) bool {
	if !allDigits(digits) || len(digits) > 6 {
		return false
	}
	p.src.Rank, _ = strconv.Atoi(digits)
	p.setLabel(label)
	return true
}

func (p *prefixed) setLabel(s string) {
	if p.src.Label == "" {
		p.src.Label = s
	}
}

func (p *prefixed) setTime(s string) {
	if p.time == "" {
		p.time = strings.Trim(s, " :")
	}
}

// paren takes what Ray and vLLM print: "(RayTrainWorker pid=12, ip=10.0.0.1)".
func (p *prefixed) paren(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 200)], ')')
	if end < 0 {
		return 0
	}
	in := string(b[1:end])
	if !strings.Contains(in, "pid=") && !strings.Contains(in, "ip=") && in != "raylet" && in != "autoscaler" {
		return 0
	}
	p.worker(in)
	return end + 1
}

// worker reads "Worker_TP0 pid=12, ip=10.0.0.1, rank=1".
func (p *prefixed) worker(in string) {
	p.setLabel(in)
	for _, f := range strings.FieldsFunc(in, func(r rune) bool { return r == ' ' || r == ',' }) {
		key, value, ok := strings.Cut(f, "=")
		switch {
		case ok && key == "pid":
			p.src.PID, _ = strconv.Atoi(value)
		case ok && key == "ip":
			p.src.Host = value
		case ok && key == "rank" && allDigits(value):
			p.src.Rank, _ = strconv.Atoi(value)
		}
	}
}

// number takes times, "3: " of srun --label, and "10.0.0.1: " of pdsh.
func (p *prefixed) number(b []byte) int {
	n := 0
	for n < len(b) && n < 40 && (isDigit(b[n]) || strings.IndexByte("-:.,TZ+/", b[n]) >= 0) {
		n++
	}
	in := string(b[:n])
	switch {
	case strings.HasSuffix(in, ":") && strings.Count(in, ".") == 3:
		p.src.Host = in[:n-1]
		p.setLabel(in[:n-1])
		return n
	case looksLikeTime(in):
		p.setTime(in)
		return p.rest(b, n)
	case strings.HasSuffix(in, ":") && allDigits(in[:n-1]) && n <= 6 && n < len(b) && b[n] == ' ':
		p.setRank(in[:n-1], in[:n-1])
		return n
	}
	return 0
}

// rest adds the time of day that follows a date.
func (p *prefixed) rest(b []byte, n int) int {
	if !strings.Contains(string(b[:n]), "-") || strings.Contains(string(b[:n]), ":") || n >= len(b) || b[n] != ' ' {
		return n
	}
	m := n + 1
	for m < len(b) && m < n+30 && (isDigit(b[m]) || strings.IndexByte(":.,Z+", b[m]) >= 0) {
		m++
	}
	if looksLikeTime(string(b[n+1 : m])) {
		p.time = string(b[:m])
		return m
	}
	return n
}

// indentedLabel takes the padded label of srun: " 3: ".
func (p *prefixed) indentedLabel(b []byte) int {
	n := 0
	for n < len(b) && n < 4 && b[n] == ' ' {
		n++
	}
	m := n
	for m < len(b) && m < n+5 && isDigit(b[m]) {
		m++
	}
	if m == n || m+1 >= len(b) || b[m] != ':' || b[m+1] != ' ' {
		return 0
	}
	p.setRank(string(b[n:m]), string(b[n:m]))
	return m + 1
}

// word takes levels, glog's "E0325 20:57:27.620000 2606 x.py:869]", syslog's "Jun 12
// 09:12:33 host kernel:", compose's "web-1  |" and "VllmWorker rank=1 pid=254)".
func (p *prefixed) word(b []byte) int {
	head := b[:min(len(b), 160)]
	if n := p.glog(head); n > 0 {
		return n
	}
	if n := p.syslog(head); n > 0 {
		return n
	}
	end := 0
	for end < len(head) && (lower(head[end])-'a' < 26 || isDigit(head[end]) || strings.IndexByte("_-./", head[end]) >= 0) {
		end++
	}
	w := string(head[:end])
	switch {
	case end == len(head):
		return 0
	case isLevel(w):
		return p.level(head, end)
	case head[end] == ' ' && bytes.HasPrefix(bytes.TrimLeft(head[end:], " "), []byte("| ")):
		p.setLabel(w)
		return end + bytes.IndexByte(head[end:], '|') + 1
	case head[end] == ' ' && (bytes.HasPrefix(head[end+1:], []byte("rank=")) || bytes.HasPrefix(head[end+1:], []byte("pid="))):
		if n := bytes.IndexByte(head, ')'); n > 0 {
			p.worker(string(head[:n]))
			return n + 1
		}
	}
	return 0
}

// level takes "ERROR", "ERROR:", "ERROR:root:" and "[ERROR|file.py]"-like forms.
func (p *prefixed) level(head []byte, end int) int {
	if head[end] != ':' {
		if string(head[:end]) != strings.ToUpper(string(head[:end])) || head[end] != ' ' {
			return 0 // "Error out of memory" is a sentence
		}
		return end
	}
	rest := head[end+1:]
	n := bytes.IndexByte(rest, ':')
	if n > 0 && n < 80 && bytes.IndexByte(rest[:n], ' ') < 0 && !bytes.HasSuffix(rest[:n], []byte("Error")) {
		return end + 1 + n + 1
	}
	return end + 1
}

// glog takes one letter, month and day, time, thread, file and line.
func (p *prefixed) glog(head []byte) int {
	n := bytes.Index(head, []byte("] "))
	if n < 0 || !isGlog(string(head[:n])) {
		return 0
	}
	if f := strings.Fields(string(head[:n])); len(f) > 1 {
		p.setTime(f[0][1:] + " " + f[1])
	}
	return n + 1
}

// isGlog recognises "W701 02:36:19.144600040 ProcessGroupNCCL.cpp:1575".
func isGlog(in string) bool {
	f := strings.Fields(in)
	return len(f) >= 3 && len(f[0]) >= 4 && len(f[0]) <= 5 && strings.IndexByte("IWEFCV", f[0][0]) >= 0 &&
		allDigits(f[0][1:]) && looksLikeTime(f[1]) && isPosition(f[len(f)-1])
}

var months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec "

// syslog takes "Jun 12 09:12:33 host kernel:" and the "[ 7063.2]" that follows it.
func (p *prefixed) syslog(head []byte) int {
	if len(head) < 16 || head[3] != ' ' || !strings.Contains(months, string(head[:4])) {
		return 0
	}
	f := strings.Fields(string(head))
	if len(f) < 5 || !allDigits(f[1]) || !looksLikeTime(f[2]) {
		return 0
	}
	n := bytes.Index(head, []byte(": "))
	if n < 0 || n > 100 {
		return 0
	}
	p.setTime(strings.Join(f[:3], " "))
	p.src.Host = f[3]
	return n + 1
}

// looksLikeTime accepts dates, times of day, and the kernel's seconds since boot.
func looksLikeTime(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) < 5 || len(s) > 40 {
		return false
	}
	digits, seps := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case c == '-' || c == ':' || c == '/':
			seps++
		case c == '.' || c == ',' || c == ' ' || c == 'T' || c == 'Z' || c == '+' || lower(c)-'a' < 26:
		default:
			return false
		}
	}
	if kernelSeconds(s) {
		return true
	}
	return digits*2 >= len(s) && digits >= 4 && seps >= 1 && (isDigit(s[0]) || seps >= 2)
}

func kernelSeconds(s string) bool {
	a, b, ok := strings.Cut(s, ".")
	return ok && len(b) == 6 && allDigits(a) && allDigits(b)
}

func isLevel(s string) bool {
	switch strings.ToUpper(s) {
	case "DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "STDERR", "STDOUT":
		return true
	}
	return false
}

// isPosition recognises "core.py:718".
func isPosition(s string) bool {
	i := strings.LastIndexByte(s, ':')
	return i > 0 && allDigits(s[i+1:]) && strings.Contains(s[:i], ".") && !strings.Contains(s, " ")
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
