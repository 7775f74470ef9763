package message

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
)

// stripANSI removes what terminals take as commands, in the forms in which it gets
// into logs: with the escape character, as "^[[31m", as "\x1b[31m" and "\u001b[31m"
// written out, and the bare "[31m" that is left where the escape character was lost.
func stripANSI(b []byte) []byte {
	first := 0
	for first < len(b) && escape(b[first:]) == 0 {
		first++
	}
	if first == len(b) {
		return b
	}
	out := append(make([]byte, 0, len(b)), b[:first]...)
	for i := first; i < len(b); {
		if n := escape(b[i:]); n > 0 {
			i += n
			continue
		}
		out = append(out, b[i])
		i++
	}
	return out
}

var escapes = []string{"\x1b", "^[", `\x1b`, `\x1B`, `\u001b`, `\u001B`, `\033`, "\u241b"}

// escape returns the length of the terminal command that b starts with, or 0.
func escape(b []byte) int {
	switch b[0] {
	case '[':
		return colour(b)
	case 0x1b, '^', '\\', 0xe2:
	default:
		return 0
	}
	for _, e := range escapes {
		rest, ok := bytes.CutPrefix(b, []byte(e))
		if !ok {
			continue
		}
		if n := command(rest); n > 0 {
			return len(e) + n
		}
		if e == "\x1b" {
			return min(2, len(b))
		}
	}
	return 0
}

// colour returns the length of "[1;31m", or 0.
func colour(b []byte) int {
	for i := 1; i < len(b) && i < 20; i++ {
		switch c := b[i]; {
		case c == 'm':
			return i + 1
		case !isDigit(c) && c != ';':
			return 0
		}
	}
	return 0
}

// command returns the length of what follows an escape character, or 0.
func command(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '[':
		for i := 1; i < len(b) && i < 64; i++ {
			if b[i] >= '@' && b[i] <= '~' {
				return i + 1
			}
		}
	case ']': // a title or a link, up to BEL or ESC \
		for i := 1; i < len(b) && i < 4096; i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == 0x1b {
				return min(i+2, len(b))
			}
		}
	}
	return 0
}

// fields of structured logs that hold the message, and the others that matter.
var (
	messageKeys = []string{"log", "message", "msg", "textPayload", "MESSAGE", "line", "text", "event", "error", "err", "exception", "exc_info", "stack_trace", "stack", "traceback"}
	timeKeys    = []string{"time", "timestamp", "@timestamp", "ts", "asctime", "datetime"}
	rankKeys    = []string{"rank", "global_rank", "local_rank"}
)

// unwrapped is a line taken out of what it was wrapped in.
type unwrapped struct {
	lines [][]byte
	time  string
	rank  int // -1 where not said
}

// unwrap takes JSON and HTML off a line; what is left may be several lines.
func unwrap(line []byte) unwrapped {
	t := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(t, []byte(`{"`)), bytes.HasPrefix(t, []byte(`{ "`)):
		if u, ok := structured(t); ok {
			return u
		}
	case len(t) > 2 && t[0] == '"':
		if s, ok := jsonString(t); ok {
			return unwrapped{lines: splitLines([]byte(s)), rank: -1}
		}
	}
	if escaped(t) {
		line = unescape(line)
	}
	if markup(line) {
		line = stripMarkup(line)
	}
	return unwrapped{lines: splitLines(line), rank: -1}
}

func structured(t []byte) (unwrapped, bool) {
	var m map[string]any
	if json.Unmarshal(t, &m) != nil {
		return unwrapped{}, false
	}
	u := unwrapped{rank: -1}
	for _, k := range messageKeys {
		if s, ok := m[k].(string); ok && s != "" {
			u.lines = append(u.lines, splitLines([]byte(s))...)
		}
	}
	for _, k := range timeKeys {
		if s, ok := m[k].(string); ok && u.time == "" {
			u.time = s
		}
	}
	for _, k := range rankKeys {
		if f, ok := m[k].(float64); ok && u.rank < 0 && f >= 0 && f < 1e6 {
			u.rank = int(f)
		}
	}
	return u, len(u.lines) > 0
}

