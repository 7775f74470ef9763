package analyze

import (
	"fmt"
	"path"

	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// FoldFrames returns a stack for people, innermost first: the user's frames one by
// one, each run of library frames as one line, the recorder's own left out.
func FoldFrames(frames []snapshot.Frame) []string {
	r := newFrameReader(frames)
	var out []string
	run, pkg := 0, ""
	flush := func() {
		if run > 0 {
			out = append(out, foldedText(run, pkg))
		}
		run, pkg = 0, ""
	}
	for _, f := range frames {
		switch facts := r.facts(f); facts.whose {
		case Noise:
		case Users:
			flush()
			out = append(out, fmt.Sprintf("%s:%d %s", path.Base(slashes(f.Filename)), f.Line, f.Name))
		default:
			if run++; pkg == "" {
				pkg = facts.pkg
			}
		}
	}
	flush()
	return out
}

func foldedText(n int, pkg string) string {
	where := ""
	if pkg != "" {
		where = " in " + pkg
	}
	return "… " + units.FormatPlural(n, "frame", "frames") + where
}
