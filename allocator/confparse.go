package allocator

import (
	"fmt"
	"strconv"
	"strings"
)

// confParser reads one configuration. The first error sticks; the parser then
// returns zeros.
type confParser struct {
	version Version
	legacy  bool // 2.8 and older: separators are looked at
	tokens  []string
	at      int
	out     Settings
	err     *ConfigError
}

func (p *confParser) option(key string) (confOption, bool) {
	o, ok := confOptions[key]
	return o, ok && p.version.AtLeast(o.since.Major, o.since.Minor)
}

// tokenize splits at the separators, which are tokens too, and drops blanks:
// before 2.9 only spaces.
func tokenize(conf string, legacy bool) []string {
	blanks := " \t\n\v\f\r"
	if legacy {
		blanks = " "
	}
	var tokens []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			tokens = append(tokens, word.String())
			word.Reset()
		}
	}
	for i := range len(conf) {
		switch c := conf[i]; {
		case strings.IndexByte(",:[]", c) >= 0:
			flush()
			tokens = append(tokens, string(c))
		case strings.IndexByte(blanks, c) < 0:
			word.WriteByte(c)
		}
	}
	flush()
	return tokens
}

// parseLegacy reads the tokens once, as 2.8 and older do.
func (p *confParser) parseLegacy() {
	for p.at = 0; p.at < len(p.tokens) && p.err == nil; p.at++ {
		key := p.tokens[p.at]
		o, ok := p.option(key)
		if !ok {
			p.fail("RuntimeError", "Unrecognized CachingAllocator option: %s", key)
			return
		}
		p.out.Given = append(p.out.Given, key)
		o.parse(p, key)
		if p.at+1 < len(p.tokens) {
			p.separator(",")
		}
	}
}

// parseTokens reads the tokens three times, as 2.9 and newer do: for the size
// that bounds others, for the options that all accelerators share, and for CUDA's
// own. Only the last knows which keys there are.
func (p *confParser) parseTokens() {
	for p.at = 0; p.at < len(p.tokens) && p.err == nil; p.at++ {
		if p.tokens[p.at] == "large_segment_size_mb" {
			if o, ok := p.option("large_segment_size_mb"); ok {
				o.parse(p, "large_segment_size_mb")
			}
		}
	}
	p.pass(false)
	p.pass(true)
}

func (p *confParser) pass(device bool) {
	for p.at = 0; p.at < len(p.tokens) && p.err == nil; p.at++ {
		key := p.tokens[p.at]
		o, ok := p.option(key)
		switch {
		case device && !ok:
			p.fail("ValueError", "Unrecognized key '%s' in CUDA allocator config.", key)
		case !ok || o.device != device || key == "large_segment_size_mb":
			p.skip()
		default:
			o.parse(p, key)
		}
		if device && ok {
			p.out.Given = append(p.out.Given, key)
		}
		if p.at+1 < len(p.tokens) {
			p.at++ // whatever it is
		}
	}
}

// skip passes over a key and its value.
func (p *confParser) skip() {
	p.separator(":")
	if p.next() != "[" {
		return
	}
	for p.at < len(p.tokens) && p.tokens[p.at] != "]" {
		p.at++
	}
	if p.at == len(p.tokens) {
		p.fail("RuntimeError", "Expected closing bracket ']' in ConfigTokenizer but reached end of config")
	}
}

func (p *confParser) fail(exception, format string, args ...any) {
	if p.err == nil {
		p.err = &ConfigError{Version: p.version, Exception: exception, Reason: fmt.Sprintf(format, args...)}
	}
}

// refuse fails with the exception that the release raises for a wrong value.
func (p *confParser) refuse(format string, args ...any) {
	exception := "ValueError"
	if p.legacy {
		exception = "RuntimeError"
	}
	p.fail(exception, format, args...)
}

// next moves to the next token and returns it.
func (p *confParser) next() string {
	p.at++
	return p.peek(0)
}

// peek returns the token n places on.
func (p *confParser) peek(n int) string {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n]
	}
	p.fail("RuntimeError", "Index out of bounds in ConfigTokenizer")
	return ""
}

// separator moves to the next token. From 2.9 on any token will do.
func (p *confParser) separator(c string) {
	p.at++
	switch {
	case !p.legacy:
		p.peek(0)
	case p.at >= len(p.tokens) || p.tokens[p.at] != c:
		p.fail("RuntimeError", "Error parsing CachingAllocator settings, expected %s", c)
	}
}

// value moves to the value of key and returns it.
func (p *confParser) value(key string) string {
	p.separator(":")
	if p.legacy && p.at+1 >= len(p.tokens) {
		p.fail("RuntimeError", "Error, expecting %s value", key)
	}
	if p.err != nil {
		return ""
	}
	return p.next()
}

func (p *confParser) boolean(key string) bool {
	s := p.value(key)
	switch {
	case p.err != nil || s == "True" || s == "False":
	case p.legacy:
		p.fail("RuntimeError", "Expected a single True/False argument for %s", key)
	default:
		p.fail("ValueError", "Expected 'True' or 'False' at index %d in ConfigTokenizer but got '%s'", p.at, s)
	}
	return s == "True"
}

func (p *confParser) number(key string) uint64 { return p.toNumber(p.value(key)) }

// toNumber reads the number that s begins with, as std::stoi (2.8 and older) or
// std::stoull does: a negative one wraps around.
func (p *confParser) toNumber(s string) uint64 {
	if p.err != nil {
		return 0
	}
	name, size := "stoull", 64
	if p.legacy {
		name, size = "stoi", 31
	}
	digits := strings.TrimLeft(s, "\t\n\v\f\r")
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	n, err := strconv.ParseUint(digits, 10, size)
	if err != nil {
		p.fail("RuntimeError", "%s", name)
		return 0
	}
	if negative {
		return -n
	}
	return n
}

// decimal reads the number that the value of key begins with, as std::stod does.
func (p *confParser) decimal(key string) float64 {
	s := p.value(key)
	for n := len(s); n > 0 && p.err == nil; n-- {
		if f, err := strconv.ParseFloat(s[:n], 64); err == nil && !strings.Contains(s[:n], "_") {
			return f
		}
	}
	p.fail("RuntimeError", "stod")
	return 0
}
