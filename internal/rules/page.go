package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sections are the headings of a page, in the order in which they must stand.
var sections = []string{"How it shows", "Why it happens", "How to confirm", "What to change", "Causes it fits", "Sources"}

// required are those that no page can do without.
var required = sections[:4]

var (
	idForm   = regexp.MustCompile(`^[a-z]+/[a-z0-9]+(-[a-z0-9]+)*$`)
	ruleLink = regexp.MustCompile(`\[([a-z]+/[a-z0-9-]+)\]\(([^)]*)\)`)
)

// parsePage reads a page in the form that docs/rules/README.md describes.
func parsePage(id, text string) (*Rule, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n") // a checkout on Windows may have translated the line ends
	front, body, err := cutFront(text)
	if err != nil {
		return nil, err
	}
	r := &Rule{ID: id}
	if !idForm.MatchString(id) || !slices.Contains(families, r.Family()) {
		return nil, fmt.Errorf("%q is no id: want family/name with a family of %s", id, strings.Join(families, ", "))
	}
	if err := r.readFront(front); err != nil {
		return nil, err
	}
	return r, r.readBody(body)
}

func cutFront(text string) (front, body string, err error) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if ok {
		front, body, ok = strings.Cut(rest, "\n---\n")
	}
	if !ok {
		return "", "", fmt.Errorf("no front matter: want lines of key: value between two lines of ---")
	}
	return front, body, nil
}

func (r *Rule) readFront(front string) error {
	for line := range strings.SplitSeq(front, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "kind":
			r.Kind = Kind(value)
		case "root":
			r.Root = Root(value)
		case "signals":
			for _, s := range list(value) {
				r.Signals = append(r.Signals, Signal(s))
			}
		case "found-by":
			r.FoundBy = list(value)
		case "applies":
			r.Applies = value
		default:
			return fmt.Errorf("front matter: unknown key %q", key)
		}
	}
	return r.checkFront()
}

func (r *Rule) checkFront() error {
	if r.Kind != Symptom && r.Kind != Cause {
		return fmt.Errorf("front matter: kind %q, want symptom or cause", r.Kind)
	}
	if !slices.Contains([]Root{NoRoot, References, Graphs, AsyncFrees, Replicas, ThirdParties}, r.Root) {
		return fmt.Errorf("front matter: unknown root %q", r.Root)
	}
	if len(r.Signals) == 0 {
		return fmt.Errorf("front matter: no signals")
	}
	for _, s := range r.Signals {
		if !slices.Contains([]Signal{Static, Recording, Text, Live}, s) {
			return fmt.Errorf("front matter: unknown signal %q", s)
		}
	}
	return nil
}

func list(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (r *Rule) readBody(body string) error {
	head, rest, _ := strings.Cut(strings.TrimSpace(body), "\n")
	title, ok := strings.CutPrefix(head, "# "+r.ID+": ")
	if !ok {
		return fmt.Errorf("first line %q, want %q and the title", head, "# "+r.ID+": ")
	}
	r.Title = title
	parts := strings.Split("\n"+rest, "\n## ")
	r.Summary = oneLine(parts[0])
	if r.Summary == "" {
		return fmt.Errorf("no summary below the title")
	}
	texts, err := readSections(parts[1:])
	if err != nil {
		return err
	}
	r.Shows, r.Why, r.Confirm, r.Change = texts[sections[0]], texts[sections[1]], texts[sections[2]], texts[sections[3]]
	r.Fits = texts[sections[4]]
	r.Sources = bullets(texts[sections[5]])
	return r.readLists()
}

func readSections(parts []string) (map[string]string, error) {
	texts := map[string]string{}
	last := -1
	for _, part := range parts {
		heading, text, _ := strings.Cut(part, "\n")
		i := slices.Index(sections, heading)
		if i < 0 {
			return nil, fmt.Errorf("unknown section %q", heading)
		}
		if i <= last {
			return nil, fmt.Errorf("section %q stands after %q", heading, sections[last])
		}
		last = i
		if texts[heading] = strings.TrimSpace(text); texts[heading] == "" {
			return nil, fmt.Errorf("section %q is empty", heading)
		}
	}
	for _, heading := range required {
		if texts[heading] == "" {
			return nil, fmt.Errorf("section %q is missing", heading)
		}
	}
	return texts, nil
}

// readLists takes the remedies and the causes out of their sections.
func (r *Rule) readLists() error {
	for _, item := range bullets(r.Change) {
		do, effect, _ := strings.Cut(item, " → ")
		r.Remedies = append(r.Remedies, Remedy{Do: do, Effect: effect})
	}
	if len(r.Remedies) == 0 {
		return fmt.Errorf("section %q has no list of what to do", "What to change")
	}
	for _, item := range bullets(r.Fits) {
		link := ruleLink.FindStringSubmatch(item)
		if link == nil {
			return fmt.Errorf("section %q: %q does not start with a link to a rule", "Causes it fits", item)
		}
		r.Causes = append(r.Causes, link[1])
	}
	return nil
}

// bullets returns the items of the lists in text, each on one line. Code is no list.
func bullets(text string) []string {
	var items []string
	var open, code bool
	for line := range strings.SplitSeq(text, "\n") {
		item, starts := strings.CutPrefix(line, "- ")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		switch {
		case code:
			open = false
		case starts:
			items = append(items, item)
			open = true
		case open && strings.HasPrefix(line, "  "):
			items[len(items)-1] += " " + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	return items
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
