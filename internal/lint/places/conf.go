package places

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/conf"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// Conf judges a settings string of PyTorch's allocator as every known release reads it.
// Where releases differ, the fault says which. A value that is only made when the program
// runs, as "max_split_size_mb:$SIZE", has none.
func Conf(value string) []Fault { return confAt(value, nil) }

// ConfMistakes is Conf for those who put what it finds into a source of their own: offsets
// are those of the value.
func ConfMistakes(value string) []rules.Mistake {
	var all []rules.Mistake
	for _, f := range Conf(value) {
		all = append(all, f.mistake(span{f.Start, f.End}))
	}
	return all
}

// confAt judges a settings string for a release, or where that is nil for all.
func confAt(value string, release *allocator.Version) []Fault {
	if len(value) > conf.Longest || isTemplate(value) {
		return nil
	}
	c := confCheck{release: release}
	inner, shift := c.quotes(value)
	c.options = conf.Split(inner)
	c.releases = conf.ByRelease(inner)
	c.accepted, c.refused = conf.Read(inner)
	for _, check := range []func(*confCheck){
		(*confCheck).spelling, (*confCheck).repeated, (*confCheck).backend, (*confCheck).maxSplit,
		(*confCheck).roundup, (*confCheck).limits, (*confCheck).hostOnly,
	} {
		before := len(c.found)
		check(&c)
		for i := before; i < len(c.found); i++ {
			c.found[i].Start += shift
			c.found[i].End += shift
		}
	}
	return c.found
}

// isTemplate tells whether something else is put into the value before PyTorch sees it, or
// it is one that a reader is to replace.
func isTemplate(value string) bool {
	return strings.ContainsAny(value, "$`{}<%") || strings.Contains(value, "...")
}

// confCheck judges one settings string.
type confCheck struct {
	release  *allocator.Version // that reads the string; nil where it is not known
	options  []conf.Option
	releases []conf.Reading         // the string as each release reads it
	accepted []conf.Reading         // those that take it
	refused  *allocator.ConfigError // why none does
	found    faults
}

// option returns the last option of the name: it is the one that counts.
func (c *confCheck) option(key string) *conf.Option {
	for i := range slices.Backward(c.options) {
		if c.options[i].Key == key {
			return &c.options[i]
		}
	}
	return nil
}

// newest is the string as the newest release reads it, or nil where that refuses it.
func (c *confCheck) newest() *conf.Reading {
	if last := &c.releases[len(c.releases)-1]; last.Refused == nil {
		return last
	}
	return nil
}

// quotes finds quotes around the whole value, which belong to it by now: who reads a
// script has taken off those that were meant for the shell. It returns what is within.
func (c *confCheck) quotes(value string) (inner string, shift int) {
	s := strings.TrimSpace(value)
	if len(s) < 2 || s[0] != '"' && s[0] != '\'' || s[len(s)-1] != s[0] {
		return value, 0
	}
	c.found.add("conf/bad-value", rules.Error, rules.High, "the quotes are part of the value %s, and PyTorch refuses it", value).
		because("no option begins with a quote; PyTorch raises an error when it first uses CUDA").
		at(0, len(value)).do("take off the quotes that reach PyTorch: %s", s[1:len(s)-1])
	return s[1 : len(s)-1], strings.Index(value, s) + 1
}

// spelling finds what some or all releases refuse.
func (c *confCheck) spelling() {
	before := len(c.found)
	for i := range c.options {
		c.optionSpelling(&c.options[i])
	}
	if c.refused != nil && len(c.found) == before && len(c.options) > 0 {
		c.found.add("conf/bad-value", rules.Error, rules.High, "PyTorch refuses these settings: %s", c.refused.Reason).
			because("PyTorch raises an error when it first uses CUDA").
			at(c.options[0].Start, c.options[len(c.options)-1].End).do("write key:value pairs with commas between them")
	}
}

func (c *confCheck) optionSpelling(o *conf.Option) {
	releases := conf.ByRelease(o.Key + ":" + o.Value)
	var refused, accepted []allocator.Version
	var last *allocator.ConfigError
	for _, r := range releases {
		if r.Refused == nil {
			accepted = append(accepted, r.Version)
			continue
		}
		refused, last = append(refused, r.Version), r.Refused
	}
	switch {
	case len(refused) == 0:
	case len(accepted) == 0:
		c.refusedOption(o, last)
	case c.release != nil:
		if slices.Contains(refused, *c.release) {
			c.refusedHere(o, releases[c.release.Minor].Refused, accepted)
		}
	case last.Version == allocator.Newest:
		c.found.add("conf/bad-value", rules.Warning, rules.High, "PyTorch %s refuses %s:%s", versions(refused), o.Key, o.Value).
			because("PyTorch %v says: %s", last.Version, last.Reason).because("PyTorch %s takes it", versions(accepted)).
			at(o.Start, o.End).do("write %s in a form that all releases take", o.Key)
	case accepted[0].AtLeast(recent.Major, recent.Minor):
		c.found.add(ruleOf(last), rules.Info, rules.High, "%s:%s is for PyTorch %s; %s refuses the whole string", o.Key, o.Value, versions(accepted), versions(refused)).
			because("PyTorch %v says: %s", last.Version, last.Reason).
			at(o.Start, o.End).do("use it with PyTorch %v or newer only", accepted[0])
	}
}

