package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
)

// calibrateSeconds is what the measuring is given, of which the convolutions get what the rest
// leaves: it is to be done in a minute, slow starts of Python included.
const calibrateSeconds = 48

// calibrationFlags are those that go with --calibrate, the global ones included.
var calibrationFlags = []string{"calibrate", "gpu-index", "out", "json", "color", "quiet"}

// calibrate measures a GPU of this machine and writes the card.
func calibrate(app *App, f *fitFlags, cmd *cobra.Command, args []string) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if wrong == nil && !slices.Contains(calibrationFlags, flag.Name) {
			wrong = usageErrorf("--calibrate measures a GPU and predicts nothing: --%s does not go with it", flag.Name)
		}
	})
	switch {
	case wrong != nil:
		return wrong
	case f.gpuIndex < 0 || f.gpuIndex > 1023:
		return usageErrorf("--gpu-index: %d is not a number from 0 to 1023", f.gpuIndex)
	}
	if option := child.ShutsOut(args); option != "" {
		return usageErrorf("python ignores what ullage adds to its path under %s: run it without", option)
	}
	if len(args) == 0 {
		args = []string{"python3"}
		if runtime.GOOS == "windows" {
			args = []string{"python"}
		}
	}
	c := &calibrator{app, f, args}
	card, err := c.measure(cmd.Context())
	if err != nil {
		return err
	}
	return c.write(card)
}

// calibrator carries one run of --calibrate.
type calibrator struct {
	app  *App
	f    *fitFlags
	args []string // Python, and what it is started with
}

// measure runs the companion and makes a card of what it measured.
func (c *calibrator) measure(ctx context.Context) (*fit.Profile, error) {
	plan := fit.CalibrationPlan()
	session, err := child.OpenCalibrate(child.Bases(c.app.LookupEnv), child.CalibrateConfig{Index: c.f.gpuIndex, Seconds: calibrateSeconds, Convolutions: plan})
	if err != nil {
		return nil, withHint(err, "set HOME, XDG_CACHE_HOME or TMPDIR to a folder that only you can write to")
	}
	defer session.Close()
	code, err := c.start(ctx, session)
	if err != nil {
		return nil, err
	}
	if all := session.Problems(); len(all) > 0 {
		p := all[0]
		if p.Hint == "" {
			return nil, errors.New(p.Message)
		}
		return nil, withHint(errors.New(p.Message), "%s", p.Hint)
	}
	file, err := os.Open(session.Measurements())
	if err != nil {
		return nil, withHint(fmt.Errorf("nothing was measured: %s ended with exit code %d", c.args[0], code),
			"name the Python that has PyTorch, as in: ullage fit --calibrate -- .venv/bin/python")
	}
	defer file.Close()
	m, err := fit.ReadMeasurements(file, "measured.jsonl")
	if err != nil {
		return nil, err
	}
	return m.Profile(c.app.Now(), plan)
}

// start runs Python to its end. What it prints is no result.
func (c *calibrator) start(ctx context.Context, session *child.CalibrateSession) (int, error) {
	signals := make(chan os.Signal, 16)
	defer c.app.Signals(signals, child.Signals()...)()
	command := child.Command{Args: append(slices.Clone(c.args), session.Arguments()...), Environ: session.Environ(c.app.Environ()), Stdin: bytes.NewReader(nil), Stdout: c.app.Stderr, Stderr: c.app.Stderr}
	code, err := child.Run(command, signals)
	if err == nil {
		err = ctx.Err()
	}
	return code, startedError(err)
}

// write puts the card into --out, with a report on standard output, or else the card itself
// there and the report among the messages.
func (c *calibrator) write(card *fit.Profile) error {
	data, err := json.MarshalIndent(card, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	out := c.app.Stdout
	if c.f.out == "" || c.f.json {
		if _, err := out.Write(data); err != nil {
			return err
		}
		out = c.app.Stderr
	}
	if c.f.out != "" {
		if err := os.WriteFile(c.f.out, data, 0o666); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if out == c.app.Stderr && c.app.quiet {
		return nil
	}
	look := c.app.OutLook()
	if out == c.app.Stderr {
		look = c.app.ErrLook()
	}
	return report.Calibration(out, look, card, c.f.out)
}

// otherReleases tells of a card that was calibrated with other releases than the program has:
// kernels, and what they take, are theirs.
func (r *fitter) otherReleases(t *fit.Trace) []string {
	differs := r.profile.Calibration.Differs(&t.Meta)
	if differs == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s was calibrated with %s: workspaces may differ", r.f.gpu, differs)}
}
