package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/conf"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// SettingsEvidence is what the recording, and texts beside it, tell about settings
// beyond the settings themselves. A recording holds neither the memory fraction nor
// the release of PyTorch, so that some settings can be judged by their traces only.
// The zero value is: nothing known.
type SettingsEvidence struct {
	CapacityBytes int64 // of the device; 0 where not known
	LimitBytes    int64 // the memory fraction in bytes, from "X allowed" in a message or inferred from an OOM; 0 where not known
	NoLimit       bool  // it is known that no memory fraction was set

	Collections int // releases of unused segments just before a growth that were no answer to a failed request

	Expandable bool // some segment of the recording is expandable
	Native     bool // some segment is not

	PeakReservedBytes   int64
	OversizeUnusedBytes int64 // free in blocks of at least max_split_size, and so kept from the last smaller request that got a new segment
	FlatGrowthBytes     int64 // by how much reserved grew while the peak of allocated stayed level

	WantedConf string // settings that a text or another rank's recording has where this one has none
}

// Settings judges the settings that a recording was made under: those that do
// nothing, those that do harm, and where what was asked for is not what is in force.
// Findings come in order of severity.
func Settings(s *snapshot.Settings, ev SettingsEvidence) []rules.Finding {
	if s == nil {
		return nil
	}
	c := settingsCheck{s: s, ev: ev}
	if len(s.Conf) > conf.Longest {
		c.add("conf/bad-value", rules.Warning, rules.Low,
			fmt.Sprintf("the settings string has %d bytes and was not read", len(s.Conf)), fmt.Sprintf("it begins with %q", s.Conf[:64]))
		return []rules.Finding{rules.Complete(c.found[0])}
	}
	c.options = conf.Split(s.Conf)
	c.read, c.refused = conf.Read(s.Conf)
	for _, check := range []func(*settingsCheck){
		(*settingsCheck).spelling, (*settingsCheck).repeated, (*settingsCheck).backend,
		(*settingsCheck).ignored, (*settingsCheck).expandable, (*settingsCheck).changed,
		(*settingsCheck).maxSplit, (*settingsCheck).collection, (*settingsCheck).roundup,
		(*settingsCheck).fraction, (*settingsCheck).hostOnly,
	} {
		check(&c)
	}
	for i := range c.found {
		c.found[i] = rules.Complete(c.found[i])
	}
	slices.SortStableFunc(c.found, func(a, b rules.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return c.found
}

// settingsCheck collects the findings about one set of settings.
type settingsCheck struct {
	s       *snapshot.Settings
	ev      SettingsEvidence
	options []conf.Option          // of the settings string
	read    []conf.Reading         // the string as each release reads it that accepts it
	refused *allocator.ConfigError // why none does
	found   []rules.Finding
}

func (c *settingsCheck) add(rule string, severity rules.Severity, confidence rules.Confidence, title string, evidence ...string) *rules.Finding {
	c.found = append(c.found, rules.Finding{
		Rule: rule, Severity: severity, Confidence: confidence, Title: title, Evidence: evidence, Event: -1,
	})
	return &c.found[len(c.found)-1]
}

// value returns the value that the string gives key: the last one counts.
func (c *settingsCheck) value(key string) (string, bool) {
	for _, o := range slices.Backward(c.options) {
		if o.Key == key {
			return o.Value, true
		}
	}
	return "", false
}

// quoted is the settings string as evidence.
func (c *settingsCheck) quoted() string { return fmt.Sprintf("settings string %q", c.s.Conf) }

// spelling finds what no release of PyTorch accepts. A string is refused as a whole
// when PyTorch starts, so a recording has such a one only where it was set later and
// the error caught, or where its PyTorch is newer than those that are known here.
func (c *settingsCheck) spelling() {
	if c.refused == nil {
		return
	}
	before := len(c.found)
	for _, o := range c.options {
		if _, refused := conf.Read(o.Key + ":" + o.Value); refused != nil {
			c.refusedOption(o, refused)
		}
	}
	if len(c.found) == before {
		c.add("conf/bad-value", rules.Warning, rules.High, fmt.Sprintf("PyTorch refuses these settings: %s", c.refused.Reason), c.quoted())
	}
}

func (c *settingsCheck) refusedOption(o conf.Option, refused *allocator.ConfigError) {
	said := fmt.Sprintf("PyTorch %v says: %s", refused.Version, refused.Reason)
	switch key, value, equals := strings.Cut(o.Key, "="); {
	case equals && o.Value == "":
		c.add("conf/bad-value", rules.Warning, rules.High, fmt.Sprintf("%s=%s has to be written %s:%s", key, value, key, value), c.quoted(), said)
	case conf.IsUnknownOption(refused):
		title := fmt.Sprintf("%s is no option of PyTorch up to %v", o.Key, allocator.Newest)
		if near := conf.NearestOption(o.Key); near != "" {
			title += fmt.Sprintf("; %s is", near)
		}
		c.add("conf/unknown-option", rules.Warning, rules.Medium, title, c.quoted(), said,
			"PyTorch refuses a string with an unknown option: what stands behind it need not be in force")
	default:
		c.add("conf/bad-value", rules.Warning, rules.High, fmt.Sprintf("PyTorch refuses %s:%s", o.Key, o.Value), c.quoted(), said)
	}
}

func (c *settingsCheck) repeated() {
	first := map[string]string{}
	for _, o := range c.options {
		if was, again := first[o.Key]; again && was != o.Value {
			last, _ := c.value(o.Key)
			c.add("conf/repeated-option", rules.Info, rules.High,
				fmt.Sprintf("%s is given as %s and again as %s; the last one counts: %s", o.Key, was, o.Value, last), c.quoted())
		}
		first[o.Key] = o.Value
	}
}

func (c *settingsCheck) backend() {
	if v, _ := c.value("backend"); v == "cudaMallocAsync" || v == "hipMallocAsync" {
		c.add("conf/async-backend", rules.Warning, rules.Medium,
			fmt.Sprintf("the settings name backend:%s, which cannot be recorded", v), c.quoted(),
			"the recording has segments of the native allocator, so this string was not in force from the start")
	}
}

// ignored compares with settings that are known from elsewhere.
func (c *settingsCheck) ignored() {
	if c.s.Conf == "" && c.ev.WantedConf != "" && c.isDefault() {
		c.add("conf/ignored-variable", rules.Warning, rules.Medium,
			fmt.Sprintf("settings %q were meant, and none are in force", c.ev.WantedConf),
			"the recording's settings string is empty and all settings have their defaults")
	}
}

func (c *settingsCheck) isDefault() bool {
	return c.s.MaxSplitBytes <= 0 && c.s.GCThreshold == 0 && !c.s.ExpandableSegments && c.s.RoundupDivisions == [16]int{}
}

// expandable compares what was asked for, what is in force and what was recorded.
func (c *settingsCheck) expandable() {
	asked, _ := c.value("expandable_segments")
	inForce := c.s.ExpandableSegments
	switch {
	case asked == "True" && !inForce && !c.ev.Expandable:
		f := c.add("conf/expandable-off", rules.Warning, rules.High,
			"expandable_segments:True was asked for, and is not in force", c.quoted(), "in force at the end of the recording: False")
		if c.ev.Native {
			f.Evidence = append(f.Evidence, "all segments of the recording are native")
		}
	case !inForce && c.ev.Expandable:
		c.changedFinding("expandable segments were on during the recording and are off at its end")
	case inForce && c.ev.Native && c.ev.Expandable:
		c.changedFinding("native and expandable segments stand side by side, so expandable_segments was changed during the run or a pool has an allocator of its own")
	case inForce && asked == "False":
		c.changedFinding("the string says expandable_segments:False, in force is True")
	case inForce && asked == "":
		c.changedFinding("expandable_segments is in force though the string does not name it")
	}
}

func (c *settingsCheck) changedFinding(title string) {
	c.add("conf/changed-at-run-time", rules.Info, rules.Medium, title, c.quoted(),
		"a recording has the settings at its end, not those of its course")
}

// changed compares the other values of the string with those in force.
func (c *settingsCheck) changed() {
	if c.refused != nil {
		return
	}
	if split := max(c.s.MaxSplitBytes, 0); !c.anyReading(func(r conf.Reading) bool { return r.Config.MaxSplitBytes == split }) {
		c.changedValue("max_split_size_mb", mibText(split))
	}
	if !c.anyReading(func(r conf.Reading) bool { return math.Abs(r.Config.GCThreshold-c.s.GCThreshold) < 1e-6 }) {
		c.changedValue("garbage_collection_threshold", shareText(c.s.GCThreshold))
	}
	if !c.anyReading(c.hasTable) {
		c.changedValue("roundup_power2_divisions", fmt.Sprint(c.s.RoundupDivisions))
	}
}

func (c *settingsCheck) anyReading(is func(conf.Reading) bool) bool {
	return slices.ContainsFunc(c.read, is)
}

func (c *settingsCheck) hasTable(r conf.Reading) bool {
	return r.Config.RoundupDivisions == c.s.RoundupDivisions
}

func (c *settingsCheck) changedValue(key, inForce string) {
	if asked, named := c.value(key); named {
		c.changedFinding(fmt.Sprintf("the string says %s:%s, in force is %s", key, asked, inForce))
		return
	}
	c.changedFinding(fmt.Sprintf("%s:%s is in force though the string does not name it", key, inForce))
}

func mibText(sizeBytes int64) string {
	if sizeBytes <= 0 {
		return "no limit"
	}
	return strconv.FormatInt(sizeBytes>>20, 10)
}

func shareText(x float64) string {
	if x == 0 {
		return "off"
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// maxSplit judges a limit on splitting: harmful beside expandable segments, wasteful
// where large free blocks stand unused.
func (c *settingsCheck) maxSplit() {
	limit := c.s.MaxSplitBytes
	if _, named := c.value("max_non_split_rounding_mb"); named && limit <= 0 {
		c.add("conf/inert-non-split-rounding", rules.Info, rules.High,
			"max_non_split_rounding_mb does nothing without max_split_size_mb", c.quoted())
	}
	switch {
	case limit <= 0: // off; a file without the key reads as 0
	case c.s.ExpandableSegments:
		f := c.add("conf/max-split-expandable", rules.Warning, rules.High,
			fmt.Sprintf("max_split_size_mb:%d together with expandable_segments can let reserved memory grow without bound", limit>>20),
			"both are in force at the end of the recording")
		if c.ev.FlatGrowthBytes > 0 {
			f.Bytes = c.ev.FlatGrowthBytes
			f.Evidence = append(f.Evidence, fmt.Sprintf("reserved grew by %s at a level peak of allocated", units.FormatBytes(f.Bytes)))
		}
	case c.ev.OversizeUnusedBytes > 0 && c.ev.OversizeUnusedBytes >= c.ev.PeakReservedBytes/10:
		f := c.add("conf/max-split-waste", rules.Warning, rules.Medium,
			fmt.Sprintf("max_split_size_mb:%d keeps %s of free memory from every request below %d MiB",
				limit>>20, units.FormatBytes(c.ev.OversizeUnusedBytes), limit>>20),
			fmt.Sprintf("reserved reached %s; when it last grew for a request below the limit, %s were free in blocks of at least the limit",
				units.FormatBytes(c.ev.PeakReservedBytes), units.FormatBytes(c.ev.OversizeUnusedBytes)))
		f.Bytes = c.ev.OversizeUnusedBytes
	}
}

// collection judges garbage_collection_threshold, which needs a memory fraction.
func (c *settingsCheck) collection() {
	threshold := c.s.GCThreshold
	if threshold == 0 || c.ev.Collections > 0 || c.limited() {
		return
	}
	title := fmt.Sprintf("garbage_collection_threshold:%s does nothing without a memory fraction", shareText(threshold))
	bound := int64(threshold * float64(c.ev.CapacityBytes))
	switch {
	case c.ev.NoLimit:
		c.add("conf/inert-gc", rules.Info, rules.High, title, "no memory fraction was set")
	case bound > 0 && c.ev.PeakReservedBytes > bound:
		c.add("conf/inert-gc", rules.Info, rules.Medium, title,
			fmt.Sprintf("reserved reached %s, above %s of the device's %s, and nothing was collected before it grew",
				units.FormatBytes(c.ev.PeakReservedBytes), shareText(threshold), units.FormatBytes(c.ev.CapacityBytes)))
	default:
		c.add("conf/inert-gc", rules.Info, rules.Low, title,
			"a recording does not hold the fraction; in this one nothing was ever collected before a growth",
			"if set_per_process_memory_fraction is called, the setting is in use and this does not apply")
	}
}

// limited tells whether a memory fraction is known to be in force.
func (c *settingsCheck) limited() bool {
	return c.ev.LimitBytes > 0 || c.anyReading(func(r conf.Reading) bool { return r.MemoryFraction < 1 })
}

// roundup finds where the divisions in force are not what the list looks like.
func (c *settingsCheck) roundup() {
	asked, named := c.value("roundup_power2_divisions")
	if !named || !c.anyReading(c.hasTable) {
		return
	}
	keys := conf.RoundupKeys(asked)
	newest := c.read[len(c.read)-1]
	switch {
	case len(keys) > 0 && !c.hasTable(newest):
		last := keys[len(keys)-1]
		c.add("conf/roundup-trap", rules.Info, rules.High,
			fmt.Sprintf("the > of roundup_power2_divisions has overwritten the divisions of %s", powerText(last)),
			c.quoted(), fmt.Sprintf("in force there: %d; PyTorch up to 2.8 does this, %v would have %d",
				c.s.RoundupDivisions[last], newest.Version, newest.Config.RoundupDivisions[last]))
	case slices.Max(c.s.RoundupDivisions[:]) <= 1:
		c.add("conf/roundup-trap", rules.Info, rules.High,
			"roundup_power2_divisions with 0 or 1 division rounds to 512 bytes, as without it", c.quoted())
	default:
		c.roundupGaps(keys)
	}
}

func (c *settingsCheck) roundupGaps(keys []int) {
	var names []string
	for _, i := range conf.RoundupGaps(keys, c.s.RoundupDivisions) {
		names = append(names, powerText(i))
	}
	if len(names) > 0 {
		c.add("conf/roundup-trap", rules.Info, rules.High,
			"roundup_power2_divisions leaves sizes between its keys unrounded: from "+strings.Join(names, ", ")+" up to the next power of two", c.quoted())
	}
}

// powerText is the size at which index i of the divisions begins.
func powerText(i int) string { return units.FormatBytes(1 << (20 + i)) }

// fraction tells of a limit in the settings, and of what needs one.
func (c *settingsCheck) fraction() {
	if len(c.read) == 0 {
		return
	}
	newest := c.read[len(c.read)-1]
	if share := newest.MemoryFraction; share < 1 {
		title := fmt.Sprintf("the settings cap the allocator at %s of the device's memory", strconv.FormatFloat(share, 'g', 6, 64))
		if c.ev.CapacityBytes > 0 {
			title += ": " + units.FormatBytes(newest.ForDevice(c.ev.CapacityBytes).LimitBytes)
		}
		c.add("conf/fraction-in-settings", rules.Info, rules.High, title, c.quoted())
	}
	if newest.Config.RejectOverLimit && !c.limited() {
		confidence := rules.Low
		if c.ev.NoLimit {
			confidence = rules.High
		}
		c.add("conf/throw-without-fraction", rules.Info, confidence,
			"throw_on_cudamalloc_oom does nothing without a memory fraction", c.quoted())
	}
}

func (c *settingsCheck) hostOnly() {
	if c.refused != nil {
		return
	}
	var names []string
	for _, o := range c.options {
		if strings.HasPrefix(o.Key, "pinned_") && !slices.Contains(names, o.Key) {
			names = append(names, o.Key)
		}
	}
	if len(names) > 0 {
		c.add("conf/host-option", rules.Info, rules.High,
			strings.Join(names, ", ")+" act on pinned host memory and change nothing on the GPU", c.quoted())
	}
}
