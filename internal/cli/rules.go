package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
)

const rulesLong = `Rules prints what Ullage knows: symptoms that a recording, a log or a live
run can show, and the causes behind them, many of which 'ullage lint' finds in
the code. Without an argument it lists all, with the beginning of an id those
that begin so, with an id the whole page: how it shows, why it happens, how to
confirm it, and what to change.

  ullage rules
  ullage rules leak
  ullage rules frag/pinned-segment`

func newRules(app *App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "rules [ID]",
		Short:             "What can be wrong, how it shows, and what to change",
		Long:              rulesLong,
		GroupID:           groupRead,
		ValidArgsFunction: completeRules,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("%s takes one id, but was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return runRules(app, append(args, "")[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// runRules prints the page of the rule with this id, or the list of those whose id
// begins with it.
func runRules(app *App, id string, asJSON bool) error {
	rule, err := rules.Get(id)
	some := []*rules.Rule{rule}
	if err != nil {
		some = rules.Match(id)
	}
	switch {
	case len(some) == 0:
		return unknownRule(err)
	case asJSON:
		return printJSON(app.Stdout, report.NewRulesJSON(some))
	case err == nil:
		return report.RulePage(app.Stdout, app.OutLook(), rule)
	}
	return report.RuleList(app.Stdout, app.OutLook(), some)
}

func unknownRule(err error) error {
	var unknown *rules.UnknownError
	if errors.As(err, &unknown) {
		return usageErrorf("%w", err)
	}
	return err
}

func completeRules(_ *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 0 {
		for _, r := range rules.Match(begin) {
			ids = append(ids, cobra.CompletionWithDesc(r.ID, r.Title))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
