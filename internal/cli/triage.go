package cli

import (
	"context"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/triage"
)

const triageLong = `Triage walks from what you see to what causes it, as a doctor would, and ends in
the likely causes, how to confirm each, and what to change.

It looks before it asks: recordings, logs and error messages are explained,
sources and folders of sources are linted, and this machine is examined as by
'ullage doctor', unless --elsewhere says that the program runs on another. What
that answers is not asked for. The rest it asks in a terminal: answer by number
or by the beginning of a word, ? explains the question, b goes back, q ends.
Without a terminal it asks nothing: it says which answers are missing and what
is likeliest from what is known.

Answers alone never make a cause certain: something has to be seen, too.

  ullage triage
  ullage triage oom.log train.py
  ullage triage --elsewhere --answer symptom=stays --answer after=error
  ullage triage --list`

type triageFlags struct {
	answers   []string
	list      bool
	asJSON    bool
	elsewhere bool
	machine   doctorFlags
}

func newTriage(app *App) *cobra.Command {
	f := triageFlags{machine: doctorFlags{probe: "auto", timeout: defaultDoctorTimeout}}
	cmd := &cobra.Command{
		Use:     "triage [FILE...]",
		Short:   "From what you see to what causes it, by questions",
		Long:    triageLong,
		GroupID: groupRead,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.triage(cmd.Context(), &f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.answers, "answer", nil, "an answer, as `question=answer`; may be given again")
	fl.BoolVar(&f.list, "list", false, "print all questions with their answers, and ask none")
	fl.BoolVar(&f.elsewhere, "elsewhere", false, "the program runs on another machine: do not look at this one")
	fl.StringVar(&f.machine.python, "python", "", "the `interpreter` to ask for PyTorch (default: python, else python3); none asks none")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON, and ask nothing")
	f.machine.addTo(cmd, false)
	completeFlag(cmd, "answer", completeAnswers)
	return cmd
}

// completeAnswers completes a question, and after its "=" an answer.
func completeAnswers(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, q := range triage.Questions() {
		for _, o := range q.Options {
			if word := q.Key + "=" + o.Value; strings.HasPrefix(word, begin) {
				words = append(words, cobra.CompletionWithDesc(word, o.Text))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// triage runs the command: look, read off what that answers, ask for the rest, conclude.
func (a *App) triage(ctx context.Context, f *triageFlags, args []string) error {
	given, err := parseAnswers(f.answers)
	if err != nil {
		return err
	}
	if f.list {
		return a.listQuestions(f)
	}
	sights, err := a.look(ctx, f, args)
	if err != nil {
		return err
	}
	known := map[string]triage.Known{}
	answers := triage.Answers{}
	for _, k := range triage.Read(sights) {
		if _, ok := given[k.Key]; !ok { // people may know better
			known[k.Key] = k
			answers[k.Key] = k.Value
		}
	}
	maps.Copy(answers, given)
	if a.canAsk(f, args) {
		if err := a.askQuestions(answers, known); err != nil {
			return err
		}
	}
	result := &report.TriageResult{Outcome: triage.Conclude(answers, sights), Known: known, Sights: sights}
	result.Unused = givenOnly(result.Unused, given)
	if f.asJSON {
		return printJSON(a.Stdout, report.NewTriageJSON(result))
	}
	return report.Triage(a.Stdout, a.OutLook(), result)
}

// givenOnly leaves out what was seen: it need not be used.
func givenOnly(keys []string, given triage.Answers) (left []string) {
	for _, key := range keys {
		if _, ok := given[key]; ok {
			left = append(left, key)
		}
	}
	return left
}

func parseAnswers(words []string) (triage.Answers, error) {
	answers := triage.Answers{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			return nil, withHint(usageErrorf("--answer: %.60q is not of the form question=answer", word), "ullage triage --list prints them all")
		}
		if err := triage.CheckAnswer(key, value); err != nil {
			return nil, withHint(usageErrorf("--answer: %w", err), "ullage triage --list prints them all")
		}
		if before, again := answers[key]; again && before != value {
			return nil, usageErrorf("--answer: %s is answered twice, by %s and by %s", key, before, value)
		}
		answers[key] = value
	}
	return answers, nil
}

func (a *App) listQuestions(f *triageFlags) error {
	all := triage.Questions()
	list := make([]*triage.Question, len(all))
	for i := range all {
		list[i] = &all[i]
	}
	if f.asJSON {
		return printJSON(a.Stdout, report.TriageListJSON{Questions: report.NewTriageQuestionsJSON(list)})
	}
	return report.TriageList(a.Stdout, a.OutLook(), list)
}
