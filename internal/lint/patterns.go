package lint

import (
	"path"
	"regexp"
	"strings"
)

// patterns are lines of a .gitignore file, and what the configuration says in the same form:
// which paths below a folder are meant. The last line that fits a path counts.
type patterns []pattern

// pattern is one line. Most are a name or an ending, which are compared as they are: a
// regular expression takes ten times as long, and every path meets every line.
type pattern struct {
	not      bool           // "!": what fits is not meant after all
	dirOnly  bool           // ends in a slash
	anchored bool           // has a slash before its end: the whole path is compared, else the last name
	literal  string         // without wildcards
	ending   string         // of "*.ending"
	form     *regexp.Regexp // else
}

// maxPatterns bounds the lines of a file that are read. A project's own has some hundred.
const maxPatterns = 10_000

// parsePatterns reads lines as git does. A line that it cannot read fits nothing.
func parsePatterns(lines []string) patterns {
	var all patterns
	for _, line := range lines[:min(len(lines), maxPatterns)] {
		if p, ok := parsePattern(line); ok {
			all = append(all, p)
		}
	}
	return all
}

func parsePattern(line string) (p pattern, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.not = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	ending, star := strings.CutPrefix(line, "*")
	switch {
	case line == "":
		return p, false
	case !strings.ContainsAny(line, `*?[\`):
		p.literal = line
	case star && !p.anchored && ending != "" && !strings.ContainsAny(ending, `*?[\`):
		p.ending = ending
	default:
		form, err := regexp.Compile("^" + wildcards(line) + "$")
		if err != nil {
			return p, false
		}
		p.form = form
	}
	return p, true
}

// wildcards writes a line as a regular expression.
func wildcards(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		rest := line[i:]
		stars := len(rest) - len(strings.TrimLeft(rest, "*"))
		whole := stars > 1 && (i == 0 || line[i-1] == '/') // a name of the path is stars: it is any number of names
		switch {
		case whole && strings.HasPrefix(rest[stars:], "/"):
			b.WriteString("(?:.*/)?")
			i += stars + 1
		case whole && len(rest) == stars:
			b.WriteString(".*")
			i += stars
		case stars > 0:
			b.WriteString("[^/]*")
			i += stars
		case rest[0] == '?':
			b.WriteString("[^/]")
			i++
		case rest[0] == '[':
			class, size := classOf(rest)
			b.WriteString(class)
			i += size
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			i++
		}
	}
	return b.String()
}

// classOf reads a class of characters, which never has the slash in it. One without an end
// makes an expression that does not compile, and so fits nothing, as in git.
func classOf(rest string) (class string, size int) {
	end := strings.IndexByte(rest[1:], ']') + 1
	if after := strings.TrimLeft(rest[1:], "!^"); end > 0 && strings.HasPrefix(after, "]") { // the first is a character
		from := len(rest) - len(after) + 1
		end = strings.IndexByte(rest[from:], ']') + from
		if end < from {
			end = 0
		}
	}
	if end <= 0 {
		return "[", 1
	}
	inside := rest[1:end]
	not := ""
	if inside[0] == '!' || inside[0] == '^' {
		inside, not = inside[1:], "^/"
	}
	inside = strings.NewReplacer("[", `\[`, "]", `\]`, "^", `\^`, "&", `\&`).Replace(inside)
	return "[" + not + inside + "]", end + 1
}

// match tells whether a line fits a path, with slashes and below the folder of the lines,
// and what the last such line says of it.
func (ps patterns) match(rel string, dir bool) (fits, meant bool) {
	base := path.Base(rel)
	for i := len(ps) - 1; i >= 0; i-- {
		if ps[i].fits(rel, base, dir) {
			return true, !ps[i].not
		}
	}
	return false, false
}

func (p *pattern) fits(rel, base string, dir bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	subject := base
	if p.anchored {
		subject = rel
	}
	switch {
	case p.literal != "":
		return subject == p.literal
	case p.ending != "":
		return strings.HasSuffix(subject, p.ending)
	}
	return p.form.MatchString(subject)
}

// covers tells whether a path, or a folder that it is in, is meant. It is for lines that no
// walk from the top has been held against.
func (ps patterns) covers(rel string) bool {
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		if _, meant := ps.match(rel[:i], true); meant {
			return true
		}
	}
	_, meant := ps.match(rel, false)
	return meant
}
