package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// How long each collector may take. Files of /proc and /sys are read at once, but a file
// system that hangs must not hang the command. Probes and Python have limits of their own.
const (
	filesDeadline = 5 * time.Second
	agentDeadline = 3 * time.Second
)

// doctorFacts collects all facts, each kind at the same time as the others. An error is one
// of what the user asked for: a recorded reading that cannot be read.
func (a *App) doctorFacts(ctx context.Context, f *doctorFlags) (*doctor.Facts, error) {
	facts := &doctor.Facts{System: a.system(), UID: a.GPUs.UID, Env: map[string]string{}}
	for _, name := range doctor.Variables() {
		if value, set := a.LookupEnv(name); set {
			facts.Env[name] = value
		}
	}
	for _, e := range a.Environ() {
		name, _, _ := strings.Cut(e, "=")
		facts.Names = append(facts.Names, name)
	}
	slices.Sort(facts.Names)
	facts.Probe.Spec, facts.Probe.Here = f.probe, gpu.OfThisMachine(f.probe)
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { failed = a.readGPUs(ctx, f.probe, facts) })
	wg.Go(func() { a.readHost(ctx, facts) })
	wg.Go(func() { facts.Python = a.askPython(ctx, f) })
	wg.Go(func() { facts.Agent = a.askAgent(ctx, f) })
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return facts, failed
}

// system is the system that the program was built for; tests of others name it.
func (a *App) system() string {
	if a.goos != "" {
		return a.goos
	}
	return runtime.GOOS
}

// within runs a collector, and goes on without it once its time is over: what it is stuck in
// cannot be stopped. It returns whether the collector came back.
func within[T any](ctx context.Context, limit time.Duration, collect func(context.Context) T) (value T, in bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan T, 1)
	go func() { done <- collect(ctx) }()
	select {
	case value = <-done:
		return value, true
	case <-ctx.Done():
		return value, false
	}
}

func (a *App) readGPUs(ctx context.Context, spec string, facts *doctor.Facts) error {
	reading, tasks, err := a.readDevices(ctx, spec)
	if err != nil {
		if !facts.Probe.Here {
			return topError(err)
		}
		facts.Probe.Tried = reasonsOf(err)
		facts.Probe.Stuck = errors.As(err, new(*gpu.StuckError))
		return nil
	}
	facts.Probe.Reading, facts.Tasks, facts.AllSeen = &reading, tasks, gpu.SeesAll(a.GPUs.Root)
	var ill error
	if facts.Health, ill = gpu.Examine(ctx, spec, a.machine()); ill != nil {
		facts.Ill = ill.Error()
	}
	return nil
}

// readDevices reads the devices, and looks the processes up that hold their memory. Where one
// is gone, both are done again: it may have ended in between.
func (a *App) readDevices(ctx context.Context, spec string) (reading gpu.Reading, tasks map[int]doctor.Task, err error) {
	for range 2 {
		if reading, err = readOnce(ctx, spec, a.machine()); err != nil || !gpu.OfThisMachine(spec) {
			return reading, nil, err
		}
		tasks = readTasks(a.GPUs.Root, &reading)
		gone := false
		for _, t := range tasks {
			gone = gone || t.Gone
		}
		if !gone {
			break
		}
	}
	return reading, tasks, nil
}

// reasonsOf takes an error apart that says what each probe said. That this is no board goes
// without saying.
func reasonsOf(err error) (reasons []string) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, e := range many.Unwrap() {
		if !errors.Is(e, gpu.ErrNoBoard) {
			reasons = append(reasons, e.Error())
		}
	}
	return reasons
}

func readOnce(ctx context.Context, spec string, m gpu.Machine) (gpu.Reading, error) {
	probe, err := gpu.Open(ctx, spec, m)
	if err != nil {
		return gpu.Reading{}, err
	}
	defer probe.Close()
	return probe.Read(ctx)
}

// hostFacts are what files tell.
type hostFacts struct {
	files   map[string]doctor.File
	nodes   []doctor.Node
	rdma    []string
	bus     []string
	daemons []string
}

func (a *App) readHost(ctx context.Context, facts *doctor.Facts) {
	host, in := within(ctx, filesDeadline, func(context.Context) hostFacts {
		root := a.GPUs.Root
		files := map[string]doctor.File{}
		readFiles(root, doctor.Wanted(), files)
		readFiles(root, doctor.WantedOf(files["/proc/self/cgroup"].Text), files)
		return hostFacts{files, readNodes(root), readRDMA(root), readBus(root), readDaemons(root)}
	})
	if in {
		facts.Files, facts.Nodes, facts.RDMA, facts.Bus, facts.Daemons = host.files, host.nodes, host.rdma, host.bus, host.daemons
	}
}

