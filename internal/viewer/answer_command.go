package viewer

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// commandJSON is the command that prints the numbers of a view.
type commandJSON struct {
	Command string `json:"command"`
}

// views are the page's views.
var views = []string{"timeline", "map", "moment", "flame", "tables", "findings", "compare", "tune"}

// answerCommand answers with a command. Where none prints what a view shows, that is an
// error which says so: a command that prints other numbers would be worse than none.
func answerCommand(s *session, q *query) (any, error) {
	d := q.device(s, "device")
	if q.err != nil {
		return nil, q.err
	}
	c := &commandLine{d: d, s: s, q: q}
	args := c.view(q.word("view", views...))
	if q.err != nil {
		return nil, q.err
	}
	return commandJSON{"ullage " + strings.Join(args, " ")}, nil
}

// commandLine puts a command together.
type commandLine struct {
	d *Device
	s *session
	q *query
}

// none tells that no command prints what was asked for.
func (c *commandLine) none(format string, args ...any) []string {
	c.q.fail(notFoundf("no command prints this: %s", fmt.Sprintf(format, args...)))
	return nil
}

// view returns the arguments for a view, by the parameters that the view's own question has.
func (c *commandLine) view(name string) []string {
	switch name {
	case "flame":
		return c.flame()
	case "tables":
		return c.tables()
	case "findings":
		return c.explain()
	case "tune":
		if c.d.TL.Dev.Kind != snapshot.GPU {
			return c.none("tune replays GPUs only")
		}
		return c.about(c.d, "tune")
	case "compare":
		return c.compare()
	}
	args := c.at("event")
	switch by := c.q.word("by", groupingNames[:]...); by {
	case "site":
		args = append(args, "--by", "line")
	case "category", "module":
		args = append(args, "--by", by)
	}
	return c.explain(args...)
}

// at returns the flag for the event that a parameter names, or none where it is the peak.
func (c *commandLine) at(name string) []string {
	if !c.q.has(name) {
		return nil
	}
	event := c.q.event(name, c.d, -1)
	if event < 0 {
		return c.none("they begin with the first event")
	}
	return []string{"--at", fmt.Sprintf("e%d", event)}
}

func (c *commandLine) flame() []string {
	if c.q.has("from") || c.q.has("to") {
		c.q.event("from", c.d, -1)
		c.q.event("to", c.d, -1)
		return c.none("explain sums up what is live, not what was allocated in a range")
	}
	by := "tree"
	if c.q.flag("invert", false) {
		by = "stack"
	}
	return c.explain(append(c.at("event"), "--by", by, "--top", "-1")...)
}

func (c *commandLine) tables() []string {
	what := c.q.word("what", "blocks", "sites", "segments", "events")
	narrowed := c.q.text("q") != "" || c.q.text("range") != ""
	c.q.text("sort")
	args := c.at("event")
	switch {
	case what == "blocks" && c.d.Argument != "":
		return c.none("explain sums blocks up; '%s' does so by stack", "ullage "+strings.Join(c.explain(append(args, "--by", "stack", "--top", "-1")...), " "))
	case what != "sites":
		return c.none("explain has no list of single %s", what)
	case narrowed:
		return c.none("explain lists all sites; take the query and the range away")
	}
	return c.explain(append(args, "--by", "line", "--top", "-1")...)
}

func (c *commandLine) compare() []string {
	other := c.q.device(c.s, "other")
	if c.q.err != nil {
		return nil
	}
	a := c.q.event("at_a", c.d, c.d.TL.Peak.Allocated.Event)
	b := c.q.event("at_b", other, other.TL.Peak.Allocated.Event)
	var args []string
	switch peaks := a == c.d.TL.Peak.Allocated.Event && b == other.TL.Peak.Allocated.Event; {
	case other.Argument == "":
		return c.none("there is no file to name")
	case !peaks && (a != b || a < 0):
		return c.none("explain --against takes both at their peaks, or both at the same event")
	case !peaks:
		args = []string{"--at", fmt.Sprintf("e%d", a)}
	}
	if c.d.flag() != other.flag() {
		return c.none("explain --against compares devices of the same number")
	}
	return c.about(other, append([]string{"explain", "--against", c.d.Argument}, args...)...)
}

// explain returns a command that explains the device.
func (c *commandLine) explain(flags ...string) []string {
	return c.about(c.d, append([]string{"explain"}, flags...)...)
}

// about ends a command: with which device of the file it is about, and the file.
func (c *commandLine) about(d *Device, args ...string) []string {
	if d.Argument == "" {
		return c.none("there is no file to name: it came from standard input, or its name is left out")
	}
	flag := d.flag()
	if flag == hostAmongOthers {
		return c.none("--device names GPUs, and this is pinned host memory")
	}
	if flag != "" {
		args = append(args, flag)
	}
	return append(args, d.Argument)
}

// hostAmongOthers stands for a device that no flag chooses.
const hostAmongOthers = "host"

// flag is what chooses the device among those of its file, "" where it is the only one.
func (d *Device) flag() string {
	switch {
	case len(d.Rec.Devices) == 1:
		return ""
	case d.TL.Dev.Kind != snapshot.GPU:
		return hostAmongOthers
	}
	return fmt.Sprintf("--device=%d", d.TL.Dev.Index)
}
