// Package term knows terminals: what a stream can show (colour, width, Unicode),
// and how to lay out tables, trees, bars and progress for it.
//
// Nothing here looks at the process. The environment, the clock and the streams
// come in as values, so that the same input gives the same bytes in a test, in a
// pipe and on every system. The one exception is Probe, which asks the system
// about a stream and is itself passed in by callers.
package term

import "fmt"

// Terminal is what the system says about a stream.
type Terminal struct {
	IsTerminal bool
	Width      int  // columns; 0 where unknown
	ANSI       bool // understands escape sequences (on Windows they have to be switched on)
	UTF8       bool // shows UTF-8 as it is
}

// Look is what to show on a stream: the Terminal, with what the user asked for applied.
type Look struct {
	Terminal bool // a person is watching: progress may be drawn, lines may be cut
	Color    bool
	Unicode  bool // else glyphs fall back to ASCII
	Width    int  // columns to lay out for; 0 means no limit, as in a pipe
}

// defaultWidth is assumed for a terminal that does not tell its width.
const defaultWidth = 80

// Lookup reads an environment variable, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// NewLook decides what to show on t. Of the colour rules the first that speaks wins:
// mode always or never; NO_COLOR with any non-empty value (https://no-color.org);
// CLICOLOR_FORCE or FORCE_COLOR with any non-empty value but 0; TERM=dumb; and then
// whether t is a terminal.
func NewLook(t Terminal, mode ColorMode, env Lookup) Look {
	l := Look{
		Terminal: t.IsTerminal,
		Color:    wantsColor(t, mode, env),
		Unicode:  t.UTF8 && utf8Locale(env),
	}
	if t.IsTerminal {
		l.Width = t.Width
		if l.Width <= 0 {
			l.Width = defaultWidth
		}
	}
	return l
}

func wantsColor(t Terminal, mode ColorMode, env Lookup) bool {
	switch {
	case mode == ColorAlways:
		return true
	case mode == ColorNever, get(env, "NO_COLOR") != "":
		return false
	case forced(env, "CLICOLOR_FORCE"), forced(env, "FORCE_COLOR"):
		return true
	case get(env, "TERM") == "dumb":
		return false
	}
	return t.IsTerminal && t.ANSI
}

// ColorMode is the value of the flag --color.
type ColorMode uint8

// The modes. The zero value is ColorAuto.
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

var colorModes = [...]string{ColorAuto: "auto", ColorAlways: "always", ColorNever: "never"}

// String returns the mode as it is written after --color.
func (m ColorMode) String() string { return colorModes[m] }

// Set parses a mode; with String and Type it makes ColorMode a flag value.
func (m *ColorMode) Set(s string) error {
	for i, name := range colorModes {
		if s == name {
			*m = ColorMode(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of auto, always, never", s)
}

// Type names the kind of value in a usage text.
func (m *ColorMode) Type() string { return "when" }

// Style is how a piece of text stands out. Colour is never the only sign of a meaning.
type Style string

// The styles, as parameters of the escape sequence SGR.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Paint returns text in a style, or as it is where the stream shows no colour.
func (l Look) Paint(s Style, text string) string {
	if !l.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func get(env Lookup, name string) string {
	v, _ := env(name)
	return v
}

func forced(env Lookup, name string) bool {
	v := get(env, name)
	return v != "" && v != "0"
}
