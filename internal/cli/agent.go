package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/settings"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const agentLong = `Agent watches the GPUs of this machine, hands out their memory as leases, and
answers 'ullage lease', 'ullage top' and Prometheus. It runs until it is told to
end, by SIGTERM or Ctrl-C; jobs go on meanwhile, and the next agent takes their
leases up from its ledger. It logs JSON lines to standard error.

Settings come from ` + defaultConfig + `, or the file that --config names;
then from variables ` + settings.Prefix + `KEY; then from flags. On SIGHUP they are read
again. --check prints what would be in force, or everything that is wrong.

  ullage agent --check
  ullage agent --probe fake:h200x2 --socket u/agent.sock --state u --metrics ""

The agent runs on Linux only: it tells processes apart by what other systems
do not show.`

// defaultConfig is read where it is there and no other file is named.
const defaultConfig = "/etc/ullage/agent.toml"

// agentFlags are settings that have a flag, by the path of their key, and what else was given.
type agentFlags struct {
	config   string
	check    bool
	settings map[string]*string
}

// agentKeys are the settings that have a flag, and what the flag is called.
var agentKeys = []struct{ path, flag, usage string }{
	{"probe", "probe", "what to ask for the GPUs (see 'ullage top --help')"},
	{"socket", "socket", "`path` of the socket to listen on"},
	{"state", "state", "`folder` of the ledger"},
	{"metrics", "metrics", "`address` to listen on for Prometheus; empty for none"},
	{"interval", "interval", "`time` between readings of the GPUs"},
	{"log_level", "log-level", "how much is logged: debug, info, warn or error"},
}

func newAgent(app *App) *cobra.Command {
	f := agentFlags{settings: map[string]*string{}}
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Watch this machine's GPUs, and share their memory out",
		Long:    agentLong,
		GroupID: groupMachine,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			load := func() (settings.Settings, error) { return app.agentSettings(cmd.Flags(), &f) }
			s, err := load()
			switch {
			case f.check:
				return app.checkSettings(s, err)
			case err != nil:
				return settingsError(err)
			case s.State == "":
				return withHint(usageErrorf("there is no home folder to keep the ledger in"), "--state names a folder for it")
			case runtime.GOOS != "linux":
				return fmt.Errorf("the agent runs on Linux only: %s does not tell enough of its processes", runtime.GOOS)
			}
			return app.agent(cmd.Context(), s, load)
		},
	}
	cmd.Flags().StringVar(&f.config, "config", "", "`file` with the settings (default: "+defaultConfig+", where it is there)")
	cmd.Flags().BoolVar(&f.check, "check", false, "print the settings that would be in force, and end")
	for _, k := range agentKeys {
		f.settings[k.path] = cmd.Flags().String(k.flag, "", k.usage)
	}
	allowEmpty(cmd, "metrics")
	completeFlag(cmd, "probe", completeProbes)
	completeFlag(cmd, "log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// agentSettings reads the settings from all that they come from.
func (a *App) agentSettings(given *pflag.FlagSet, f *agentFlags) (settings.Settings, error) {
	base := settings.Default()
	base.Socket, base.State = a.ownSocket(), a.stateFolder()
	src := settings.Source{Environ: a.Environ(), Flags: map[string]string{}}
	for _, k := range agentKeys {
		if given.Changed(k.flag) {
			src.Flags[k.path] = *f.settings[k.path]
			if k.path == "socket" || k.path == "state" { // of a flag, a path is from where it was typed
				src.Flags[k.path] = whole(src.Flags[k.path])
			}
		}
	}
	var err error
	if src.File, src.Text, err = a.configFile(f.config); err != nil {
		return base, err
	}
	return settings.Load(base, src)
}

// ownSocket is where an agent listens by default: ULLAGE_SOCKET counts, as it does for those
// who look for the agent.
func (a *App) ownSocket() string {
	if path := a.env(client.SocketVariable); path != "" {
		return path
	}
	return client.OwnSocket(a.LookupEnv, a.GPUs.UID)
}

// stateFolder is where an agent keeps its ledger by default; empty where the user has no home.
func (a *App) stateFolder() string {
	if a.GPUs.UID == 0 {
		return "/var/lib/ullage"
	}
	if dir := a.env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ullage")
	}
	if home := a.env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "ullage")
	}
	return ""
}

// maxConfig is more than any file of settings has; what is longer is told so by package
// settings.
const maxConfig = units.MiB

// configFile reads the file of settings. One that nobody named may be missing: then it has no
// name.
func (a *App) configFile(named string) (name string, text []byte, err error) {
	if name = named; name == "" {
		name = a.env(settings.ConfigVariable)
	}
	byDefault := name == ""
	if byDefault {
		name = defaultConfig
	}
	f, err := a.machine().Open(name)
	if byDefault && errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, inputError(err)
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, maxConfig)); err != nil {
		return "", nil, inputError(fmt.Errorf("%s: %w", name, err))
	}
	return name, text, nil
}

// checkSettings prints settings, or all that is wrong with them.
func (a *App) checkSettings(s settings.Settings, err error) error {
	var faults *settings.FaultsError
	if !errors.As(err, &faults) {
		if err == nil {
			_, err = io.WriteString(a.Stdout, s.TOML())
		}
		return err
	}
	for _, f := range faults.Faults {
		fmt.Fprintln(a.Stdout, term.Clean(f.String())) // a failure is kept by Stdout
	}
	n := units.FormatPlural(len(faults.Faults), "fault", "faults")
	return settingsKind(faults, fmt.Errorf("%s in the agent's settings", n))
}

// settingsError gives faults of the settings their kind: those of flags alone are of usage.
func settingsError(err error) error {
	var faults *settings.FaultsError
	if !errors.As(err, &faults) {
		return err
	}
	return settingsKind(faults, err)
}

func settingsKind(faults *settings.FaultsError, err error) error {
	if faults.OfFlags {
		return &kindError{kindUsage, err}
	}
	return inputError(err)
}

func completeProbes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(gpu.Specs(), "file:"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// agent runs the agent with settings, and reads them again on SIGHUP.
func (a *App) agent(ctx context.Context, s settings.Settings, load func() (settings.Settings, error)) error {
	r := agentRun{app: a, settings: s, load: load}
	defer r.close()
	for _, step := range []func(context.Context) error{r.openLog, r.openState, r.openProbe, r.openProcesses, r.build} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return r.run(ctx)
}
