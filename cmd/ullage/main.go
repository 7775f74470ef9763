// Command ullage explains the GPU memory of PyTorch programs. See package cli for the
// commands, and docs/architecture.md for how the rest hangs together.
package main

import (
	"context"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"github.com/ullage-dev/ullage/internal/cli"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// The first interrupt asks the command to stop; from then on the system's own
	// handling is back, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, &cli.App{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Environ:   os.Environ,
		Program:   os.Executable,
		Signals:   signals,
		Files:     files{},
		Now:       time.Now,
		Probe:     term.Probe,
		GPUs:      gpu.ThisMachine(),
		Version:   version,
	}, os.Args[1:])
}

// signals passes on the signals that the process gets.
func signals(to chan<- os.Signal, which ...os.Signal) (stop func()) {
	signal.Notify(to, which...)
	return func() { signal.Stop(to) }
}

// files is the system's own file system.
type files struct{}

func (files) Open(name string) (fs.File, error)          { return os.Open(name) }
func (files) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
