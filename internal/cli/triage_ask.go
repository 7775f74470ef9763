package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/triage"
)

// canAsk tells whether there is somebody to ask: both ends are a terminal, and standard
// input is not taken by a file.
func (a *App) canAsk(f *triageFlags, args []string) bool {
	return !f.asJSON && !slices.Contains(args, "-") && a.errTTY.IsTerminal && a.Probe(a.stdin).IsTerminal
}

// interview asks for what the answers leave open.
type interview struct {
	app     *App
	in      *bufio.Reader
	look    term.Look
	answers triage.Answers
	known   map[string]triage.Known
	asked   []string // keys, in the order in which they were asked
}

// askQuestions asks until the walk is at its end, or until nobody answers any more. It adds
// to answers.
func (a *App) askQuestions(answers triage.Answers, known map[string]triage.Known) error {
	iv := &interview{app: a, in: bufio.NewReader(a.Stdin), look: a.ErrLook(), answers: answers, known: known}
	iv.tellKnown()
	for {
		_, next := triage.Walk(answers)
		if next == nil {
			iv.say("")
			return nil
		}
		if err := report.TriagePrompt(a.Stderr, iv.look, next); err != nil {
			return err
		}
		done, err := iv.answer(next)
		if done || err != nil {
			iv.say("")
			return err
		}
	}
}

// tellKnown says what need not be asked.
func (iv *interview) tellKnown() {
	turns, _ := triage.Walk(iv.answers)
	for _, t := range turns {
		if k, seen := iv.known[t.Question.Key]; seen {
			iv.say("%s %s (%s)", t.Question.Text, t.Option.Text, term.Clean(k.Source))
		}
	}
}

func (iv *interview) say(format string, args ...any) {
	fmt.Fprintf(iv.app.Stderr, format+"\n", args...)
}

// answer reads until there is an answer, or the wish to go back or to end.
func (iv *interview) answer(q *triage.Question) (done bool, err error) {
	for {
		fmt.Fprint(iv.app.Stderr, "number or word, ? explains, b back, q ends: ")
		line, err := iv.in.ReadString('\n')
		word := strings.ToLower(strings.TrimSpace(line))
		if errors.Is(err, io.EOF) && word == "" {
			return true, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
		switch word {
		case "q":
			return true, nil
		case "b":
			iv.back()
			return false, nil
		case "?":
			if err := report.TriageHelp(iv.app.Stderr, iv.look, q); err != nil {
				return true, err
			}
			continue
		}
		if o, ok := pick(q, word); ok {
			iv.answers[q.Key] = o.Value
			iv.asked = append(iv.asked, q.Key)
			return false, nil
		}
		iv.say("%.40q is none of them", word)
	}
}

// back takes the last answer back, if one was given here.
func (iv *interview) back() {
	if len(iv.asked) == 0 {
		iv.say("this is the first question")
		return
	}
	last := len(iv.asked) - 1
	delete(iv.answers, iv.asked[last])
	iv.asked = iv.asked[:last]
}

// pick finds the answer that is meant: by its number, its name, or a beginning that no other
// has.
func pick(q *triage.Question, word string) (triage.Option, bool) {
	if n, err := strconv.Atoi(word); err == nil {
		if n < 1 || n > len(q.Options) {
			return triage.Option{}, false
		}
		return q.Options[n-1], true
	}
	if o, ok := q.Option(word); ok {
		return *o, true
	}
	fits := slices.DeleteFunc(slices.Clone(q.Options), func(o triage.Option) bool { return word == "" || !strings.HasPrefix(o.Value, word) })
	if len(fits) != 1 {
		return triage.Option{}, false
	}
	return fits[0], true
}
