package table

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A query is words with spaces between. docs/formats/view-api.md lists them.

// QueryError tells which word of a query was not understood, and why.
type QueryError struct {
	At, Length int // of the word, in UTF-16 units: what JavaScript counts
	Message    string
}

func (e *QueryError) Error() string { return e.Message }

// What a query may have at most: it is written by hand.
const (
	maxQueryBytes = 2000
	maxWords      = 50
)

// word is one word of a query.
type word struct {
	not     bool
	key, op string // both empty for a word that is looked for in the stack's text
	value   string

	text   string // as written
	at     int    // where it begins, in bytes
	source *string
}

// errorf returns an error about the word.
func (w *word) errorf(format string, args ...any) error {
	return queryError(*w.source, w.at, len(w.text), format, args...)
}

func queryError(query string, at, n int, format string, args ...any) error {
	return &QueryError{At: utf16Len(query[:at]), Length: utf16Len(query[at : at+n]), Message: fmt.Sprintf(format, args...)}
}

// utf16Len is how many units JavaScript counts in s. A byte that is no UTF-8 becomes
// one U+FFFD on the way.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// parseQuery splits a query into its words.
func parseQuery(query string) ([]word, error) {
	if len(query) > maxQueryBytes {
		return nil, queryError(query, 0, len(query), "the query has %d bytes, more than %d", len(query), maxQueryBytes)
	}
	var words []word
	for at := 0; ; {
		at += len(query[at:]) - len(strings.TrimLeftFunc(query[at:], unicode.IsSpace))
		if at == len(query) {
			return words, nil
		}
		n, err := wordLen(query, at)
		if err != nil {
			return nil, err
		}
		w := newWord(query[at : at+n])
		w.at, w.source = at, &query
		if len(words) == maxWords {
			return nil, w.errorf("the query has more than %d words", maxWords)
		}
		if err := w.check(); err != nil {
			return nil, err
		}
		words = append(words, w)
		at += n
	}
}

// wordLen returns the length of the word that begins at a place: up to the next space
// outside of quotes.
func wordLen(query string, at int) (int, error) {
	quote := -1
	for i, r := range query[at:] {
		switch {
		case r == '"' && quote < 0:
			quote = i
		case r == '"':
			quote = -1
		case quote < 0 && unicode.IsSpace(r):
			return i, nil
		}
	}
	if quote >= 0 {
		return 0, queryError(query, at+quote, len(query)-at-quote, "the quote is not closed: expected another \"")
	}
	return len(query) - at, nil
}

// newWord takes a word apart.
func newWord(text string) word {
	w := word{text: text}
	rest, not := strings.CutPrefix(text, "-")
	w.not = not && rest != ""
	if !w.not {
		rest = text
	}
	w.key, w.op, w.value = cutKey(rest)
	w.value = strings.ReplaceAll(w.value, `"`, "")
	return w
}

// cutKey splits "size>=64MiB" and "file:train.py". What is no key stays in the value: the
// colons of std::vector and train.py:12, and anything in quotes.
func cutKey(s string) (key, op, value string) {
	end := strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
	if end <= 0 {
		return "", "", s
	}
	key, rest := s[:end], s[end:]
	for _, op := range [...]string{"::", ":", ">=", "<=", ">", "<", "="} {
		if value, ok := strings.CutPrefix(rest, op); ok && op != "::" {
			return key, op, value
		} else if ok {
			break
		}
	}
	return "", "", s
}

// check tells whether there is such a key, and whether it is used as it can be.
func (w *word) check() error {
	if w.key == "" {
		if w.value == "" {
			return w.errorf("%s: expected a text between the quotes", w.text)
		}
		return nil
	}
	k, ok := keys[w.key]
	switch {
	case !ok:
		return w.errorf("%s: there is no %s%s; expected one of %s, or quotes around a text", clean(w.text), w.key, w.op, keyNames())
	case w.op != ":" && !k.ordered:
		return w.errorf("%s: expected %s:, it has no greater and smaller", w.text, w.key)
	case w.value == "" && k.expects != nothing:
		return w.errorf("%s: expected %s behind it", w.text, k.expects)
	case w.value != "" && k.expects == nothing:
		return w.errorf("%s: expected a space behind %s:, it takes no value", w.text, w.key)
	}
	return nil
}

// clean shortens a text for a message.
func clean(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:40]) + "…"
	}
	return s
}

func keyNames() string {
	names := make([]string, 0, len(keys))
	for name, k := range keys {
		if k.ordered {
			names = append(names, name)
		} else {
			names = append(names, name+":")
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