// recent is the first release of which it is worth saying that older ones lack an option.
var recent = allocator.Version{Major: 2, Minor: 5}

// refusedHere is an option that the release does not take which is in use.
func (c *confCheck) refusedHere(o *conf.Option, refused *allocator.ConfigError, accepted []allocator.Version) {
	c.found.add(ruleOf(refused), rules.Error, rules.High, "PyTorch %v refuses %s:%s; %s takes it", refused.Version, o.Key, o.Value, versions(accepted)).
		because("PyTorch %v says: %s", refused.Version, refused.Reason).
		because("PyTorch refuses the whole string, with an error when it first uses CUDA").
		at(o.Start, o.End).do("remove %s, or use PyTorch %s", o.Key, versions(accepted))
}

// ruleOf is the rule that a refusal breaks.
func ruleOf(refused *allocator.ConfigError) string {
	if conf.IsUnknownOption(refused) {
		return "conf/unknown-option"
	}
	return "conf/bad-value"
}

// refusedOption is an option that no known release takes.
func (c *confCheck) refusedOption(o *conf.Option, refused *allocator.ConfigError) {
	var f *Fault
	key, value, equals := strings.Cut(o.Key, "=")
	near := conf.NearestOption(o.Key)
	switch {
	case equals && o.Value == "":
		f = c.found.add("conf/bad-value", rules.Error, rules.High, "%s=%s has to be written %s:%s", key, value, key, value).
			do("write %s:%s", key, value)
	case conf.IsUnknownOption(refused) && near != "" && near != o.Key:
		f = c.found.add("conf/unknown-option", rules.Error, rules.High, "%s is no option of PyTorch's allocator; %s is", o.Key, near).
			do("write %s", near)
	case conf.IsUnknownOption(refused):
		f = c.found.add("conf/unknown-option", rules.Error, rules.Medium, "%s is no option of PyTorch's allocator up to %v", o.Key, allocator.Newest).
			do("remove %s", o.Key)
	default:
		f = c.found.add("conf/bad-value", rules.Error, rules.High, "PyTorch refuses %s:%s", o.Key, o.Value).
			do("%s", goodValue(o))
	}
	f.because("PyTorch %v says: %s", refused.Version, refused.Reason).
		because("PyTorch refuses the whole string, with an error when it first uses CUDA").at(o.Start, o.End)
}

// goodValue says what an option takes.
func goodValue(o *conf.Option) string {
	switch o.Key {
	case "max_split_size_mb", "max_non_split_rounding_mb":
		return fmt.Sprintf("give %s a number of MiB above 20", o.Key)
	case "garbage_collection_threshold":
		return "give garbage_collection_threshold a share between 0 and 1, as 0.8"
	case "roundup_power2_divisions":
		return "give roundup_power2_divisions a power of two, or a list as [256:1,512:2,>:4]"
	case "backend":
		return "write backend:native or backend:cudaMallocAsync"
	case "large_segment_size_mb":
		return "give large_segment_size_mb a number of MiB above 10"
	case "per_process_memory_fraction":
		return "give per_process_memory_fraction a share from 0 to 1"
	}
	switch strings.ToLower(o.Value) {
	case "true", "1", "on", "yes":
		return fmt.Sprintf("write %s:True, exactly so", o.Key)
	case "false", "0", "off", "no":
		return fmt.Sprintf("write %s:False, exactly so", o.Key)
	}
	return fmt.Sprintf("write %s in the form that the option takes", o.Key)
}

// versions names releases that follow each other.
func versions(all []allocator.Version) string {
	first, last := all[0], all[len(all)-1]
	switch {
	case len(all) == 1:
		return first.String()
	case last == allocator.Newest:
		return first.String() + " and newer"
	}
	return fmt.Sprintf("%v to %v", first, last)
}

func (c *confCheck) repeated() {
	first := map[string]*conf.Option{}
	for i := range c.options {
		o := &c.options[i]
		was := first[o.Key]
		if was != nil && was.Value != o.Value {
			c.found.add("conf/repeated-option", rules.Warning, rules.High, "%s is given as %s and again as %s; the last one counts", o.Key, was.Value, o.Value).
				at(o.Start, o.End).do("keep one %s", o.Key)
		}
		first[o.Key] = o
	}
}

// ignoredByAsync are the options that the driver's own pool passes over.
var ignoredByAsync = []string{
	"max_split_size_mb", "max_non_split_rounding_mb", "garbage_collection_threshold", "roundup_power2_divisions",
	"expandable_segments", "large_segment_size_mb",
}

