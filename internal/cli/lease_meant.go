package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/client"
)

// meantFlags say which lease is meant, besides its number.
type meantFlags struct {
	user  string
	epoch int64
}

func (f *meantFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.user, "user", "", "`name` of the user whose lease it is (default: you)")
	cmd.Flags().Int64Var(&f.epoch, "epoch", 0, "`number` of its grant, as $"+child.EpochVariable+" has it")
}

// of is what is meant by a number. The lease that this command is started under is that of its
// grant: the environment may be older than the agent's ledger.
func (f *meantFlags) of(a *App, id int64) client.Meant {
	m := client.Meant{User: f.user, Epoch: f.epoch}
	if own, _ := a.LookupEnv(child.LeaseVariable); m.Epoch == 0 && own == strconv.FormatInt(id, 10) {
		text, _ := a.LookupEnv(child.EpochVariable)
		m.Epoch, _ = strconv.ParseInt(text, 10, 64) // one that is no number tells nothing
	}
	return m
}
