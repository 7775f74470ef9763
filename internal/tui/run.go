package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// framesPerSecond bounds how often the screen is redrawn: over a slow line more is a burden.
const framesPerSecond = 10

// Run shows the monitor on a terminal until the user quits or ctx is cancelled. environ is
// what tells of the terminal.
func Run(ctx context.Context, in io.Reader, out io.Writer, environ []string, o Options) error {
	// The library's own idea of colour takes NO_COLOR=yes for no; Look has decided already.
	profile := colorprofile.ASCII
	if o.Look.Color {
		profile = colorprofile.ANSI
	}
	p := tea.NewProgram(newModel(ctx, o),
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
		tea.WithColorProfile(profile), tea.WithFPS(framesPerSecond))
	_, err := p.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	}
	return err
}
