package viewer

import (
	"errors"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
)

// answerExplain is what `ullage explain --json` has for the device.
func answerExplain(d *Device, _ *query) (any, error) { return report.NewDeviceJSON(d.X), nil }

// ruleJSON is the page of a rule.
type ruleJSON struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"` // Markdown
}

func answerRule(_ *Device, q *query) (any, error) {
	rule, err := rules.Get(q.part("family") + "/" + q.part("name"))
	if unknown := new(rules.UnknownError); errors.As(err, &unknown) {
		return nil, notFoundf("%v", err)
	}
	if err != nil {
		return nil, err
	}
	return ruleJSON{ID: rule.ID, Title: rule.Title, Text: report.RuleMarkdown(rule)}, nil
}
