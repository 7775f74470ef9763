package settings

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/tomlfile"
	"github.com/ullage-dev/ullage/internal/units"
)

// target is where a value goes. A value of the file has TOML's type; the environment and flags
// give texts.
type target interface {
	set(v any) error         // from the file
	parse(text string) error // from the environment or a flag
	show() string            // as the file would have it; empty where it is not set
}

// form is a target whose value is a text in the file.
type form[T any] struct {
	to     *T
	want   string // "expected …"
	read   func(string) (T, error)
	printT func(T) string
}

func (f form[T]) set(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("expected %s in quotes, found %s", f.want, tomlfile.TypeOf(v))
	}
	return f.parse(text)
}

func (f form[T]) parse(text string) error {
	v, err := f.read(text)
	if err != nil {
		return err
	}
	*f.to = v
	return nil
}

func (f form[T]) show() string { return f.printT(*f.to) }

func text(to *string, check func(string) error) target {
	return form[string]{to, "a text", func(s string) (string, error) { return s, check(s) }, quote}
}

// quote writes a text as TOML does. JSON's escapes are among TOML's.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a text can be written
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func span(to *time.Duration, low, high time.Duration) target {
	return form[time.Duration]{to, `a span of time, as "30s"`, spanReader(low, high), func(d time.Duration) string { return quote(shortSpan(d)) }}
}

// spanMS is a span that is kept in milliseconds, as leases have it; 0 is none.
func spanMS(to *int64, low, high time.Duration) target {
	read := spanReader(low, high)
	return form[int64]{
		to, `a span of time, as "10m"`,
		func(s string) (int64, error) {
			d, err := read(s)
			return d.Milliseconds(), err
		},
		func(ms int64) string {
			if ms == 0 {
				return ""
			}
			return quote(shortSpan(time.Duration(ms) * time.Millisecond))
		},
	}
}

func spanReader(low, high time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := units.ParseDuration(s)
		if err == nil && (d < low || d > high) {
			err = fmt.Errorf("%s is out of bounds: expected %s to %s", shortSpan(d), shortSpan(low), shortSpan(high))
		}
		return d.Truncate(time.Millisecond), err
	}
}

// shortSpan prints a span exactly, in the form that people type: 90s is 1m30s, 48h is 2d.
func shortSpan(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// size is an amount of memory; 0 is none.
func size(to *int64, low, high int64) target {
	read := func(s string) (int64, error) {
		n, err := units.ParseBytes(s)
		if err == nil && (n < low || n > high) {
			err = fmt.Errorf("%s is out of bounds: expected %s to %s", units.FormatBytes(n), units.FormatBytes(low), units.FormatBytes(high))
		}
		return n, err
	}
	return form[int64]{to, `an amount of memory, as "24GiB"`, read, func(n int64) string {
		if n == 0 && low > 0 {
			return ""
		}
		return quote(exactBytes(n))
	}}
}

// exactBytes prints an amount in the largest unit that it is a whole number of.
func exactBytes(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{units.TiB, "TiB"}, {units.GiB, "GiB"}, {units.MiB, "MiB"}, {units.KiB, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

func choice(to *Action, which ...Action) target {
	read := func(s string) (Action, error) {
		if a := Action(s); slices.Contains(which, a) {
			return a, nil
		}
		words := make([]string, len(which))
		for i, a := range which {
			words[i] = string(a)
		}
		return "", fmt.Errorf("%.40q: expected one of %s", s, strings.Join(words, ", "))
	}
	return form[Action]{to, "a word", read, func(a Action) string { return quote(string(a)) }}
}

// level is how much is logged.
type level struct{ to *slog.Level }

func (l level) set(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("expected a word in quotes, found %s", tomlfile.TypeOf(v))
	}
	return l.parse(text)
}

func (l level) parse(text string) error {
	for _, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(text, at.String()) {
			*l.to = at
			return nil
		}
	}
	return fmt.Errorf("%.40q: expected debug, info, warn or error", text)
}

func (l level) show() string { return quote(strings.ToLower(l.to.String())) }

// number is a target for a whole number.
type number[T int | int64] struct {
	to        *T
	low, high int64
}

func count[T int | int64](to *T, low, high int64) target { return number[T]{to, low, high} }

func (n number[T]) set(v any) error {
	i, ok := v.(int64)
	if !ok {
		return fmt.Errorf("expected a whole number, found %s", tomlfile.TypeOf(v))
	}
	if i < n.low || i > n.high {
		return fmt.Errorf("%d is out of bounds: expected %d to %d", i, n.low, n.high)
	}
	*n.to = T(i)
	return nil
}

func (n number[T]) parse(text string) error {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a whole number", text)
	}
	return n.set(i)
}

func (n number[T]) show() string {
	if *n.to == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n.to), 10)
}

// flag is a target for true and false.
type flag struct{ to *bool }

func (f flag) set(v any) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("expected true or false, found %s", tomlfile.TypeOf(v))
	}
	*f.to = b
	return nil
}

func (f flag) parse(text string) error {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%.40q: expected true or false", text)
	}
	*f.to = b
	return nil
}

func (f flag) show() string { return strconv.FormatBool(*f.to) }

// list is a target for names.
type list struct{ to *[]string }

func (l list) set(v any) error {
	all, ok := v.([]any)
	if !ok {
		return fmt.Errorf(`expected a list of names, as ["ann", "bob"], found %s`, tomlfile.TypeOf(v))
	}
	names := make([]string, len(all))
	for i, v := range all {
		if err := text(&names[i], nameText).set(v); err != nil {
			return err
		}
	}
	*l.to = names
	return nil
}

func (l list) parse(text string) error {
	var all []any
	for _, name := range strings.Split(text, ",") {
		all = append(all, strings.TrimSpace(name))
	}
	return l.set(all)
}

func (l list) show() string {
	if len(*l.to) == 0 {
		return ""
	}
	quoted := make([]string, len(*l.to))
	for i, name := range *l.to {
		quoted[i] = quote(name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func nameText(s string) error {
	if s == "" {
		return fmt.Errorf("a name is empty")
	}
	return anyText(s)
}
