package snapshot

import (
	"regexp"
	"strconv"
	"strings"
)

// The words of names, each with the number after it. They are tried in this
// order, and what one of them took is out of reach for those that follow.
var (
	// 2026-01-31T12:00:00, 20260131-1200, Jan_31_12_00_00, and times in
	// seconds to nanoseconds since 1970.
	stampWord = regexp.MustCompile(`\d{4}-\d\d-\d\d(?:[T_ -]\d\d[-_:.]?\d\d(?:[-_:.]?\d\d)?)?|20\d{6}[-_T]?\d{4,6}|` +
		`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)_\d\d_\d\d_\d\d_\d\d|1\d{9}(?:\d{9}|\d{6}|\d{3})?`)

	rankBatch  = regexp.MustCompile(`(?i)\brank(\d+)\.(\d+)\.`)                                               // Composer: rank3.120.memory_snapshot
	rankStep   = regexp.MustCompile(`^(\d{6})_step_(\d+)$`)                                                   // torchtitan: 000003_step_10
	rankWord   = regexp.MustCompile(`(?i)(?:^|[^a-z])((?:global|local|node|[tpdec]p)[_-]?)?rank[_=.-]?(\d+)`) // rank3, global_rank-003
	rankLetter = regexp.MustCompile(`(?:^|[_.-])r[_=-]?(\d+)(?:$|[_.-])`)                                     // memsnap_r3
	rankOther  = regexp.MustCompile(`(?i)(?:^|[_.-])(?:gpu|worker|proc)[_=-]?(\d+)`)                          // gpu3, where nothing says rank
	stepWord   = regexp.MustCompile(`(?i)(?:step|iteration|iter|batch|epoch)[_=-]?(\d+)`)                     // iteration_10
	pidWord    = regexp.MustCompile(`(?i)(?:^|[_.-])pid[_=-]?(\d+)`)
	exitWord   = regexp.MustCompile(`(?i)(?:^|[_.-])(?:exit|oom|crash)(?:$|[_.-])`)
	lastNumber = regexp.MustCompile(`(?:^|[_.-])(\d{1,9})$`)
)

// mask takes what it can from one part of a path and returns the part with "#" in
// place of what was taken.
func (n *fileName) mask(part string) string {
	if exitWord.MatchString(part) {
		n.exit = true
		part = strings.Trim(exitWord.ReplaceAllString(part, "_"), "_.-")
	}
	if at := stampWord.FindStringIndex(part); at != nil {
		if n.stamp == "" {
			n.stamp = sortable(part[at[0]:at[1]])
		}
		part = part[:at[0]] + "#" + part[at[1]:]
	}
	part = n.maskPair(part)
	part = n.maskRank(part)
	part = maskAll(part, stepWord, func(v int64) { n.setStep(v) })
	return maskAll(part, pidWord, func(int64) {})
}

// setStep keeps the step of the innermost part of the path that has one; in a name
// such as epoch_1_step_20 the last word counts.
func (n *fileName) setStep(v int64) {
	if !n.stepKnown {
		n.step = v
	}
}

// maskAll replaces every number that re finds, and hands each to set.
func maskAll(part string, re *regexp.Regexp, set func(int64)) string {
	var b strings.Builder
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(part, -1) {
		set(number(part[at[2]:at[3]]))
		b.WriteString(part[end:at[2]] + "#")
		end = at[3]
	}
	return b.String() + part[end:]
}

// maskPair takes rank and step where one pattern has both.
func (n *fileName) maskPair(part string) string {
	for _, re := range []*regexp.Regexp{rankBatch, rankStep} {
		at := re.FindStringSubmatchIndex(part)
		if at == nil || n.rank >= 0 {
			continue
		}
		n.rank, n.step = int(number(part[at[2]:at[3]])), number(part[at[4]:at[5]])
		return part[:at[2]] + "#" + part[at[3]:at[4]] + "#" + part[at[5]:]
	}
	return part
}

// maskRank passes over ranks within a node or a group (local_rank, tp_rank) where
// another rank is there. A folder's rank is replaced too when the file has told it already.
func (n *fileName) maskRank(part string) string {
	if at := rankNumber(part); at != nil {
		if n.rank < 0 {
			n.rank = int(number(part[at[0]:at[1]]))
		}
		return part[:at[0]] + "#" + part[at[1]:]
	}
	for _, re := range []*regexp.Regexp{rankLetter, rankOther} {
		at := re.FindStringSubmatchIndex(part)
		if at == nil {
			continue
		}
		if v := int(number(part[at[2]:at[3]])); n.rank < 0 || n.rank == v {
			n.rank = v
			return part[:at[2]] + "#" + part[at[3]:]
		}
	}
	return part
}

// rankNumber returns where the number after the best word "rank" lies, or nil.
func rankNumber(part string) []int {
	var best []int
	for _, at := range rankWord.FindAllStringSubmatchIndex(part, -1) {
		word := ""
		if at[2] >= 0 {
			word = strings.ToLower(part[at[2]:at[3]])
		}
		if word == "" || strings.HasPrefix(word, "global") {
			return at[4:6]
		}
		if best == nil {
			best = at[4:6]
		}
	}
	return best
}

// number reads digits; what is too large for a rank or a step is neither.
func number(digits string) int64 {
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return -1
	}
	return v
}

// months makes month names sort; the year is not in such a name.
var months = strings.NewReplacer("Jan", "01", "Feb", "02", "Mar", "03", "Apr", "04", "May", "05", "Jun", "06",
	"Jul", "07", "Aug", "08", "Sep", "09", "Oct", "10", "Nov", "11", "Dec", "12")

func sortable(stamp string) string { return months.Replace(stamp) }
