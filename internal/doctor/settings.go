package doctor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/lint/places"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// The variables that PyTorch's allocator is set by, the one that counts most first.
const (
	oldConf = "PYTORCH_CUDA_ALLOC_CONF"
	hipConf = "PYTORCH_HIP_ALLOC_CONF"
	newConf = "PYTORCH_ALLOC_CONF"

	cachingVariable = "PYTORCH_NO_CUDA_MEMORY_CACHING"
)

var confVariables = []string{oldConf, hipConf, newConf}

// settings judges the allocator's settings: which variable the release reads, what it makes
// of the text, and what does nothing.
func settings(f *Facts) []Check {
	checks := append(f.misspelt(), f.caching()...)
	var given []string
	for _, name := range confVariables {
		if f.isSet(name) {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return append(checks, ok("settings/variable", "no settings of PyTorch's allocator are given: it has its defaults"))
	}
	version, err := allocator.ParseVersion(f.Python.version())
	if err != nil {
		checks = append(checks, unknown("settings/variable", "%s is set; which release of PyTorch reads it is not known", strings.Join(given, " and ")))
		version = allocator.Newest
	} else {
		checks = append(checks, f.confVariable(given, version)...)
	}
	name := f.confInForce(given, version)
	if name == "" {
		return checks
	}
	checks = append(checks, f.confOptions(name, version, err == nil)...)
	return append(checks, f.inForce(name, version)...)
}

// misspelt finds variables that look like one that counts, and that nothing reads.
func (f *Facts) misspelt() (checks []Check) {
	for _, name := range f.Names {
		for _, fault := range places.Variable(name, "") {
			if fault.Rule == "conf/ignored-variable" {
				checks = append(checks, found("settings/variable", Warning, fault.Message, "It is passed over without a word.", fault.Remedy))
			}
		}
	}
	return checks
}

// confInForce returns the variable that a release takes its settings from; "" where it reads
// none of those that are set.
func (f *Facts) confInForce(given []string, v allocator.Version) string {
	switch {
	case v.AtLeast(2, 9):
		return given[0]
	case slices.Contains(given, oldConf):
		return oldConf
	case slices.Contains(given, hipConf) && f.Python.hip() != "":
		return hipConf
	}
	return ""
}

// confVariable judges which of the variables counts. 2.9 brought the new name, and passes
// over expandable_segments in it (pytorch#183387, seen with 2.9.1; of 2.10 nothing is known).
func (f *Facts) confVariable(given []string, v allocator.Version) []Check {
	const id = "settings/variable"
	used := f.confInForce(given, v)
	asks := func(name string) bool { return strings.Contains(f.Env[name], "expandable_segments:True") }
	switch {
	case used == "":
		return []Check{found(id, Problem, fmt.Sprintf("PyTorch %v does not know %s", v, strings.Join(given, " or ")),
			"It is passed over without a word: the allocator has its defaults. The name came with 2.9.",
			fmt.Sprintf("export %s=%s", oldConf, f.Env[given[0]]))}
	case len(given) > 1 && f.Env[given[0]] != f.Env[given[1]]:
		return []Check{found(id, Warning, fmt.Sprintf("%s are set, and say different things", strings.Join(given, " and ")),
			fmt.Sprintf("PyTorch %v takes %s, also where it is empty, and passes over the other without a word.", v, used), "unset the other")}
	case used == newConf && asks(newConf) && !v.AtLeast(2, 11):
		return []Check{found(id, Warning, fmt.Sprintf("PyTorch %v may pass over expandable_segments in %s", v, newConf),
			"2.9.1 does, though it reads the other options there (pytorch#183387); 2.11 does not.",
			fmt.Sprintf("export %s=%s", oldConf, f.Env[newConf]))}
	}
	return []Check{ok(id, "PyTorch %v takes its settings from %s", v, used)}
}

// confOptions judges the text: whether the release accepts it, and what in it does nothing.
func (f *Facts) confOptions(name string, v allocator.Version, known bool) []Check {
	const id = "settings/options"
	conf := f.Env[name]
	parsed, err := allocator.ParseConfig(v, conf)
	var refused *allocator.ConfigError
	switch {
	case errors.As(err, &refused) && known:
		c := found(id, Problem, fmt.Sprintf("%s=%s: %v", name, conf, refused), "The first use of CUDA ends with that error.", f.confAdvice(conf)...)
		if v.AtLeast(allocator.Newest.Major, allocator.Newest.Minor+1) {
			c.State, c.Seen = Warning, fmt.Sprintf("%s=%s: PyTorch up to %v refuses it: %s", name, conf, allocator.Newest, refused.Reason)
			c.Means = fmt.Sprintf("PyTorch %v is newer than what is known here, and may know the option.", v)
		}
		return []Check{c}
	case err != nil:
		return []Check{unknown(id, "%s=%s: %v", name, conf, err)}
	}
	if strings.TrimSpace(conf) == "" {
		return []Check{ok(id, "%s is set to nothing: the allocator has its defaults", name)}
	}
	checks := []Check{}
	for _, w := range parsed.Warnings {
		checks = append(checks, found(id, Warning, fmt.Sprintf("%s=%s: PyTorch warns: %s", name, conf, strings.TrimSuffix(w, ".")), ""))
	}
	for _, finding := range judged(conf, parsed) {
		checks = append(checks, fromFinding(id, finding))
	}
	if len(checks) == 0 {
		checks = append(checks, ok(id, "%s=%s is understood, and each option does something", name, conf))
	}
	return checks
}

// judged has settings judged as those of a recording are, from the text alone: what only a
// recording could show (waste, growth, collections) is not in it.
func judged(conf string, parsed *allocator.Settings) []rules.Finding {
	return analyze.Settings(&snapshot.Settings{
		Conf:               conf,
		MaxSplitBytes:      parsed.Config.MaxSplitBytes,
		GCThreshold:        parsed.Config.GCThreshold,
		ExpandableSegments: parsed.Config.Expandable,
		RoundupDivisions:   parsed.Config.RoundupDivisions,
	}, analyze.SettingsEvidence{})
}

// fromFinding makes a check of a finding. Its evidence speaks of recordings, and is left out.
func fromFinding(id string, finding rules.Finding) Check {
	c := Check{ID: id, State: Note, Seen: finding.Title, Means: "See 'ullage rules " + finding.Rule + "'.", Rule: finding.Rule}
	if finding.Severity >= rules.Warning {
		c.State = Warning
	}
	for _, r := range finding.Remedies {
		c.Do = append(c.Do, instruction(r.Do))
	}
	return c
}

// instruction writes a rule's remedy as those here are written.
func instruction(text string) string {
	text = strings.TrimSuffix(text, ".")
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// confAdvice says what to write where a release refuses a text: since when it would do, or
// what was meant.
func (f *Facts) confAdvice(conf string) (do []string) {
	for minor := range allocator.Newest.Minor + 1 {
		v := allocator.Version{Major: allocator.Newest.Major, Minor: minor}
		if _, err := allocator.ParseConfig(v, conf); err == nil {
			return []string{fmt.Sprintf("PyTorch %v accepts it: take that release, or leave the option out", v)}
		}
	}
	for _, finding := range analyze.Settings(&snapshot.Settings{Conf: conf}, analyze.SettingsEvidence{}) {
		if finding.Rule == "conf/unknown-option" || finding.Rule == "conf/bad-value" {
			do = append(do, finding.Title)
		}
	}
	return do
}

// inForce compares what PyTorch says that it has with what it was asked for.
func (f *Facts) inForce(name string, v allocator.Version) []Check {
	const id = "settings/in-force"
	s := f.Python.Settings
	if s == nil || s.Error != "" || !f.Probe.Here {
		return nil
	}
	parsed, err := allocator.ParseConfig(v, f.Env[name])
	if err != nil {
		return nil
	}
	var off []string
	if s.Backend != "" && s.Backend != parsed.Backend {
		off = append(off, fmt.Sprintf("backend is %s", s.Backend))
	}
	if has := s.Settings; has != nil {
		if parsed.Config.Expandable != has.Expandable {
			off = append(off, fmt.Sprintf("expandable_segments is %s", onOff(has.Expandable)))
		}
		if parsed.Config.MaxSplitBytes != max(has.MaxSplitBytes, 0) {
			off = append(off, fmt.Sprintf("max_split_size_mb is %d", max(has.MaxSplitBytes, 0)>>20))
		}
		if math.Abs(parsed.Config.GCThreshold-has.GCThreshold) > 1e-6 {
			off = append(off, fmt.Sprintf("garbage_collection_threshold is %g", has.GCThreshold))
		}
	}
	switch {
	case len(off) > 0:
		return []Check{found(id, Problem, fmt.Sprintf("%s=%s is not what is in force: %s", name, f.Env[name], strings.Join(off, ", ")),
			"PyTorch was asked, in a fresh process. It says nothing when it passes over an option.", "set "+oldConf+", the name that every release reads")}
	case s.Settings == nil:
		return []Check{ok(id, "PyTorch has backend %s in force", s.Backend)}
	}
	return []Check{ok(id, "PyTorch has them in force (asked in a fresh process)")}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// caching judges the variable that turns the caching allocator off. Up to 2.6 that it is set
// is enough, whatever to; since 2.7 only 1 does it (pytorch#145905; seen so with 2.11).
func (f *Facts) caching() []Check {
	const id, name = "settings/caching", cachingVariable
	value, set := f.Env[name]
	if !set {
		return nil
	}
	said := name + "=" + value
	version, err := allocator.ParseVersion(f.Python.version())
	anything := err == nil && !version.AtLeast(2, 7)
	const means = "Every tensor is a call of the driver, which is many times slower and saves little; statistics are empty and nothing can be recorded."
	switch {
	case value == "1":
		return []Check{found(id, Warning, said+" turns PyTorch's caching allocator off", means, "unset "+name)}
	case anything:
		return []Check{found(id, Warning, fmt.Sprintf("%s turns the caching allocator of PyTorch %v off, though it looks as if it did not", said, version),
			"Up to 2.6 it is enough that the variable is set. "+means, "unset "+name)}
	case err != nil:
		return []Check{found(id, Note, said+" turns the caching allocator of PyTorch up to 2.6 off", "Since 2.7 only 1 does. Which release is meant is not known.", "unset "+name)}
	}
	return []Check{ok(id, "%s does nothing: PyTorch %v takes 1 alone", said, version)}
}
