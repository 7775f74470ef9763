package places

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a shell script, as the program that it is given to would see it.
type word struct {
	text  string
	known bool // nothing in it depends on the run
	at    span // with its quotes
	bytes span // the text's own bytes, where the file has them unchanged; else empty
}

// is tells whether the word is known to be text.
func (w word) is(text string) bool { return w.known && w.text == text }

// readWord takes the quotes off a word; base is where the script begins in its file.
func readWord(w *syntax.Word, base int) word {
	if w == nil {
		return word{known: true}
	}
	out := word{known: true, at: nodeSpan(w, base)}
	var b strings.Builder
	for _, part := range w.Parts {
		out.known = appendPart(&b, part) && out.known
	}
	out.text = b.String()
	if len(w.Parts) == 1 {
		out.bytes = insideQuotes(w.Parts[0], base)
		if out.bytes.end-out.bytes.start != len(out.text) {
			out.bytes = span{}
		}
	}
	return out
}

func nodeSpan(n syntax.Node, base int) span {
	return span{base + int(n.Pos().Offset()), base + int(n.End().Offset())}
}

// insideQuotes is what a part has within its quotes.
func insideQuotes(part syntax.WordPart, base int) span {
	s := nodeSpan(part, base)
	switch p := part.(type) {
	case *syntax.SglQuoted:
		if p.Dollar {
			return span{}
		}
		return span{s.start + 1, s.end - 1}
	case *syntax.DblQuoted:
		if p.Dollar {
			return span{}
		}
		return span{s.start + 1, s.end - 1}
	}
	return s
}

// appendPart adds what a part of a word comes to, and tells whether that is known.
func appendPart(b *strings.Builder, part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value, ""))
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
		return !p.Dollar || !strings.Contains(p.Value, `\`)
	case *syntax.DblQuoted:
		known := true
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			} else {
				known = appendPart(b, inner) && known
			}
		}
		return known
	case *syntax.ParamExp:
		b.WriteString("$" + paramName(p))
		return false
	default:
		b.WriteString("$()")
		return false
	}
	return true
}

func paramName(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	return p.Param.Value
}

// unescape takes away backslashes that quote one of special, or any letter where special
// is empty. A quoted line end is nothing at all.
func unescape(s, special string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (special == "" || strings.IndexByte(special, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
