// Package lint finds known mistakes in sources before they run: which files are looked at,
// by which checker, under which configuration, and what of that a user sees. The mistakes
// themselves are found by checkers, which come in as values: package code for Python, package
// places for scripts and settings.
//
// A file goes through these steps, each in a file of its own:
//
//	walk.go       paths ─▶ files: kinds that a checker takes, without what is excluded or ignored
//	config.go     the nearest pyproject.toml or ullage.toml above each file
//	check.go      bytes ─▶ text ─▶ mistakes, or the same from the cache (cache.go); in parallel (run.go)
//	comments.go   "# ullage: ignore[rule] reason"
//	finding.go    rules and levels that are asked for ─▶ findings with places and fingerprints
//	baseline.go   without those that are known already
//	fix.go        repairs that are certain, as a diff or made
//
// The result does not depend on the order in which files are done.
package lint

import (
	"context"
	"io/fs"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Checker finds mistakes in files of some kinds. It is used by several goroutines at once.
type Checker interface {
	// Name tells checkers apart in the cache.
	Name() string
	// Takes tells whether a file is of its kinds, by its path with slashes and its first bytes,
	// which are nil where the name has to do.
	Takes(name string, head []byte) bool
	// MaxBytes is the largest file that it takes.
	MaxBytes() int64
	// MayBeData tells whether files of its kinds are mostly others' data. One of those that
	// cannot be read is no gap in the result, unless the user named it.
	MayBeData(name string) bool
	// Check returns the mistakes in a source, by place. test says whether the file is a test.
	Check(ctx context.Context, src *syntax.Source, test bool) (Checked, error)
}

// Witness knows from a run what happened at places of some sources. It is used by several
// goroutines at once, and what it says is kept in no cache.
type Witness interface {
	// Files tells it which files will be checked, by their absolute paths, before the first is.
	Files(paths []string)
	// Knows tells whether it has something to say of a file.
	Knows(path string) bool
	// Raise returns the mistakes of a file with what it knows of them. It must not change those
	// that it is given.
	Raise(ctx context.Context, path string, src *syntax.Source, mistakes []rules.Mistake) []rules.Mistake
}

// Checked is what a checker says of a source.
type Checked struct {
	Mistakes []rules.Mistake
	Comments []Comment // those that have Mark in them
	Broken   *int      // offset of the first thing that the checker could not read, and went around
}

// Comment is a comment of a source: where it is in the text.
type Comment struct{ Start, End int }

// Mark is what a comment has that is meant for this program.
const Mark = "ullage:"

// Files is the part of the file system that is read.
type Files interface {
	Open(name string) (fs.File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Options is what is asked for. What is empty is as the configuration says, or as usual.
type Options struct {
	Paths []string // files and folders, as the user named them; "-" is Stdin
	Dir   string   // working folder, absolute
	Files Files

	Stdin     []byte
	StdinName string // the file that Stdin would be

	Checkers []Checker
	Cache    *Cache  // nil: none
	Witness  Witness // nil: none
	Workers  int     // files at a time
	Progress func(bytes int64)

	All            bool // also what is not probable, or does little harm
	Select, Ignore []string
	FailOn         *Threshold
	Baseline       string // path of a file
	NoBaseline     bool   // as if there were none: it is about to be written
}

// Result is what was found.
type Result struct {
	Findings []Finding
	Notices  []Notice
	Files    int   // that were checked
	Bytes    int64 // in them
	Hidden   Hidden
	Grew     []Grew // places where a witness saw memory grow, and no mistake is known

	files   []*file
	done    []fileResult // of each
	noticed []Notice     // of none of them
}

// Hidden counts findings that are not shown, by the reason.
type Hidden struct {
	Level    int // --all shows them
	Comments int // a comment says to ignore them
	Baseline int // they are in the baseline
}

// Grew is a place where memory grew in a run, and that no rule explains.
type Grew struct {
	File         string // as the user named it; empty where it is in none of the files
	Line         int
	Function     string
	Source       string // the line
	What         string // what grew there, in words
	BytesPerStep float64
	EverySteps   int // 1 where each step leaves something
	LiveBytes    int64
	Recording    string
}

// Notice is something that a user has to know beside the findings.
type Notice struct {
	Kind NoticeKind
	File string // as the user named it
	Path string // as that of findings; empty where nothing was read
	At   syntax.Position
	Text string
	Hint string
}

// NoticeKind is what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	Unread  NoticeKind = "unread"  // a file that could not be read: the result is not whole
	Broken  NoticeKind = "broken"  // a part of a file is not what it should be
	Ignore  NoticeKind = "comment" // a comment that has no effect
	Stale   NoticeKind = "stale"   // a comment or a line of the baseline that nothing needs
	Unfixed NoticeKind = "unfixed" // a file that was to be repaired and is not
	Passed  NoticeKind = "passed"  // a link that was not followed, a file of data that is none of settings
)

// Minor tells whether a notice is for those who ask for all.
func (n *Notice) Minor() bool { return n.Kind == Broken || n.Kind == Stale || n.Kind == Passed }
