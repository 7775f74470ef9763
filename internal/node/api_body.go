package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a question. The longest one is a report: 400 bytes for each of a machine's GPUs.
const (
	maxBody  = 64 << 10
	maxDepth = 8 // objects and lists within each other; a report has 3
	maxURL   = 8 << 10
)

// readBody reads a JSON object into what it is to be. A field that is not known is refused: a
// client that asks for what this agent does not have must not believe that it has it.
func readBody(w http.ResponseWriter, r *http.Request, to any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refusef(http.StatusRequestEntityTooLarge, codeTooLarge, "the body is longer than %d bytes", maxBody)
	case err != nil:
		return invalidf("the body could not be read: %v", err)
	case !utf8.Valid(body):
		return invalidf("the body is not UTF-8")
	case !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")):
		return invalidf("expected a JSON object as the body")
	case depth(body) > maxDepth:
		return invalidf("the body has more than %d objects and lists within each other", maxDepth)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return invalidf("%s", explainJSON(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalidf("the body goes on after its object, at byte %d", d.InputOffset())
	}
	return clean(reflect.ValueOf(to))
}

// depth returns how many objects and lists a JSON text opens within each other.
func depth(text []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// explainJSON says what is wrong in the words of JSON, not of Go.
func explainJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return kind.Field + ": expected " + wanted(kind.Type) + ", found " + kind.Value
	case errors.As(err, &syntax):
		return "the body is no JSON: " + syntax.Error() + ", at byte " + strconv.FormatInt(syntax.Offset, 10)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the body is no JSON: it ends in the middle"
	}
	return strings.TrimPrefix(err.Error(), "json: ") // unknown field "x"
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number of 64 bits"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// clean refuses control characters: texts of users end on other users' terminals.
func clean(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return clean(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := clean(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := clean(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		return cleanText(v.String())
	}
	return nil
}

func cleanText(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return invalidf("the text %.80q has a control character, or is not UTF-8", s)
	}
	return nil
}

// query returns the parameters of a question. One that is not known, or there twice, is
// refused.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalidf("the parameters cannot be read: %v", err)
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, invalidf("a parameter %.80q: expected none", name)
		case !slices.Contains(known, name):
			return nil, invalidf("a parameter %.80q: expected one of %s", name, strings.Join(known, ", "))
		case len(all) > 1:
			return nil, invalidf("the parameter %s is there %d times", name, len(all))
		}
		if err := cleanText(all[0]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// wholeNumber reads a parameter that is a whole number within bounds.
func wholeNumber(q url.Values, name string, absent, low, high int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, invalidf("%s=%.40s: expected a whole number from %d to %d", name, text, low, high)
	}
	return n, nil
}