// jsonString decodes a line that is a JSON string, as notebooks keep their output.
func jsonString(t []byte) (string, bool) {
	t = bytes.TrimSuffix(t, []byte(","))
	var s string
	return s, len(t) > 1 && t[len(t)-1] == '"' && json.Unmarshal(t, &s) == nil
}

// escaped reports whether a line has its own line breaks written out. A lone "\n"
// may be part of a Windows path.
func escaped(t []byte) bool {
	if bytes.IndexByte(t, '\\') < 0 {
		return false
	}
	for _, s := range []string{`\n  File `, `\nTraceback`, `\ntorch.`, `\nRuntimeError`, `\nOutOfMemory`, `\u001b`, `\nCUDA `, `memory.\n`, `\\n  File`} {
		if bytes.Contains(t, []byte(s)) {
			return true
		}
	}
	return false
}

var unescaper = strings.NewReplacer(`\\n`, "\n", `\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`, `\/`, "/",
	`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u0027`, "'", `\u2502`, "│")

func unescape(line []byte) []byte { return []byte(unescaper.Replace(string(line))) }

// markup reports whether a line is HTML, or was escaped for it.
func markup(line []byte) bool {
	if bytes.IndexByte(line, '&') < 0 && !bytes.Contains(line, []byte("</")) && !bytes.Contains(line, []byte("<br")) {
		return false
	}
	for _, s := range []string{"&lt;", "&gt;", "&quot;", "&amp;", "&nbsp;", "&#", "<br", "</span>", "</p>", "</div>", "</pre>", "</td>", "</code>"} {
		if bytes.Contains(line, []byte(s)) {
			return true
		}
	}
	return false
}

// stripMarkup removes tags and decodes entities. "<module>" in a traceback is no
// tag: where it stands in HTML it is escaped.
func stripMarkup(line []byte) []byte {
	if bytes.Contains(line, []byte("</")) || bytes.Contains(line, []byte("<br")) {
		line = stripTags(line)
	}
	return []byte(html.UnescapeString(string(line)))
}

func stripTags(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if n := tag(line[i:]); n > 0 {
			if bytes.HasPrefix(line[i:], []byte("<br")) {
				out = append(out, '\n')
			}
			i += n - 1
			continue
		}
		out = append(out, line[i])
	}
	return out
}

// tag returns the length of the tag that b starts with, or 0.
func tag(b []byte) int {
	if b[0] != '<' || len(b) < 3 || (b[1] != '/' && lower(b[1])-'a' >= 26) {
		return 0
	}
	if n := bytes.IndexByte(b[:min(len(b), 1024)], '>'); n > 0 {
		return n + 1
	}
	return 0
}

func splitLines(b []byte) [][]byte {
	if bytes.IndexByte(b, '\n') < 0 {
		return [][]byte{b}
	}
	return bytes.Split(bytes.TrimRight(b, "\n"), []byte{'\n'})
}

// squeeze appends b to dst without white space and without the borders that panels
// draw around text, so that a message reads the same however it was wrapped.
func squeeze(dst, b []byte) []byte {
	b = bytes.Trim(bytes.TrimSpace(b), "|")
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case c == 0xc2 && i+1 < len(b) && b[i+1] == 0xa0: // no-break space
			i++
		case c == 0xe2 && i+2 < len(b) && (b[i+1] == 0x94 || b[i+1] == 0x95): // U+2500 to U+257F, box drawing
			i += 2
		case c == 0xe2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2] >= 0x8b && b[i+2] <= 0x8f: // zero width
			i += 2
		case c == 0xef && i+2 < len(b) && b[i+1] == 0xbb && b[i+2] == 0xbf: // byte order mark
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// trimPanel removes the borders of a panel and the white space within them.
func trimPanel(b []byte) []byte {
	return bytes.Trim(b, " \t│┃|╭╮╰╯─❱\u00a0\ufeff")
}
