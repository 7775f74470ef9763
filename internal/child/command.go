package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Command is a program to run.
type Command struct {
	Args           []string
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit codes for programs that could not be started, as shells have them.
const (
	ExitCannotRun = 126
	ExitNotFound  = 127
)

// StartError is a program that could not be started.
type StartError struct {
	Code int // ExitCannotRun or ExitNotFound
	Err  error

	name string // of the program, as it was given
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Hint says what to try, or is "" where nothing is known but the error.
func (e *StartError) Hint() string {
	info, err := os.Stat(e.name)
	switch isFile := err == nil && info.Mode().IsRegular(); {
	case !isFile:
		return ""
	case strings.HasSuffix(e.name, ".py"):
		return "it is run by Python, as in: python " + e.name
	case errors.Is(e.Err, fs.ErrNotExist) && strings.ContainsAny(e.name, `/\`):
		return "the file is there, but not the interpreter that its first line names, or the loader that it needs"
	case errors.Is(e.Err, exec.ErrNotFound):
		return "the current folder is not searched for programs: ./" + e.name
	case errors.Is(e.Err, syscall.ENOEXEC):
		return "it is no program of this system, and has no first line that names an interpreter, as #!/bin/sh"
	}
	return ""
}

// Run runs a program to its end and returns its exit code: 128 and the number of the signal
// where one ended it. Signals from the channel are handed on to it. The program stays in
// this process's group, so that the keys of a terminal (Ctrl-C, Ctrl-Z) do what they always do.
func Run(c Command, signals <-chan os.Signal) (int, error) {
	cmd, err := start(c)
	if err != nil {
		return 0, err
	}
	return await(cmd, signals)
}

func start(c Command) (*exec.Cmd, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Environ, c.Stdin, c.Stdout, c.Stderr
	if err := cmd.Start(); err != nil {
		return nil, startError(c.Args[0], err)
	}
	return cmd, nil
}

// await waits for a program's end and hands signals on to it.
func await(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			deliver(cmd.Process, s)
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, fmt.Errorf("%s: %w", cmd.Args[0], err)
			}
			return statusOf(cmd.ProcessState), nil
		}
	}
}

// TooLong tells whether a program could not be started because its arguments or its
// environment are longer than the system takes.
func TooLong(err error) bool { return errors.Is(err, syscall.E2BIG) }

func startError(name string, err error) error {
	code := ExitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = ExitNotFound
	}
	var e *exec.Error
	var p *fs.PathError
	switch {
	case errors.As(err, &e):
		err = e.Err
	case errors.As(err, &p):
		err = p.Err
	}
	return &StartError{code, fmt.Errorf("cannot run %s: %w", name, err), name}
}

// CheckProgram returns the *StartError that Run would return for a program that is not there, so
// that it is known before anything is done for the program.
func CheckProgram(name string) error {
	if _, err := exec.LookPath(name); err != nil && !errors.Is(err, exec.ErrDot) {
		return startError(name, err)
	}
	return nil
}
