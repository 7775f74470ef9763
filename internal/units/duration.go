package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatDuration prints a span of time for people: 850 µs, 12.50 s, 3 min 04 s, 1 h 02 min.
// Below a minute it keeps two decimals, from there whole seconds, from an hour whole
// minutes; each rounded to nearest.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		if d == -d { // the smallest duration has no positive twin
			d++
		}
		return "-" + FormatDuration(-d)
	}
	if s, ok := formatShort(d); ok {
		return s
	}
	if s := d.Round(time.Second); s < time.Hour {
		return fmt.Sprintf("%d min %02d s", s/time.Minute, s%time.Minute/time.Second)
	}
	m := d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", m/time.Hour, m%time.Hour/time.Minute)
}

// formatShort prints d where it is, after rounding, below a minute.
func formatShort(d time.Duration) (string, bool) {
	if d < time.Microsecond {
		return fmt.Sprintf("%d ns", int64(d)), true
	}
	for _, u := range []struct {
		unit, next time.Duration
		name       string
	}{{time.Microsecond, time.Millisecond, "µs"}, {time.Millisecond, time.Second, "ms"}, {time.Second, time.Minute, "s"}} {
		if r := d.Round(u.unit / 100); r < u.next {
			h := r / (u.unit / 100)
			return fmt.Sprintf("%d.%02d %s", h/100, h%100, u.name), true
		}
	}
	return "", false
}

// LongestDuration is what a time.Duration can hold, in whole days: 292 years.
const LongestDuration = math.MaxInt64 / day * day

const day = 24 * time.Hour

// ErrTooLong is among the errors of ParseDuration where a text is a span of time, and longer than
// LongestDuration.
var ErrTooLong = errors.New("too long")

// ParseDuration reads what FormatDuration prints and what time.ParseDuration takes, with
// or without spaces: 12.5s, 850 µs, 3 min 04 s, 1h30m. Before it may stand whole days of 24
// hours: 30d, 1d12h. The span is not negative.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "min", "m")
	d, err := parseWithDays(text)
	switch {
	case errors.Is(err, ErrTooLong):
		return 0, fmt.Errorf("%.40q is %w: a span of time has at most %dd", s, ErrTooLong, LongestDuration/day)
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a span of time: want a number and a unit, as in 12.5s, 850ms, 1h30m or 30d", s)
	case d < 0:
		return 0, fmt.Errorf("%.40q is not a span of time: it is negative", s)
	}
	return d, nil
}

// parseWithDays reads a span that days may stand before. No unit but that of days has a d in it.
func parseWithDays(text string) (time.Duration, error) {
	before, rest, ok := strings.Cut(text, "d")
	if !ok || before == "" || strings.Trim(before, digits) != "" {
		return parseSpan(text)
	}
	if rest == "" {
		rest = "0s"
	}
	d, err := parseSpan(rest)
	n, tooMany := strconv.ParseInt(before, 10, 64)
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, errors.New("negative")
	case tooMany != nil || n > int64((math.MaxInt64-d)/day):
		return 0, ErrTooLong
	}
	return time.Duration(n)*day + d, nil
}

const digits = "0123456789"

// parseSpan is time.ParseDuration, which has one error for all: what it would read with one digit
// in place of each number is too long.
func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	var short strings.Builder
	for i := range len(text) {
		if digit := strings.IndexByte(digits, text[i]) >= 0; !digit || i == 0 || strings.IndexByte(digits, text[i-1]) < 0 {
			short.WriteByte(text[i])
		}
	}
	if d, again := time.ParseDuration(short.String()); again == nil && d >= 0 {
		err = ErrTooLong
	}
	return 0, err
}
