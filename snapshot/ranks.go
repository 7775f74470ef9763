package snapshot

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// FileInfo is a file as found in a folder.
type FileInfo struct {
	Path      string // with slashes
	SizeBytes int64
	ModTime   time.Time
}

// File is one rank's recording of a Set.
type File struct {
	FileInfo
	Rank int   // -1 where the name does not tell
	Step int64 // -1 where the name does not tell
}

// Set is the recordings of one job, a file for each rank, all written at one
// occasion: at a step, or when the run died.
type Set struct {
	Job   string // the path that the files share, "#" in place of what differs
	Step  int64  // -1 where the names do not tell
	Exit  bool   // the names say that the run died
	Files []File // by rank
	Notes []string
}

// GroupFiles sorts files into jobs and occasions by their names alone, see
// docs/formats/recording.md. The best set comes first: one of a run that died,
// then the one with the most ranks, then the latest. Notes of a set tell which of
// its job's files it leaves out.
func GroupFiles(files []FileInfo) []Set {
	names := parseNames(files)
	jobs := map[string][]int{}
	for i, n := range names {
		jobs[n.job] = append(jobs[n.job], i)
	}
	var sets []Set
	for job, members := range jobs {
		sets = append(sets, occasions(job, members, names, files)...)
	}
	slices.SortFunc(sets, compareSets)
	return sets
}

// compareSets puts the better set first.
func compareSets(a, b Set) int {
	return cmp.Or(
		cmp.Compare(boolInt(b.Exit), boolInt(a.Exit)),
		cmp.Compare(len(b.Files), len(a.Files)),
		cmp.Compare(b.Step, a.Step),
		b.newest().Compare(a.newest()),
		cmp.Compare(a.Job, b.Job),
	)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Set) newest() time.Time {
	var t time.Time
	for _, f := range s.Files {
		if f.ModTime.After(t) {
			t = f.ModTime
		}
	}
	return t
}

