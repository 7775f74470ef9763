package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Finding is a mistake that is shown.
type Finding struct {
	rules.Mistake
	File string // as the user named it
	Path string // relative to the repository or the project, with slashes

	From, To Place
	Line     string     // of the source, where it begins
	Places   []Place    // of Related
	Edits    [][2]Place // of the repair

	Fingerprint string // stays when lines move; no two findings of a file have the same
	Fails       bool   // it reaches the threshold
}

// Place is a place of a file.
type Place struct {
	syntax.Position                 // as people name it
	Stored          syntax.Position // in the file as it is stored: of a notebook, a line of its JSON
}

// maxLine bounds the text of a line that is kept: minified code has lines of megabytes.
const maxLine = 400

// newFinding gives a mistake its places. raw may be nil.
func newFinding(f *file, src *syntax.Source, raw *syntax.Raw, m rules.Mistake) Finding {
	place := func(offset int) Place {
		p := Place{Position: src.Position(offset)}
		p.Stored = p.Position
		if raw != nil {
			p.Stored = raw.Position(offset)
		}
		return p
	}
	out := Finding{
		Mistake: m, File: f.name, Path: f.path, From: place(m.Start), To: place(m.End),
		Line: cutLine(src.Line(src.TextLine(m.Start))), Fails: f.failOn.Reached(m.Severity),
	}
	for _, r := range m.Related {
		out.Places = append(out.Places, place(r.Start))
	}
	if m.Fix != nil {
		for _, e := range m.Fix.Edits {
			out.Edits = append(out.Edits, [2]Place{place(e.Start), place(e.End)})
		}
	}
	return out
}

func cutLine(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "")
}

// fingerprints returns one for each mistake: of its rule, its file, the text of its line
// without its blanks, and which of the same it is.
func fingerprints(path string, src *syntax.Source, mistakes []rules.Mistake) []string {
	seen := map[string]int{}
	all := make([]string, len(mistakes))
	for i, m := range mistakes {
		line := strings.Join(strings.Fields(src.Line(src.TextLine(m.Start))), " ")
		sum := sha256.Sum256([]byte(m.Rule + "\x00" + path + "\x00" + line))
		hash := hex.EncodeToString(sum[:8])
		seen[hash]++
		all[i] = fmt.Sprintf("%s:%d", hash, seen[hash])
	}
	return all
}

// sortMistakes puts mistakes in the order of the source, whatever order a checker found them in.
func sortMistakes(ms []rules.Mistake) {
	slices.SortStableFunc(ms, func(a, b rules.Mistake) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.Rule, b.Rule))
	})
}
