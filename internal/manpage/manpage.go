// Package manpage writes the manual page of a command. What the page says is what --help
// says: the help text is the one source. The pages lie in docs/man, and a test fails when
// they no longer say the same.
//
// A help text is plain text. Paragraphs are apart by blank lines; a paragraph whose lines
// all begin with two spaces is shown as it is.
package manpage

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a part that every page ends in, before SEE ALSO: a title and a help text.
type Section struct{ Title, Text string }

// Name returns the name of cmd's page, without the number of its chapter: ullage-version.
func Name(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// Write writes the page of cmd in the language of man(7).
func Write(w io.Writer, cmd *cobra.Command, sections ...Section) error {
	var p page
	p.line(".TH %s 1 \"\" ullage \"Ullage manual\"", escape(strings.ToUpper(Name(cmd))))
	p.line(".SH NAME")
	p.line("%s \\- %s", escape(Name(cmd)), escape(lowerFirst(cmd.Short)))
	p.line(".SH SYNOPSIS")
	p.line(".B %s", escape(synopsis(cmd)))
	p.section("DESCRIPTION", longText(cmd))
	p.section("EXAMPLES", cmd.Example)
	p.commands(cmd)
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	for _, s := range sections {
		p.section(s.Title, s.Text)
	}
	p.seeAlso(cmd)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func synopsis(cmd *cobra.Command) string {
	if len(available(cmd)) > 0 {
		return cmd.UseLine() + " command"
	}
	return cmd.UseLine()
}

type page struct{ b strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *page) section(title, text string) {
	if text == "" {
		return
	}
	p.line(".SH %s", title)
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		p.paragraph(paragraph)
	}
}

func (p *page) paragraph(text string) {
	lines := strings.Split(text, "\n")
	literal := !slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "  ") })
	if literal {
		p.line(".nf")
	}
	for _, l := range lines {
		p.line("%s", escape(l))
	}
	if literal {
		p.line(".fi")
	}
}

func (p *page) commands(cmd *cobra.Command) {
	subs := available(cmd)
	if len(subs) == 0 {
		return
	}
	p.line(".SH COMMANDS")
	for _, c := range subs {
		p.line(".TP\n.BR %s (1)\n%s", escape(Name(c)), escape(c.Short))
	}
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		if value != "" {
			value = " \\fI" + escape(value) + "\\fR"
		}
		p.line(".TP\n\\fB%s\\fR%s\n%s%s", escape(head), value, escape(usage), escape(defaultOf(f)))
	})
}

// defaultOf tells a flag's default value, where it says something.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func (p *page) seeAlso(cmd *cobra.Command) {
	var related []*cobra.Command
	if cmd.HasParent() {
		related = append([]*cobra.Command{cmd.Parent()}, available(cmd.Parent())...)
	} else {
		related = available(cmd)
	}
	related = slices.DeleteFunc(related, func(c *cobra.Command) bool { return c == cmd })
	if len(related) == 0 {
		return
	}
	p.line(".SH SEE ALSO")
	for i, c := range related {
		comma := ","
		if i == len(related)-1 {
			comma = ""
		}
		p.line(".BR %s (1)%s", escape(Name(c)), comma)
	}
}

// available returns the commands below cmd that have a page.
func available(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !HasPage(c) })
}

// HasPage tells whether a command has a page: a visible one has, help apart.
func HasPage(cmd *cobra.Command) bool {
	return cmd.IsAvailableCommand() && cmd.Name() != "help"
}

func longText(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// escape keeps text from being read as a request, and a minus from becoming a hyphen,
// which cannot be pasted into a shell.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// lowerFirst puts the first letter in lower case, unless an abbreviation begins there.
func lowerFirst(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
