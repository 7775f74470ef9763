package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// loadedFake is a fake on which, besides its own programs, is what a file says at the
// moment of each reading. So a demo or a test makes processes come, grow and go by
// writing that file, and gives them the PIDs of programs that really run.
type loadedFake struct {
	fake  *fake
	path  string
	open  func(path string) (io.ReadCloser, error)
	procs *procs
}

func openLoadedFake(name, path string, m Machine) (Probe, error) {
	build, ok := scenes()[name]
	if !ok || path == "" {
		return nil, &SpecError{"fake:" + name + "@" + path}
	}
	f := &loadedFake{fake: newFake(build(), m.Clock), path: path, open: m.Open, procs: newProcs(m)}
	f.procs.host = true // the file names PIDs as they are here
	return withDeadline(f, "fake:"+name, nvmlDeadline, m.Clock), nil
}

func (f *loadedFake) Close() error { return nil }

func (f *loadedFake) Read(ctx context.Context) (Reading, error) {
	r, err := f.fake.Read(ctx)
	if err != nil {
		return Reading{}, err
	}
	actors, err := f.load(&r)
	if err != nil {
		return Reading{}, err
	}
	for _, a := range actors {
		a.play(&r, 0)
	}
	r.tidy()
	return r, nil
}

// load reads the file. One that is not there loads nothing: a demo may begin before it.
func (f *loadedFake) load(r *Reading) ([]actor, error) {
	file, err := f.open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer file.Close()
	const most = 1 << 20
	var actors []actor
	lines := bufio.NewScanner(io.LimitReader(file, most))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		a, err := f.actor(r, fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.path, n, err)
		}
		actors = append(actors, a)
	}
	return actors, lines.Err()
}

// actor reads one line: a PID, or - for memory that no process accounts for; a device by its
// index, or a device or an instance by its UUID; and an amount.
func (f *loadedFake) actor(r *Reading, fields []string) (actor, error) {
	if len(fields) < 3 {
		return actor{}, fmt.Errorf("%.80q: expected a PID, a GPU and an amount of memory", strings.Join(fields, " "))
	}
	device, instance, ok := find(r, fields[1])
	if !ok {
		return actor{}, fmt.Errorf("%.80q: expected the index of a GPU, from 0 to %d, or the UUID of one or of a MIG device", fields[1], len(r.Devices)-1)
	}
	bytes, err := units.ParseBytes(strings.Join(fields[2:], " "))
	if err != nil {
		return actor{}, err
	}
	a := actor{device: device, instance: instance, load: steady(bytes)}
	if fields[0] == "-" {
		return a, nil
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil || pid <= 0 {
		return actor{}, fmt.Errorf("%.80q: expected a PID, or - for memory that no process accounts for", fields[0])
	}
	a.process = Process{PID: pid, Use: useCompute}
	f.procs.fill(&a.process)
	return a, nil
}

// find finds a device by its index, or a device or an instance of one by its UUID.
func find(r *Reading, name string) (device, instance int, ok bool) {
	for i, d := range r.Devices {
		if name == strconv.Itoa(d.Index) || name == d.UUID {
			return i, 0, true
		}
		for k, in := range d.Instances {
			if name == in.UUID {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}
