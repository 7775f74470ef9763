package analyze

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// The catalogue's remedies are for everyone. Of a run whose settings are known, some ask
// for what is in force already, or to take away what is not set.

// inForce is what is known of settings that remedies speak of.
type inForce struct {
	expandable bool // expandable segments are on
	maxSplit   bool // splitting is limited
	noRoundup  bool // it is known that no divisions are set
}

func settingsInForce(s *snapshot.Settings) inForce {
	if s == nil {
		return inForce{}
	}
	return inForce{expandable: s.ExpandableSegments, maxSplit: s.MaxSplitBytes > 0, noRoundup: s.RoundupDivisions == [16]int{}}
}

// settingsInText reads them from the settings that a text shows. What it does not show
// may be set all the same.
func settingsInText(list []string) inForce {
	var in inForce
	for _, s := range list {
		in.expandable = in.expandable || asksForExpandable(s)
		in.maxSplit = in.maxSplit || strings.Contains(s, "max_split_size_mb:")
	}
	return in
}

// dropMaxSplit is what is left to do where both settings are in force.
var dropMaxSplit = rules.Remedy{
	Do:     "drop `max_split_size_mb`, which is set beside expandable segments",
	Effect: "large free blocks serve smaller requests again",
}

// adapt drops the remedies that the settings leave no sense in. A finding of which one
// asked for expandable segments gets in its place what keeps these from their work.
func (in inForce) adapt(f *rules.Finding) {
	f.Remedies = slices.Clone(f.Remedies) // they may be the catalogue's own
	for k, r := range f.Remedies {
		if in.expandable && in.maxSplit && asksForExpandable(r.Do) {
			f.Remedies[k] = dropMaxSplit
		}
	}
	f.Remedies = slices.DeleteFunc(f.Remedies, func(r rules.Remedy) bool { return r.Do != dropMaxSplit.Do && in.pointless(r.Do) })
}

// pointless tells whether what a remedy asks for is so already.
func (in inForce) pointless(do string) bool {
	instead := strings.HasPrefix(do, "Where expandable segments ") // cannot be used, max_split_size_mb
	return in.expandable && (asksForExpandable(do) || instead) ||
		in.maxSplit && (instead || strings.Contains(do, "set `max_split_size_mb`")) ||
		in.noRoundup && strings.Contains(do, "remove `roundup_power2_divisions`")
}

func asksForExpandable(do string) bool { return strings.Contains(do, "expandable_segments:True") }
