package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Machine is what probes need of the world around them.
type Machine struct {
	Root  fs.FS // the file system, from its root: proc, sys, etc
	Open  func(path string) (io.ReadCloser, error)
	Run   func(ctx context.Context, program string, args ...string) ([]byte, error) // and returns what it prints, also when it fails
	User  func(uid int) string                                                      // the name of a user; empty where there is none
	UID   int                                                                       // of the user who runs the program
	NVML  func(Machine) (Probe, error)                                              // loads the library
	Clock Clock
}

// Clock tells the time, and when a span of it is over.
type Clock interface {
	Now() time.Time
	// Timer sends once, after d, unless stop is called first.
	Timer(d time.Duration) (over <-chan time.Time, stop func())
}

// ThisMachine is the machine that the program runs on.
func ThisMachine() Machine {
	return Machine{
		Root:  os.DirFS("/"),
		Open:  func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Run:   runProgram,
		User:  remember(systemClock{}, userName),
		UID:   os.Geteuid(),
		NVML:  openNVML,
		Clock: systemClock{},
	}
}

// NoMachine is one without a GPU, and without anything else: for tests.
func NoMachine(clock Clock) Machine {
	return Machine{
		Root: nothing{},
		Open: func(path string) (io.ReadCloser, error) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Run: func(_ context.Context, program string, _ ...string) ([]byte, error) {
			return nil, fmt.Errorf("%s: %w", program, errNotInstalled)
		},
		User:  func(int) string { return "" },
		UID:   -1,
		NVML:  func(Machine) (Probe, error) { return nil, errNoLibrary },
		Clock: clock,
	}
}

// errNoLibrary is the error of a machine without NVIDIA's driver.
var errNoLibrary = errors.New("NVML (libnvidia-ml.so.1) is not installed")

// nothing is an empty file system.
type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return ""
	}
	return u.Username
}

// NamesAge is for how long a user's name is taken as it was: numbers are given to others seldom,
// and where users come from a directory server, asking takes as long as its network.
const NamesAge = 10 * time.Minute

// remember asks for each name once in NamesAge.
func remember(clock Clock, ask func(uid int) string) func(uid int) string {
	type known struct {
		name  string
		asked time.Time
	}
	var mu sync.Mutex
	names := map[int]known{}
	return func(uid int) string {
		mu.Lock()
		defer mu.Unlock()
		have, ok := names[uid]
		if now := clock.Now(); !ok || now.Sub(have.asked) >= NamesAge {
			have = known{ask(uid), now}
			names[uid] = have
		}
		return have.name
	}
}

// maxProgramOutput bounds what is read of a program: 8 devices with 200 processes print
// less than a megabyte.
const maxProgramOutput = 32 << 20

// errNotInstalled is the error of Run where there is no such program.
var errNotInstalled = errors.New("not installed")

func runProgram(ctx context.Context, program string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, errNotInstalled)
	}
	var stdout, stderr limitedBuffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return stdout.kept.Bytes(), fmt.Errorf("%s: %w%s", program, err, said(stderr.kept.Bytes(), stdout.kept.Bytes()))
	}
	if stdout.cut {
		return nil, fmt.Errorf("%s printed more than %d bytes", program, maxProgramOutput)
	}
	return stdout.kept.Bytes(), nil
}

// said is what a program that failed had to say. nvidia-smi says it on standard output, which
// otherwise has XML.
func said(stderr, stdout []byte) string {
	if bytes.HasPrefix(stdout, []byte("<")) {
		stdout = nil
	}
	words := strings.Join(strings.Fields(string(stderr)+" "+string(stdout)), " ")
	if words == "" {
		return ""
	}
	return fmt.Sprintf(": %.300s", words)
}

// limitedBuffer keeps the first maxProgramOutput bytes. The buffer is not embedded: io.Copy
// would find its ReadFrom, which knows no limit.
type limitedBuffer struct {
	kept bytes.Buffer
	cut  bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := maxProgramOutput - b.kept.Len()
	b.cut = b.cut || len(p) > room
	b.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}