// RanksOf returns the rank of each of several files that were named by hand, -1
// where no name tells.
func RanksOf(paths []string) []int {
	files := make([]FileInfo, len(paths))
	for i, p := range paths {
		files[i].Path = strings.ReplaceAll(p, `\`, "/")
	}
	ranks := make([]int, len(paths))
	for i, n := range parseNames(files) {
		ranks[i] = n.rank
	}
	return ranks
}

// parseNames parses all names and settles what their last numbers mean.
func parseNames(files []FileInfo) []fileName {
	names := make([]fileName, len(files))
	loose := map[string][]int{}
	for i, f := range files {
		names[i] = parseName(f.Path)
		if names[i].rank < 0 && names[i].last >= 0 {
			loose[names[i].lastJob] = append(loose[names[i].lastJob], i)
		}
	}
	for job, members := range loose {
		settleLast(job, members, names)
	}
	return names
}

// settleLast makes the last number of names that differ in nothing else the rank
// if the numbers are 0, 1, 2, … without a gap, else the step. A file alone tells
// nothing.
func settleLast(job string, members []int, names []fileName) {
	if len(members) < 2 {
		return
	}
	seen := map[int64]bool{}
	for _, i := range members {
		seen[names[i].last] = true
	}
	ranks := len(seen) == len(members) || names[members[0]].step >= 0
	for k := range len(seen) {
		ranks = ranks && seen[int64(k)]
	}
	for _, i := range members {
		n := &names[i]
		switch {
		case ranks:
			n.rank, n.job, n.byLast = int(n.last), job, true
		case n.step < 0:
			n.step, n.job = n.last, job
		}
	}
}

// occasions makes the sets of one job: one for each step, dead runs apart.
func occasions(job string, members []int, names []fileName, files []FileInfo) []Set {
	type key struct {
		step int64
		exit bool
	}
	by := map[key][]int{}
	for _, i := range members {
		k := key{names[i].step, names[i].exit}
		by[k] = append(by[k], i)
	}
	var sets []Set
	for k, list := range by {
		set := Set{Job: job, Step: k.step, Exit: k.exit}
		older := set.fill(list, names, files)
		if older > 0 {
			set.Notes = append(set.Notes, fmt.Sprintf("%s of the same ranks %s older and left out", plural(older, "file"), isAre(older)))
		}
		if rest := len(by) - 1; rest > 0 {
			n := len(members) - len(list)
			set.Notes = append(set.Notes, fmt.Sprintf("%s of the same job at %s %s left out", plural(n, "file"), plural(rest, "other step"), isAre(n)))
		}
		if names[list[0]].byLast {
			set.Notes = append(set.Notes, "the last number of each name is taken for its rank")
		}
		if missing := set.missing(); missing != "" {
			set.Notes = append(set.Notes, missing)
		}
		sets = append(sets, set)
	}
	return sets
}

// fill adds files, the newest where a rank has several, and returns how many were
// left out. Files of no known rank are all kept.
func (s *Set) fill(list []int, names []fileName, files []FileInfo) (older int) {
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(names[a].rank, names[b].rank),
			cmp.Compare(names[b].stamp, names[a].stamp),
			files[b].ModTime.Compare(files[a].ModTime),
			cmp.Compare(files[a].Path, files[b].Path),
		)
	})
	for _, i := range list {
		f := File{FileInfo: files[i], Rank: names[i].rank, Step: names[i].step}
		if n := len(s.Files); n > 0 && f.Rank >= 0 && s.Files[n-1].Rank == f.Rank {
			older++
			continue
		}
		s.Files = append(s.Files, f)
	}
	return older
}

// missing tells which ranks below the highest have no file.
func (s *Set) missing() string {
	have := map[int]bool{}
	highest := -1
	for _, f := range s.Files {
		have[f.Rank] = true
		highest = max(highest, f.Rank)
	}
	var gaps []string
	n := 0
	for r := range highest {
		if !have[r] {
			if n++; n <= 8 {
				gaps = append(gaps, fmt.Sprint(r))
			}
		}
	}
	if n == 0 || n > 64 {
		return "" // a sample of a large job: its gaps are no news
	}
	if n > 8 {
		gaps = append(gaps, "…")
	}
	return fmt.Sprintf("no file for rank %s", strings.Join(gaps, ", "))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// fileName is what the name of a recording tells.
type fileName struct {
	rank    int    // -1 where it does not tell
	step    int64  // -1 where it does not tell
	last    int64  // the last number of the name, of which no word says what it is; -1
	stamp   string // date and time in the name, of a form that sorts
	exit    bool   // written because the run died
	job     string // the path with rank, step, process and time replaced by "#"
	lastJob string // job with last replaced too

	stepKnown bool // an inner part of the path told the step
	byLast    bool // last was taken for the rank
}

// parseName reads what a recording's path tells. It looks at the file's own name
// first, then at its folders from the inside out.
func parseName(file string) fileName {
	file = strings.ReplaceAll(file, `\`, "/")
	n := fileName{rank: -1, step: -1, last: -1}
	dir, base := path.Split(file)
	stem, ext := cutExt(base)
	base = n.mask(stem)
	n.stepKnown = n.step >= 0
	folders := strings.Split(strings.Trim(dir, "/"), "/")
	for i := len(folders) - 1; i >= 0; i-- {
		folders[i] = n.mask(folders[i])
		n.stepKnown = n.step >= 0
	}
	prefix := strings.Join(folders, "/") + "/"
	n.job = prefix + base + ext
	n.lastJob = n.job
	if at := lastNumber.FindStringSubmatchIndex(base); at != nil {
		n.last = number(base[at[2]:at[3]])
		n.lastJob = prefix + base[:at[2]] + "#" + base[at[3]:] + ext
	}
	return n
}

// cutExt splits off the endings that recordings have.
func cutExt(base string) (stem, ext string) {
	stem = base
	for {
		e := path.Ext(stem)
		switch strings.ToLower(e) {
		case ".pickle", ".pkl", ".pk", ".pt", ".bin", ".json", ".html", ".htm", ".gz", ".xz", ".zst", ".zstd", ".bz2", ".snapshot", ".dump":
			stem = strings.TrimSuffix(stem, e)
		default:
			return stem, base[len(stem):]
		}
	}
}
