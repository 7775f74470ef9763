package lint

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Threshold is the least severity that is a failure.
type Threshold struct {
	never bool
	least rules.Severity
}

// DefaultThreshold is what counts where nothing is said.
var DefaultThreshold = Threshold{least: rules.Warning}

// ThresholdWords are the values that ParseThreshold takes.
var ThresholdWords = []string{"error", "warning", "info", "never"}

// ParseThreshold reads error, warning, info or never.
func ParseThreshold(word string) (Threshold, error) {
	if word == "never" {
		return Threshold{never: true}, nil
	}
	for _, s := range []rules.Severity{rules.Info, rules.Warning, rules.Error} {
		if s.String() == word {
			return Threshold{least: s}, nil
		}
	}
	return Threshold{}, fmt.Errorf("%.40q is not error, warning, info or never", word)
}

// Reached tells whether a finding of this severity is a failure.
func (t Threshold) Reached(s rules.Severity) bool { return !t.never && s >= t.least }