// maxFact bounds what is read of a file: /proc/modules of a large machine has 20 KiB, the
// mounts of one with many containers some hundred.
const maxFact = 1 << 20

func readFiles(root fs.FS, names []string, into map[string]doctor.File) {
	for _, name := range names {
		text, err := readFact(root, name)
		f := doctor.File{Text: text}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Missing = true
		case err != nil:
			f.Err = reason(err)
		}
		into[name] = f
	}
}

func readFact(root fs.FS, name string) (string, error) {
	info, err := fs.Stat(root, strings.TrimPrefix(name, "/"))
	if err != nil || info.Mode()&fs.ModeType != 0 { // a device, which is only looked for
		return "", err
	}
	file, err := root.Open(strings.TrimPrefix(name, "/"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFact))
	return string(text), err
}

// reason is an error without the operation and the path, which are plain from where it stands.
func reason(err error) string {
	if path := new(fs.PathError); errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// readNodes looks at the driver's device nodes. That of the driver itself is opened too,
// which shows what permissions do not: that a container has no right to it. Those of devices
// are not opened: that can take seconds, and wake them.
func readNodes(root fs.FS) (nodes []doctor.Node) {
	names, _ := fs.Glob(root, "dev/nvidia*") // the pattern is sound
	for _, name := range names {
		info, err := fs.Stat(root, name)
		if err != nil || info.IsDir() {
			continue
		}
		n := doctor.Node{Path: "/" + name, Mode: strings.TrimPrefix(info.Mode().Perm().String(), "-"), All: info.Mode().Perm()&0o006 == 0o006}
		if name == "dev/nvidiactl" {
			if file, err := root.Open(name); err != nil {
				n.Denied = reason(err)
			} else {
				_ = file.Close()
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func readRDMA(root fs.FS) (names []string) {
	entries, _ := fs.ReadDir(root, "sys/class/infiniband") // none: there are no adapters
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// readBus finds NVIDIA's graphics devices on the PCI bus, whether a driver has them or not.
func readBus(root fs.FS) (addresses []string) {
	const dir = "sys/bus/pci/devices"
	entries, _ := fs.ReadDir(root, dir) // none: nothing is known
	for _, e := range entries {
		vendor, _ := readFact(root, dir+"/"+e.Name()+"/vendor")
		class, _ := readFact(root, dir+"/"+e.Name()+"/class")
		if strings.TrimSpace(vendor) == "0x10de" && strings.HasPrefix(class, "0x03") { // display controllers, 3D ones too
			addresses = append(addresses, e.Name())
		}
	}
	return addresses
}

// readDaemons finds running programs of the driver by their names.
func readDaemons(root fs.FS) (names []string) {
	stats, _ := fs.Glob(root, "proc/[0-9]*/comm") // the pattern is sound
	for _, stat := range stats {
		name, _ := readFact(root, stat) // it may have ended
		if name = strings.TrimSpace(name); strings.HasPrefix(name, "nvidia-") {
			names = append(names, name)
		}
	}
	return names
}

// readTasks tells of the processes of a reading whether somebody is still behind them.
func readTasks(root fs.FS, r *gpu.Reading) map[int]doctor.Task {
	tasks := map[int]doctor.Task{}
	for _, p := range r.Processes {
		t, known := readTask(root, p.PID)
		if known {
			tasks[p.PID] = t
		}
	}
	return tasks
}

func readTask(root fs.FS, pid int) (t doctor.Task, known bool) {
	if _, err := fs.Stat(root, "proc/self/stat"); err != nil {
		return t, false
	}
	stat, err := readFact(root, fmt.Sprintf("proc/%d/stat", pid))
	if err != nil {
		t.Gone = errors.Is(err, fs.ErrNotExist)
		return t, t.Gone
	}
	var state string
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name before it may hold anything
	if len(fields) < 2 {
		return t, false
	}
	state = fields[0]
	if _, err := fmt.Sscan(fields[1], &t.Parent); err != nil {
		return t, false
	}
	t.Zombie = state == "Z" || state == "X"
	parent, _ := readFact(root, fmt.Sprintf("proc/%d/comm", t.Parent)) // of another user it may be hidden
	t.ParentName = strings.TrimSpace(parent)
	return t, true
}
