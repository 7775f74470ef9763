package cli

import (
	"github.com/spf13/cobra"
)

const completionLong = `Completion prints a script that lets a shell complete the commands, flags and
file names of ullage.

  bash        source <(ullage completion bash)
              or write it to /etc/bash_completion.d/ullage
  zsh         ullage completion zsh > "${fpath[1]}/_ullage"
  fish        ullage completion fish > ~/.config/fish/completions/ullage.fish
  powershell  ullage completion powershell | Out-String | Invoke-Expression`

func newCompletion(app *App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:                   "completion bash|zsh|fish|powershell",
		Short:                 "Print a script that completes ullage's commands in a shell",
		Long:                  completionLong,
		GroupID:               groupOther,
		Args:                  oneOf(shells...),
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(app.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(app.Stdout)
			case "fish":
				return root.GenFishCompletion(app.Stdout, true)
			default: // powershell: oneOf lets no other word through
				return root.GenPowerShellCompletionWithDesc(app.Stdout)
			}
		},
	}
}
