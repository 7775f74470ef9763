package places

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// instruction is one of a Dockerfile.
type instruction struct {
	name string // in capitals
	rest string // what follows, as long as in the file: line ends stay, comments within are blanked
	at   int    // where rest begins
}

// escapeDirective names the character that ends a line without ending the instruction.
var escapeDirective = regexp.MustCompile("(?mi)^#[ \t]*escape[ \t]*=[ \t]*(.)[ \t\r]*$")

// readDockerfile splits a Dockerfile into instructions. Here-documents are passed over.
func readDockerfile(text string) []instruction {
	escape := `\`
	if m := escapeDirective.FindStringSubmatch(text); m != nil {
		escape = m[1]
	}
	r := dockerReader{lines: slices.Collect(strings.Lines(text)), escape: escape}
	var all []instruction
	for r.next < len(r.lines) {
		if in, ok := r.instruction(); ok {
			all = append(all, in)
		}
	}
	return all
}

type dockerReader struct {
	lines  []string
	next   int // line
	at     int // offset of that line
	escape string
}

// take returns the next line and where it begins.
func (r *dockerReader) take() (line string, at int) {
	line, at = r.lines[r.next], r.at
	r.next++
	r.at += len(line)
	return line, at
}

func (r *dockerReader) instruction() (instruction, bool) {
	line, at := r.take()
	trimmed := strings.TrimLeft(line, " \t")
	if skip := strings.TrimSpace(trimmed); skip == "" || skip[0] == '#' {
		return instruction{}, false
	}
	start := at + len(line) - len(trimmed)
	name := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))]
	in := instruction{name: strings.ToUpper(name), at: start + len(name)}
	var b strings.Builder
	b.WriteString(trimmed[len(name):])
	for r.continues(line) && r.next < len(r.lines) {
		line = r.comments(&b)
		b.WriteString(line)
	}
	in.rest = b.String()
	r.hereDocuments(in.rest)
	return in, true
}

// continues tells whether the instruction goes on after a line.
func (r *dockerReader) continues(line string) bool {
	return strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), r.escape)
}

// comments passes over the comments within an instruction, and returns the line behind
// them. What it writes for each is as long, and a line that goes on.
func (r *dockerReader) comments(b *strings.Builder) string {
	for {
		line, _ := r.take()
		t := strings.TrimSpace(line)
		if r.next == len(r.lines) || t != "" && t[0] != '#' {
			return line
		}
		body := strings.TrimRight(line, "\r\n")
		if len(body) > 0 {
			b.WriteString(strings.Repeat(" ", len(body)-1) + r.escape)
		}
		b.WriteString(line[len(body):])
	}
}

var hereDocument = regexp.MustCompile(`<<-?["']?([A-Za-z_][A-Za-z0-9_]*)`)

// hereDocuments passes over the lines that belong to an instruction's here-documents.
func (r *dockerReader) hereDocuments(rest string) {
	for _, m := range hereDocument.FindAllStringSubmatch(rest, -1) {
		for r.next < len(r.lines) {
			line, _ := r.take()
			if strings.TrimSpace(line) == m[1] {
				break
			}
		}
	}
}

// dockerfile judges a Dockerfile.
func (f *file) dockerfile() {
	c := &dockerCheck{file: f}
	for _, in := range readDockerfile(f.text) {
		c.instruction(&in)
	}
	c.stage()
}

// dockerCheck looks at one build stage after the other.
type dockerCheck struct {
	*file
	env  []setting // of the stage
	args []setting
}

func (c *dockerCheck) instruction(in *instruction) {
	switch in.name {
	case "FROM":
		c.stage()
	case "ENV":
		for _, s := range envOf(in) {
			c.env = append(c.env, s)
			c.variable(&s)
			c.strayEquals(&s)
		}
	case "ARG":
		c.args = append(c.args, envOf(in)...)
	case "RUN":
		c.run(in)
	}
}

// stage ends a build stage.
func (c *dockerCheck) stage() {
	c.alone(c.env)
	for _, a := range c.args {
		passed := slices.ContainsFunc(c.env, func(e setting) bool { return e.name == a.name || strings.Contains(e.value, a.name) })
		if forPrograms(a.name) && !passed && !strings.Contains(c.text, "$"+a.name) && !strings.Contains(c.text, "${"+a.name) {
			c.report(a.at, (&Fault{
				Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: rules.High,
				Message: fmt.Sprintf("ARG sets %s for the build only; the container does not have it", a.name),
			}).do("write ENV %s=%s", a.name, a.value))
		}
	}
	c.env, c.args = nil, nil
}

// strayEquals: "ENV NAME = value" is the old form, with a value that begins with =.
func (c *dockerCheck) strayEquals(s *setting) {
	if IsAllocator(s.name) && strings.HasPrefix(s.value, "= ") {
		for i := range c.found { // what Conf says of such a string does not name the cause
			if c.found[i].Start >= s.at.start && c.found[i].End <= s.at.end {
				c.found = c.found[:i]
				break
			}
		}
		c.report(s.at, (&Fault{
			Rule: "conf/bad-value", Severity: rules.Error, Confidence: rules.High,
			Message: fmt.Sprintf("the value of %s begins with =, and PyTorch refuses it", s.name),
		}).
			because("with blanks around =, ENV takes all behind the name for the value").do("write ENV %s=%s", s.name, strings.TrimSpace(s.value[1:])))
	}
}

// run finds what is exported for one RUN only.
func (c *dockerCheck) run(in *instruction) {
	script := readScript(in.rest, in.at)
	for i, s := range script.steps {
		if !s.exported {
			continue
		}
		used := slices.ContainsFunc(script.steps[i+1:], func(s step) bool {
			return len(s.words) > 0 && !slices.Contains(startNothing, programOf(s.words).name)
		})
		for _, set := range s.sets {
			if forPrograms(set.name) && !used {
				c.report(set.at, (&Fault{
					Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: rules.High,
					Message: fmt.Sprintf("RUN export sets %s for this RUN alone; the container does not have it", set.name),
				}).
					because("each RUN has a shell of its own").do("write ENV %s=%s", set.name, set.value))
			}
		}
	}
}

// envOf reads the pairs of ENV or ARG: NAME=value …, or NAME value to the end of the line.
func envOf(in *instruction) []setting {
	words := dockerWords(in.rest, in.at)
	if len(words) == 0 {
		return nil
	}
	if !strings.Contains(words[0].text, "=") {
		if in.name == "ARG" || len(words) < 2 {
			return nil
		}
		last := words[len(words)-1]
		text := in.rest[words[1].at.start-in.at : last.at.end-in.at]
		s := setting{name: words[0].text, value: text, at: span{words[0].at.start, last.at.end}, valueAt: span{words[1].at.start, last.at.end}}
		if len(words) == 2 {
			s.value, s.valueAt = words[1].text, words[1].bytes
		}
		s.unknown = strings.Contains(s.value, "$")
		return []setting{s}
	}
	var all []setting
	for _, w := range words {
		if s, ok := settingOfWord(w); ok {
			all = append(all, s)
		}
	}
	return all
}

// dockerWords splits as Dockerfiles do: quotes may stand anywhere, a backslash quotes, $
// begins what is put in.
func dockerWords(text string, at int) []word {
	var all []word
	for i := 0; i < len(text); {
		if strings.IndexByte(" \t\r\n", text[i]) >= 0 || isLineEnd(text[i:]) {
			i++
			continue
		}
		n := dockerWord(text[i:])
		raw := text[i : i+n]
		w := word{text: dockerUnquote(raw), at: span{at + i, at + i + n}}
		w.known = !strings.Contains(w.text, "$")
		w.bytes = unchanged(raw, w.text, at+i)
		all = append(all, w)
		i += n
	}
	return all
}

func isLineEnd(s string) bool {
	return strings.HasPrefix(s, "\\\n") || strings.HasPrefix(s, "\\\r\n")
}

// dockerWord returns the length of the word that s begins with.
func dockerWord(s string) int {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isLineEnd(s[i:]) && quote == 0:
			return i
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return i
		}
	}
	return len(s)
}

// dockerUnquote takes off quotes and the backslashes that quote.
func dockerUnquote(raw string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(raw):
			i++
			b.WriteByte(raw[i])
		case quote == c && quote != 0:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unchanged returns where text lies within raw, which stands at an offset: whole, or with
// quotes around its value or all of it.
func unchanged(raw, text string, at int) span {
	switch {
	case raw == text:
		return span{at, at + len(raw)}
	case len(raw) == len(text)+2 && raw[1:len(raw)-1] == text:
		return span{at + 1, at + len(raw) - 1}
	}
	return span{}
}
