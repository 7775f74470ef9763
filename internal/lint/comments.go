package lint

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// directive is a comment that hides mistakes:
//
//	x += loss  # ullage: ignore[leak/loss-with-graph] x is reset by the caller
//	# ullage: ignore[leak, peak/autocast-cache] of the line below
//	# ullage: ignore-file[conf] whatever stands where
type directive struct {
	rules  []string // ids, or families
	reason string
	file   bool // the whole file
	wrong  string
	at     int // offset
	line   int // of the text, that it is for; 0: of none
	used   bool
}

// directives reads the comments of a source that are for this program.
func directives(src *syntax.Source, comments []Comment) []directive {
	var all []directive
	for _, c := range comments {
		if c.Start < 0 || c.End > len(src.Text) || c.Start > c.End {
			continue
		}
		d, ok := parseDirective(string(src.Text[c.Start:c.End]))
		if !ok {
			continue
		}
		d.at = c.Start
		if !d.file {
			d.line = lineFor(src, c.Start)
		}
		all = append(all, d)
	}
	return all
}

// lineFor is the line that a comment is for: its own, or where it stands alone the next that
// has something else.
func lineFor(src *syntax.Source, at int) int {
	line := src.TextLine(at)
	if before, _, _ := strings.Cut(src.Line(line), "#"); strings.TrimSpace(before) != "" {
		return line
	}
	for line++; line <= src.LineCount(); line++ {
		if text := strings.TrimSpace(src.Line(line)); text != "" && text[0] != '#' {
			return line
		}
	}
	return 0
}

// parseDirective reads a comment; false where it is not meant for this program.
func parseDirective(comment string) (d directive, ok bool) {
	_, rest, found := strings.Cut(comment, "#")
	for found && !strings.HasPrefix(strings.TrimLeft(rest, " \t"), Mark) {
		_, rest, found = strings.Cut(rest, "#")
	}
	if !found {
		return d, false
	}
	rest = strings.TrimSpace(strings.TrimLeft(rest, " \t")[len(Mark):])
	rest, _, _ = strings.Cut(rest, "\n")
	if rest, ok = strings.CutPrefix(rest, "ignore"); !ok {
		return d, false
	}
	rest, d.file = strings.CutPrefix(rest, "-file")
	inside, hasBracket := strings.CutPrefix(rest, "[")
	list, reason, closed := strings.Cut(inside, "]")
	switch {
	case rest != "" && !hasBracket && isWordByte(rest[0]):
		return d, false // "ignored", in a sentence
	case !hasBracket:
		d.wrong = "names no rule: expected ignore[rule] and the reason"
	case !closed:
		d.wrong = `has no "]"`
	default:
		d.reason = strings.TrimSpace(reason)
		d.readRules(list)
	}
	return d, true
}

func isWordByte(c byte) bool {
	return c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// readRules takes whole ids and families: half a name would hide what it was not meant for.
func (d *directive) readRules(list string) {
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		switch {
		case id == "":
			d.wrong = "names no rule between its brackets"
			return
		case !isRule(id) && !isFamily(id):
			d.wrong = fmt.Sprintf("%.40q is no rule and no family; 'ullage rules' lists them", id)
			return
		}
		d.rules = append(d.rules, id)
	}
}

func isRule(id string) bool {
	_, err := rules.Get(id)
	return err == nil
}

func isFamily(id string) bool { return !strings.Contains(id, "/") && len(rules.Match(id+"/")) > 0 }

// hides tells whether a comment is about a mistake, which begins and ends on these lines.
func (d *directive) hides(m *rules.Mistake, first, last int) bool {
	if d.wrong != "" || !d.file && d.line != first && d.line != last {
		return false
	}
	for _, id := range d.rules {
		if m.Rule == id || strings.HasPrefix(m.Rule, id+"/") {
			return true
		}
	}
	return false
}

// notices tells of comments that do not do what somebody meant them to.
func (d *directive) notice() (kind NoticeKind, text string) {
	name := "ignore"
	if d.file {
		name = "ignore-file"
	}
	switch {
	case d.wrong != "":
		return Ignore, fmt.Sprintf("this comment has no effect: %s %s", name, d.wrong)
	case !d.used:
		return Stale, fmt.Sprintf("%s[%s] hides nothing here", name, strings.Join(d.rules, ", "))
	case d.reason == "":
		return Stale, fmt.Sprintf("%s[%s] has no reason", name, strings.Join(d.rules, ", "))
	}
	return "", ""
}

// HashComments returns the comments with Mark of a text in which # begins a comment at the
// beginning of a word and outside of quotes, as in shells, YAML, TOML and Dockerfiles.
func HashComments(text []byte) []Comment {
	var all []Comment
	for from := 0; ; {
		k := bytes.Index(text[from:], []byte(Mark))
		if k < 0 {
			return all
		}
		at := from + k
		start := bytes.LastIndexByte(text[:at], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		if hash := hashAt(text[start:end]); hash >= 0 && start+hash < at {
			all = append(all, Comment{start + hash, end})
		}
		from = end
	}
}

// hashAt is where the comment of a line begins; -1 where it has none. A quote that is still
// open at the line's end was an apostrophe, or text over several lines: it counts for nothing.
func hashAt(line []byte) int {
	for _, quotes := range []string{`'"`, `"`, ""} {
		if at, open := hashOutside(line, quotes); !open {
			return at
		}
	}
	return -1
}

func hashOutside(line []byte, quotes string) (at int, open bool) {
	var quote byte
	for i, c := range line {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case strings.IndexByte(quotes, c) >= 0:
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return i, false
		}
	}
	return -1, quote != 0
}
