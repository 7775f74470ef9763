package units

import (
	"errors"
	"fmt"
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

// ParseDuration reads what FormatDuration prints and what time.ParseDuration takes, with
// or without spaces: 12.5s, 850 µs, 3 min 04 s, 1h30m. Before it may stand whole days of 24
// hours: 30d, 1d12h. The span is not negative.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "min", "m")
	days, text := cutDays(text)
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 {
		d += days // at most 180 years, and time.ParseDuration takes 292
		if d < 0 {
			err = errors.New("too long")
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a span of time: want a number and a unit, as in 12.5s, 850ms, 1h30m or 30d", s)
	case d < 0:
		return 0, fmt.Errorf("%.40q is not a span of time: it is negative", s)
	}
	return d, nil
}

// cutDays takes whole days off the front of a span; no unit but that of days has a d in it.
func cutDays(text string) (days time.Duration, rest string) {
	before, rest, ok := strings.Cut(text, "d")
	n, err := strconv.ParseUint(before, 10, 16)
	if !ok || err != nil {
		return 0, text
	}
	if rest == "" {
		rest = "0s"
	}
	return time.Duration(n) * 24 * time.Hour, rest
}