func (c *confCheck) backend() {
	o := c.option("backend")
	if o == nil || o.Value != "cudaMallocAsync" && o.Value != "hipMallocAsync" {
		return
	}
	var ignored []string
	for _, key := range ignoredByAsync {
		if other := c.option(key); other != nil && other.Value != "False" {
			ignored = append(ignored, key)
		}
	}
	if len(ignored) > 0 {
		c.found.add("conf/async-backend", rules.Warning, rules.High, "backend:%s ignores %s", o.Value, strings.Join(ignored, ", ")).
			because("the driver's own pool does the work of PyTorch's allocator").
			at(o.Start, o.End).do("choose: backend:%s alone, or the other options without it", o.Value)
	}
}

// maxSplit judges a limit on splitting, and what needs one.
func (c *confCheck) maxSplit() {
	limit, rounding, expandable := c.option("max_split_size_mb"), c.option("max_non_split_rounding_mb"), c.option("expandable_segments")
	if rounding != nil && limit == nil {
		c.found.add("conf/inert-non-split-rounding", rules.Info, rules.High, "max_non_split_rounding_mb does nothing without max_split_size_mb").
			at(rounding.Start, rounding.End).do("remove max_non_split_rounding_mb")
	}
	if limit != nil && expandable != nil && expandable.Value == "True" && len(c.accepted) > 0 {
		c.found.add("conf/max-split-expandable", rules.Warning, rules.High,
			"max_split_size_mb:%s together with expandable_segments:True can let reserved memory grow without bound", limit.Value).
			because("a free stretch at or above the limit serves no smaller request, and expandable segments make such stretches").
			at(limit.Start, limit.End).do("remove max_split_size_mb; expandable segments do its work")
	}
}

// roundup finds lists of divisions that do not say what they look like.
func (c *confCheck) roundup() {
	o, newest := c.option("roundup_power2_divisions"), c.newest()
	if o == nil || newest == nil {
		return
	}
	keys := conf.RoundupKeys(o.Value)
	table := newest.Config.RoundupDivisions
	if slices.Max(table[:]) <= 1 {
		c.found.add("conf/roundup-trap", rules.Info, rules.High, "roundup_power2_divisions with 0 or 1 division rounds to 512 bytes, as without it").
			at(o.Start, o.End).do("remove roundup_power2_divisions, or give it 2 or more divisions")
		return
	}
	c.roundupOverwritten(o, keys)
	var names []string
	for _, i := range conf.RoundupGaps(keys, table) {
		names = append(names, units.FormatBytes(1<<(20+i)))
	}
	if len(names) > 0 {
		c.found.add("conf/roundup-trap", rules.Warning, rules.High, "roundup_power2_divisions leaves sizes between its keys unrounded: from %s up to the next power of two", strings.Join(names, ", ")).
			at(o.Start, o.End).do("name every power of two between the first and the last key")
	}
}

// roundupOverwritten finds a ">" that replaces the last key's divisions in old releases.
func (c *confCheck) roundupOverwritten(o *conf.Option, keys []int) {
	if len(keys) == 0 {
		return
	}
	last := keys[len(keys)-1]
	now := c.newest().Config.RoundupDivisions[last]
	var differ []allocator.Version
	for _, r := range c.accepted {
		if r.Config.RoundupDivisions[last] != now {
			differ = append(differ, r.Version)
		}
	}
	if len(differ) > 0 {
		c.found.add("conf/roundup-trap", rules.Info, rules.High, "in PyTorch %s the > of roundup_power2_divisions overwrites the divisions of %s", versions(differ), units.FormatBytes(1<<(20+last))).
			at(o.Start, o.End).do("use PyTorch 2.9 or newer, or do without >")
	}
}

// limits finds what needs a limit of memory, and a limit itself. Whether the program sets
// one by a call, the string does not say.
func (c *confCheck) limits() {
	fraction := c.option("per_process_memory_fraction")
	if fraction != nil {
		c.found.add("conf/fraction-in-settings", rules.Info, rules.High, "the settings cap the allocator at %s of the device's memory", fraction.Value).
			because("context and libraries come on top").at(fraction.Start, fraction.End).do("raise the fraction where the GPU is not shared")
		return
	}
	if o := c.option("garbage_collection_threshold"); o != nil && len(c.accepted) > 0 {
		c.found.add("conf/inert-gc", rules.Info, rules.Medium, "garbage_collection_threshold:%s does nothing unless the program sets a memory fraction", o.Value).
			because("the threshold is a share of the process's limit, and the string sets none").
			at(o.Start, o.End).do("call torch.cuda.set_per_process_memory_fraction(0.95) at the start, or drop the option")
	}
	if o := c.option("throw_on_cudamalloc_oom"); o != nil && o.Value == "True" {
		c.found.add("conf/throw-without-fraction", rules.Info, rules.Medium, "throw_on_cudamalloc_oom does nothing unless the program sets a memory fraction").
			at(o.Start, o.End).do("remove throw_on_cudamalloc_oom")
	}
}

func (c *confCheck) hostOnly() {
	for i := range c.options {
		if o := &c.options[i]; strings.HasPrefix(o.Key, "pinned_") && len(c.accepted) > 0 {
			c.found.add("conf/host-option", rules.Info, rules.High, "%s acts on pinned host memory and changes nothing on the GPU", o.Key).
				at(o.Start, o.End).do("expect nothing of it for the GPU")
		}
	}
}
