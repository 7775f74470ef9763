package places

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is what a shell script does, as a list of steps.
type script struct {
	steps     []step
	uses      map[string]bool // variables that are read
	exports   map[string]bool // variables that are exported, wherever
	exportAll bool            // by set -a
	numbers   map[string]int  // variables that are set once, to a number
}

// step is one thing that a script does: a command, or setting variables.
type step struct {
	at       span
	words    []word    // of the command; none where variables are all there is
	sets     []setting // variables; before a command they are for it alone
	exported bool      // the variables reach the programs that follow
	loose    []word    // what else a declaration has: names alone, and slips
	always   bool      // done on every run, once, in the script's own shell
}

// readScript reads a piece of a file that begins at base. What follows an error in the
// script's syntax is left out.
func readScript(text string, base int) *script {
	r := &scriptReader{base: base, out: &script{uses: map[string]bool{}, exports: map[string]bool{}}}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	failed := false
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		if failed = failed || err != nil; failed {
			continue // the parser may go on after an error, and minds being left
		}
		r.stmt(stmt, true)
		r.references(stmt)
	}
	r.out.findNumbers()
	return r.out
}

// findNumbers notes the variables that always have one number.
func (s *script) findNumbers() {
	s.numbers = map[string]int{}
	sets := map[string]int{}
	for _, step := range s.steps {
		for _, set := range step.sets {
			sets[set.name]++
			if n, err := strconv.Atoi(set.value); err == nil && !set.unknown && step.always && len(step.words) == 0 {
				s.numbers[set.name] = n
			}
		}
	}
	maps.DeleteFunc(s.numbers, func(name string, _ int) bool { return sets[name] > 1 })
}

// scriptReader makes steps of statements.
type scriptReader struct {
	base int
	out  *script
}

// references notes the variables that a statement reads.
func (r *scriptReader) references(stmt *syntax.Stmt) {
	for n := range syntax.Preorder(stmt) {
		if p, ok := n.(*syntax.ParamExp); ok {
			r.out.uses[paramName(p)] = true
		}
	}
}

func (r *scriptReader) stmts(all []*syntax.Stmt, always bool) {
	for _, s := range all {
		r.stmt(s, always)
	}
}

func (r *scriptReader) stmt(s *syntax.Stmt, always bool) {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(c, always)
	case *syntax.DeclClause:
		r.declare(c, always)
	case *syntax.Block:
		r.stmts(c.Stmts, always)
	case *syntax.BinaryCmd:
		r.stmt(c.X, always)
		r.stmt(c.Y, always && c.Op != syntax.OrStmt)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.stmt(c.Stmt, always)
		}
	case *syntax.Subshell:
		r.stmts(c.Stmts, false)
	case *syntax.FuncDecl:
		r.stmt(c.Body, false)
	case *syntax.WhileClause:
		r.stmts(c.Do, false)
	case *syntax.ForClause:
		r.stmts(c.Do, false)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			r.stmts(item.Stmts, false)
		}
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.stmts(c.Cond, false)
			r.stmts(c.Then, false)
		}
	}
}

func (r *scriptReader) call(c *syntax.CallExpr, always bool) {
	s := step{at: nodeSpan(c, r.base), always: always}
	for _, a := range c.Assigns {
		if set, ok := r.assign(a); ok {
			s.sets = append(s.sets, set)
		}
	}
	for _, w := range c.Args {
		s.words = append(s.words, readWord(w, r.base))
	}
	if len(s.words) > 0 && s.words[0].is("set") {
		r.out.exportAll = r.out.exportAll || setsExportAll(s.words[1:])
	}
	s.throughEnv()
	r.out.steps = append(r.out.steps, s)
}

func setsExportAll(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		flags, short := strings.CutPrefix(w.text, "-")
		return w.text == "allexport" || short && !strings.HasPrefix(flags, "-") && strings.Contains(flags, "a")
	})
}

// throughEnv takes the variables of "env NAME=value command" for what they are.
func (s *step) throughEnv() {
	if len(s.words) == 0 || !s.words[0].known || path.Base(s.words[0].text) != "env" {
		return
	}
	rest := s.words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		if rest[0].is("-u") && len(rest) > 1 {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	for len(rest) > 0 {
		set, ok := settingOfWord(rest[0])
		if !ok {
			break
		}
		s.sets = append(s.sets, set)
		rest = rest[1:]
	}
	s.words = rest
}

// settingOfWord reads a word of the form NAME=value.
func settingOfWord(w word) (setting, bool) {
	name, value, equals := strings.Cut(w.text, "=")
	if !equals || !syntax.ValidName(name) {
		return setting{}, false
	}
	s := setting{name: name, value: value, unknown: !w.known, at: w.at}
	if w.bytes.end > w.bytes.start {
		s.valueAt = span{w.bytes.start + len(name) + 1, w.bytes.end}
	}
	return s, true
}

// declare reads export, declare and their like.
func (r *scriptReader) declare(c *syntax.DeclClause, always bool) {
	s := step{at: nodeSpan(c, r.base), always: always, exported: c.Variant.Value == "export"}
	for _, a := range c.Args {
		if set, ok := r.assign(a); ok {
			s.sets = append(s.sets, set)
		} else if a.Naked {
			s.loose = append(s.loose, r.nakedWord(a))
		}
	}
	s.exported = s.exported || slices.ContainsFunc(s.loose, func(w word) bool { return w.is("-x") })
	if s.exported {
		for _, w := range s.loose {
			r.out.exports[w.text] = true
		}
		for _, set := range s.sets {
			r.out.exports[set.name] = true
		}
	}
	r.out.steps = append(r.out.steps, s)
}

// nakedWord is an argument of a declaration that sets nothing.
func (r *scriptReader) nakedWord(a *syntax.Assign) word {
	if a.Name != nil {
		return word{text: a.Name.Value, known: true, at: nodeSpan(a.Name, r.base)}
	}
	return readWord(a.Value, r.base)
}

// assign reads NAME=value. An array, or what is added to a variable, is none.
func (r *scriptReader) assign(a *syntax.Assign) (setting, bool) {
	if a.Name == nil || a.Array != nil || a.Index != nil || a.Naked {
		return setting{}, false
	}
	w := readWord(a.Value, r.base)
	return setting{
		name: a.Name.Value, value: w.text, unknown: !w.known || a.Append,
		at: nodeSpan(a, r.base), valueAt: w.bytes,
	}, true
}
