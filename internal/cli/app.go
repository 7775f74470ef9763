// Package cli is the command line of ullage: one file a command. A command parses its
// flags, calls one function of a package below, and hands the result to a printer.
//
// What a command needs of the outside world comes in through App, so that tests run
// whole commands in-process: no command reads the environment, opens a file, looks at
// the clock or ends the process by itself.
package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// App is the outside world, and what the global flags say.
type App struct {
	Stdin     io.Reader
	Stdout    io.Writer // results, and nothing else
	Stderr    io.Writer // errors, warnings, progress
	LookupEnv term.Lookup
	Environ   func() []string        // the whole environment, for a program that is started
	Program   func() (string, error) // the file of this program; may be nil
	Signals   SignalSource
	Files     Files
	Now       func() time.Time
	Probe     func(stream any) term.Terminal
	GPUs      gpu.Machine
	Version   string // set when the program was linked; empty: from the build information

	goos   string    // of a system that tests stand for; empty: this one's
	stdin  io.Reader // Stdin as it was given, for a program that is started
	color  term.ColorMode
	quiet  bool
	out    *resultWriter
	outTTY term.Terminal
	errTTY term.Terminal
}

// SignalSource sends the signals named to a channel until stop is called.
type SignalSource func(to chan<- os.Signal, which ...os.Signal) (stop func())

// Files is the part of the file system that commands read. Names are the system's own
// paths, as the user typed them.
type Files interface {
	Open(name string) (fs.File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// start probes the streams, lets ctx end a read of Stdin that waits, and puts a writer in
// front of Stdout that remembers failure.
func (a *App) start(ctx context.Context) {
	a.stdin = a.Stdin
	a.Stdin = interruptible(ctx, a.Stdin)
	a.outTTY, a.errTTY = a.Probe(a.Stdout), a.Probe(a.Stderr)
	a.out = &resultWriter{w: a.Stdout}
	a.Stdout = a.out
}

// OutLook is what standard output can show.
func (a *App) OutLook() term.Look { return term.NewLook(a.outTTY, a.color, a.LookupEnv) }

// ErrLook is what standard error can show.
func (a *App) ErrLook() term.Look { return term.NewLook(a.errTTY, a.color, a.LookupEnv) }

// Warn prints a line on standard error, unless the user asked for quiet.
func (a *App) Warn(format string, args ...any) {
	if a.quiet {
		return
	}
	look := a.ErrLook()
	fmt.Fprintf(a.Stderr, "ullage: %s %s\n", look.Paint(term.Yellow, "warning:"), term.Clean(fmt.Sprintf(format, args...)))
}

// Progress begins a piece of work of total bytes (0: unknown) that may take long. The
// result may be nil, which is good for use.
func (a *App) Progress(label string, total int64) *term.Progress {
	if a.quiet {
		return nil
	}
	return term.NewProgress(a.Stderr, a.ErrLook(), a.Now, label, total)
}

// resultWriter keeps the first error of writing results: a full disk must not look
// like success, and no printer has to check every line.
type resultWriter struct {
	w   io.Writer
	err error
}

func (r *resultWriter) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.w.Write(p)
	r.err = err
	return n, err
}
