package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/internal/viewer"
	"github.com/ullage-dev/ullage/web"
)

const viewLong = `View opens a page in the browser on which recordings can be looked at: memory
over time, a map of addresses, what is live at any event and whose it is, with
all that explain says. It serves the page on this machine only, fetches nothing
from elsewhere, and runs until it is interrupted or terminated. The first line
on standard output is the page's address.

Several files, or a folder, are taken for the ranks of one job. The page can be
used as soon as the first is read. With --export the page goes into one file
that opens without a server.

  ullage view run.pickle
  ullage view --no-open --port 7070 rank*.pickle
  ullage view --export page.html --max-size 5MB --redact run.pickle`

// viewFlags are the command's flags as they were given.
type viewFlags struct {
	port      int
	noOpen    bool
	export    string
	maxSize   string
	redact    bool
	devAssets string
}

// defaultMaxSize is the size of an exported page that mail and chat still take.
const defaultMaxSize = "20MB"

func newView(app *App) *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:     "view FILE...",
		Short:   "Look at recordings in the browser",
		Long:    viewLong,
		GroupID: groupRead,
		Args:    atLeast(1, "a recording, a folder, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := newViewing(app, &f, cmd.Flags().Changed("max-size"))
			if err != nil {
				return err
			}
			ctx, stop := app.untilTerminated(cmd.Context())
			defer stop()
			return v.run(ctx, args)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.port, "port", 0, "serve on this `port`; 0 is a free one")
	fl.BoolVar(&f.noOpen, "no-open", false, "open no browser")
	fl.StringVar(&f.export, "export", "", "write the page with its answers to this `file`, and serve nothing")
	fl.StringVar(&f.maxSize, "max-size", defaultMaxSize, "with --export, the largest `size` of the file")
	fl.BoolVar(&f.redact, "redact", false, "leave out paths and names of the program")
	fl.StringVar(&f.devAssets, "dev-assets", "", "take the page's code from this `folder` at every request, for work on it")
	exclusive(cmd, "export", "port")
	exclusive(cmd, "export", "no-open")
	return cmd
}

// view carries one run of the command.
type view struct {
	app      *App
	f        *viewFlags
	maxBytes int64
	explain  *explainer // reads and explains the files as explain does without flags
}

func newViewing(app *App, f *viewFlags, sized bool) (*view, error) {
	app.Stderr = &lockedWriter{w: app.Stderr}
	v := &view{app: app, f: f}
	if f.port < 0 || f.port > 65535 {
		return nil, usageErrorf("--port: %d is not a port; they go up to 65535, and 0 takes a free one", f.port)
	}
	if sized && f.export == "" {
		return nil, usageErrorf("--max-size is the size of the file that --export writes")
	}
	n, err := units.ParseBytes(f.maxSize)
	if err != nil {
		return nil, usageErrorf("--max-size: %w", err)
	}
	v.maxBytes = n
	v.explain, err = newExplainer(app, &explainFlags{by: "line", top: 10, device: -1, redact: f.redact, json: true})
	return v, err
}

func (v *view) run(ctx context.Context, args []string) error {
	if err := checkTarget(v.f.export); err != nil {
		return err
	}
	files, err := v.files(ctx, args)
	if err != nil {
		return err
	}
	build, _ := debug.ReadBuildInfo()
	cfg := viewer.Config{
		Version: newVersionInfo(v.app.Version, build).Version, Files: files, Page: web.Dist(), Now: v.app.Now, Log: v.app.Stderr,
	}
	if v.f.devAssets != "" {
		cfg.Page, cfg.Live = os.DirFS(v.f.devAssets), true
	}
	server, err := viewer.New(cfg)
	if err != nil {
		return inputError(fileError(v.f.devAssets, err))
	}
	if v.f.export != "" {
		return v.export(ctx, server, len(files))
	}
	return v.serve(ctx, server, len(files))
}

// servingGC is how much garbage, in percent of what is kept, is let lie before it is
// collected. What a recording keeps is some 60 bytes an event and stays; answers leave
// garbage that is soon gone. Go's own 100 would let 5.2 million events take twice 350 MB for
// that; at 40 it is below 500 MB, and a collection, of 50 ms on one core, comes every few
// hundred answers.
const servingGC = 40

// load reads the files. It warns of each that cannot be shown; where none can, the first
// one's error ends the command.
func (v *view) load(ctx context.Context, server *viewer.Server, files int) error {
	errs := server.Load(ctx)
	debug.FreeOSMemory() // reading needs up to twice what is kept of it
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(errs) == files:
		return errs[0]
	}
	for _, err := range errs {
		v.app.Warn("%v", err)
	}
	return nil
}

// serve serves until ctx ends, which is how the command is meant to end, or until it is
// clear that no file can be shown.
func (v *view) serve(ctx context.Context, server *viewer.Server, files int) error {
	l, err := viewer.Listen(v.f.port)
	if err != nil {
		return v.portError(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(servingGC))
	fmt.Fprintln(v.app.Stdout, pageAddress(l))
	loading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := v.load(loading, server, files); err != nil {
			stop(err)
		}
	})
	beside.Go(func() { v.open(loading, pageAddress(l), l.Addr().(*net.TCPAddr).Port) })
	err = server.Serve(loading, l)
	stop(nil)
	beside.Wait()
	if ctx.Err() == nil && err == nil {
		err = context.Cause(loading)
	}
	return err
}

func pageAddress(l net.Listener) string { return "http://" + l.Addr().String() + "/" }

// wsaAddressInUse is EADDRINUSE as Windows has it, which syscall.EADDRINUSE is not there.
const wsaAddressInUse = syscall.Errno(10048)

// portError says why a port cannot be had.
func (v *view) portError(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse):
		return withHint(fmt.Errorf("port %d is taken by another program", v.f.port), "without --port a free one is found")
	case errors.Is(err, fs.ErrPermission):
		return withHint(fmt.Errorf("port %d is not for this user", v.f.port), "without --port a free one is found")
	}
	return fmt.Errorf("cannot serve the page: %w", err)
}

// open opens the page in a browser, or says how to get at it.
func (v *view) open(ctx context.Context, address string, port int) {
	if v.f.noOpen {
		return
	}
	how := v.app.browser()
	switch {
	case how.remote:
		v.app.note("this is a remote machine; on yours, run: %s", v.app.tunnel(port))
	case len(how.command) == 0:
		v.app.note("there is no screen to open a browser on; the page is at the address above")
	default:
		if err := openBrowser(ctx, how.command, address); err != nil {
			v.app.Warn("no browser could be opened (%v); the page is at the address above", err)
		}
	}
}

// untilTerminated returns ctx, which now ends too when a service manager, or a script that
// started the program, asks it to end: with SIGTERM. A second one ends it at once.
func (a *App) untilTerminated(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	a.Stdin = interruptible(ctx, a.Stdin)
	terminated := make(chan os.Signal, 1)
	stop := a.Signals(terminated, syscall.SIGTERM)
	go func() {
		defer stop()
		select {
		case <-terminated:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// lockedWriter lets goroutines write line by line: what is read, what is served and how the
// page is opened are told side by side.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// note prints a line on standard error, unless the user asked for quiet.
func (a *App) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Stderr, "ullage: %s\n", term.Clean(fmt.Sprintf(format, args...)))
	}
}
