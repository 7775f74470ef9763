package units

import "strconv"

// FormatCount prints n with a comma between groups of three digits: 5,212,345.
func FormatCount(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	out := make([]byte, 0, len(digits)+len(digits)/3)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, digits[i])
	}
	return sign + string(out)
}

// FormatPlural prints n of something: "1 event", "5,212 events".
func FormatPlural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return FormatCount(int64(n)) + " " + many
}

// FormatShare prints part of whole in per cent with one decimal. A part that is there but
// would round to nothing prints as <0.1 %, and one that is not the whole never as 100 %.
func FormatShare(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	p := float64(part) / float64(whole) * 100
	switch {
	case part > 0 && p < 0.05:
		return "<0.1 %"
	case part < whole && p >= 99.95:
		return ">99.9 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}
