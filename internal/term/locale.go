package term

import "strings"

// utf8Locale tells whether the locale allows UTF-8. The first of the three variables
// that is set decides, as in POSIX; where none is set, as in most containers and on
// Windows, UTF-8 is assumed.
func utf8Locale(env Lookup) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := get(env, name); v != "" {
			return isUTF8(v)
		}
	}
	return true
}

// isUTF8 reads the codeset of a locale such as en_GB.UTF-8@euro. A locale without one
// (de_DE, macOS's bare UTF-8 apart) is taken as UTF-8, save C and POSIX, which are ASCII.
func isUTF8(locale string) bool {
	if locale == "C" || locale == "POSIX" {
		return false
	}
	_, codeset, found := strings.Cut(locale, ".")
	if !found {
		return true
	}
	codeset, _, _ = strings.Cut(codeset, "@")
	codeset = strings.ReplaceAll(strings.ToLower(codeset), "-", "")
	return codeset == "utf8"
}
