package viewer

import (
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
)

// compareJSON is what changed from one device's recording to another's, as explain
// --against has it.
type compareJSON struct {
	Totals     compareTotals           `json:"totals"`
	Settings   []analyze.SettingChange `json:"settings"`
	Sites      []compareSite           `json:"sites"` // the largest change first; sites without one are not listed
	Same       int                     `json:"same"`  // sites that hold as much as before
	Categories []compareCategory       `json:"categories"`
}

type compareTotals struct {
	Before analyze.DiffTotals `json:"before"`
	After  analyze.DiffTotals `json:"after"`
}

type compareSite struct {
	Site         string           `json:"site"`
	BeforeSite   string           `json:"before_site"` // what it was called before, where its line has moved; else ""
	Category     analyze.Category `json:"category"`
	BeforeBytes  int64            `json:"before_bytes"`
	AfterBytes   int64            `json:"after_bytes"`
	ChangeBytes  int64            `json:"change_bytes"`
	BeforeBlocks int              `json:"before_blocks"`
	AfterBlocks  int              `json:"after_blocks"`
	Change       analyze.Change   `json:"change"`
}

type compareCategory struct {
	Category    analyze.Category `json:"category"`
	BeforeBytes int64            `json:"before_bytes"`
	AfterBytes  int64            `json:"after_bytes"`
	ChangeBytes int64            `json:"change_bytes"`
}

// answerCompare compares two devices at a moment of each.
func answerCompare(s *session, q *query) (any, error) {
	a, b := q.device(s, "a"), q.device(s, "b")
	if q.err != nil {
		return nil, q.err
	}
	before := analyze.DiffSide{TL: a.TL, Sites: a.Sites, Event: q.event("at_a", a, a.TL.Peak.Allocated.Event)}
	after := analyze.DiffSide{TL: b.TL, Sites: b.Sites, Event: q.event("at_b", b, b.TL.Peak.Allocated.Event)}
	if q.err != nil {
		return nil, q.err
	}
	return newCompareJSON(analyze.Diff(before, after, -1)), nil
}

func newCompareJSON(r *analyze.DiffReport) *compareJSON {
	j := &compareJSON{
		Totals: compareTotals{r.Before, r.After}, Settings: append([]analyze.SettingChange{}, r.Settings...),
		Sites: []compareSite{}, Same: r.Same, Categories: []compareCategory{},
	}
	for i := range r.Changed {
		c := &r.Changed[i]
		j.Sites = append(j.Sites, compareSite{
			c.Name, c.BeforeName, c.Category, c.BeforeBytes, c.AfterBytes, c.DeltaBytes(), c.BeforeBlocks, c.AfterBlocks, c.Change,
		})
	}
	for _, c := range r.Categories {
		j.Categories = append(j.Categories, compareCategory{c.Category, c.BeforeBytes, c.AfterBytes, c.AfterBytes - c.BeforeBytes})
	}
	return j
}

// device returns the device that a parameter names, "ID/DEV".
func (q *query) device(s *session, name string) *Device {
	text := q.text(name)
	id, number, ok := strings.Cut(text, "/")
	dev, err := strconv.Atoi(number)
	if !ok || err != nil || dev < 0 || strconv.Itoa(dev) != number {
		q.fail(badRequestf("%s=%.80q is not a recording and a device of it, as ID/0", name, text))
		return nil
	}
	d, err := s.device(id, dev)
	if err != nil {
		q.fail(err)
	}
	return d
}
