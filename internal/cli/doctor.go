package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/report"
)

const doctorLong = `Doctor looks at this machine as PyTorch programs find it: whether the driver,
its CUDA, PyTorch and the GPUs fit together; which settings of the allocator are
in force, and which are passed over without a word; which devices a program
gets; what MIG, ECC and other modes cost; who holds memory that nobody needs;
and what limits the host sets. For each it says what that means and what to do.

It needs no GPU and no Python: what cannot be seen is told as unknown, with the
reason. It changes nothing, and makes no CUDA context.

PyTorch is asked in the interpreter that "python" means (else "python3"), or in
the one that --python names, in this shell's environment: run it where you would
run the program, in its container and with its variables.

The exit code is 0 whatever is found, unless --fail-on is given.

  ullage doctor
  ullage doctor --python .venv/bin/python --fail-on problem
  ullage doctor --probe fake:h100-mig --json`

const defaultDoctorTimeout = 60 * time.Second // importing PyTorch from a cold network disk takes half of it

type doctorFlags struct {
	asJSON  bool
	probe   string
	python  string
	timeout time.Duration
	failOn  string
	connection
}

func newDoctor(app *App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check that this machine is fit for PyTorch on its GPUs",
		Long:    doctorLong,
		GroupID: groupMachine,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.doctor(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	fl.StringVar(&f.probe, "probe", "auto", "what to ask for the GPUs, as for 'ullage top'")
	fl.StringVar(&f.python, "python", "", "the `interpreter` to ask for PyTorch (default: python, else python3); none asks none")
	fl.DurationVar(&f.timeout, "timeout", defaultDoctorTimeout, "how long the interpreter may take")
	fl.StringVar(&f.failOn, "fail-on", "", "exit with 3 from this `state` on: note, warning or problem")
	f.connection.addTo(cmd, false)
	completeFlag(cmd, "probe", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(gpu.Specs(), "file:"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	completeFlag(cmd, "fail-on", cobra.FixedCompletions(doctor.Levels(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// doctor collects the facts, has them judged, and prints what came of it.
func (a *App) doctor(ctx context.Context, f *doctorFlags) error {
	level, ok := doctor.ParseLevel(f.failOn)
	switch {
	case f.failOn != "" && !ok:
		return withHint(usageErrorf("--fail-on: %.40q is no state to fail on", f.failOn), "one of %s", strings.Join(doctor.Levels(), ", "))
	case f.timeout < time.Second:
		return usageErrorf("--timeout: %v is too short; the shortest is %v", f.timeout, time.Second)
	}
	if err := gpu.CheckSpec(f.probe); err != nil {
		return topError(err)
	}
	facts, err := a.doctorFacts(ctx, f)
	if err != nil {
		return err
	}
	result := doctor.Examine(facts)
	if f.asJSON {
		err = printJSON(a.Stdout, report.NewDoctorJSON(&result))
	} else {
		err = report.Doctor(a.Stdout, a.OutLook(), &result)
	}
	if err == nil && f.failOn != "" && result.Verdict.State >= level {
		err = findingErrorf("the worst of the checks is a %v", result.Verdict.State)
	}
	return err
}
