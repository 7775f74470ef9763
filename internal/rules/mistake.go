package rules

// Mistake is a rule that a source breaks at a place: a cause, seen before the run.
// Offsets are bytes of the source's text; in a notebook, of the text of its cells.
type Mistake struct {
	Rule       string // id in the catalogue
	Severity   Severity
	Confidence Confidence
	Start, End int       // the bytes of the expression or statement that is to change
	Message    string    // one line, with the names that the source uses
	Evidence   []string  // what else in the source says so, a line each
	Related    []Related // other places that have to do with it
	Remedy     string    // what to change, as an instruction
	Fix        *Fix      // nil where no repair is certain to be right
}

// Probable tells whether a mistake is shown without being asked for: that it is one is
// likely, and it does harm.
func (m *Mistake) Probable() bool { return m.Confidence >= Medium && m.Severity >= Warning }

// Related is another place of the source that a mistake rests on.
type Related struct {
	Start, End int
	What       string // what is there, as "the total begins here"
}

// Fix is a repair that keeps what the program computes.
type Fix struct {
	What  string // as an instruction: "add the loss's value"
	Edits []Edit // in the order of the source, none within another
}

// Edit replaces the bytes from Start to End.
type Edit struct {
	Start, End int
	Text       string
}
