package origin

import (
	"path"
	"strings"
)

// Slashes makes a path of any system one with forward slashes: a recording made on
// Windows is read elsewhere too.
func Slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// IsSource tells whether a frame's file can be one on a disk that is worth opening.
func IsSource(name string) bool {
	return !strings.HasPrefix(name, "<") && path.Ext(Slashes(name)) == ".py"
}

// Suffixes returns the ends of a path that a copy of its file may have below another
// folder, longest first: of /srv/proj/a.py these are srv/proj/a.py, proj/a.py and a.py.
func Suffixes(name string) []string {
	var all []string
	rest := strings.TrimLeft(Slashes(name), "/")
	if len(rest) > 1 && rest[1] == ':' { // a drive
		rest = strings.TrimLeft(rest[2:], "/")
	}
	for rest != "" {
		all = append(all, rest)
		_, after, found := strings.Cut(rest, "/")
		if !found {
			break
		}
		rest = after
	}
	return all
}

// Nearest returns which of candidates is most like a frame's file: the one that shares the
// longest end with it, at least its name. ok is false where none does, or two do alike.
func Nearest(name string, candidates []string) (nearest string, ok bool) {
	most := 0
	for _, c := range candidates {
		switch n := sharedEnd(Slashes(name), Slashes(c)); {
		case n > most:
			nearest, most, ok = c, n, true
		case n == most && n > 0:
			ok = false
		}
	}
	return nearest, ok
}

// sharedEnd counts the parts that two paths end in alike.
func sharedEnd(a, b string) int {
	n := 0
	for a != "" && b != "" {
		i, j := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
		if a[i+1:] != b[j+1:] || a[i+1:] == "" {
			return n
		}
		n++
		a, b = a[:max(i, 0)], b[:max(j, 0)]
	}
	return n
}
