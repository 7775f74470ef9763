package gpu

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

// fake is a machine that does not exist. Its load follows a script by the clock, so that
// the same moment gives the same reading.
type fake struct {
	scene scene
	clock Clock
	begun time.Time
	reads chan struct{}
}

// scene is a machine with programs on it.
type scene struct {
	driver, cuda string
	devices      []Device // with what nobody holds as free; actors are added
	actors       []actor
	links        []Link
	notes        []string
	stuck        bool // the driver hangs after the first reading
}

// actor is a process of a scene, or, without a PID, memory that no process accounts for.
type actor struct {
	device   int
	instance int // index of the MIG device, where the device has some
	process  Process
	load     script
	untold   bool // the driver does not tell what it uses
}

// script is an amount of memory over time: straight lines between points, over and over.
type script struct {
	points []point
}

type point struct {
	at    time.Duration
	bytes int64
}

// at returns the bytes at a moment since the beginning.
func (s script) at(t time.Duration) int64 {
	last := s.points[len(s.points)-1]
	if last.at > 0 {
		t %= last.at
	}
	i, found := slices.BinarySearchFunc(s.points, t, func(p point, t time.Duration) int { return int(p.at - t) })
	switch {
	case found || i == 0:
		return s.points[i].bytes
	case i == len(s.points):
		return last.bytes
	}
	a, b := s.points[i-1], s.points[i]
	share := float64(t-a.at) / float64(b.at-a.at)
	bytes := a.bytes + int64(share*float64(b.bytes-a.bytes))
	return bytes &^ (2*units.MiB - 1) // the driver maps pages of 2 MiB
}

// steady holds the same for ever.
func steady(bytes int64) script { return script{[]point{{0, bytes}}} }

// climb goes from one amount to another over some time, and begins anew.
func climb(from, to int64, over time.Duration) script {
	return script{[]point{{0, from}, {over, to}}}
}

// openFake opens what stands behind "fake:": the name of a scene, and behind an @ the file
// that loads it.
func openFake(spec string, m Machine) (Probe, error) {
	name, path, loaded := strings.Cut(spec, "@")
	if loaded {
		return openLoadedFake(name, path, m)
	}
	build, ok := scenes()[name]
	if !ok {
		return nil, &SpecError{"fake:" + name}
	}
	return withDeadline(newFake(build(), m.Clock), "fake:"+name, nvmlDeadline, m.Clock), nil
}

func newFake(s scene, clock Clock) *fake {
	return &fake{scene: s, clock: clock, begun: clock.Now(), reads: make(chan struct{}, 1)}
}

func fakeNames() []string { return slices.Sorted(maps.Keys(scenes())) }

func (f *fake) Close() error { return nil }

func (f *fake) Read(context.Context) (Reading, error) {
	if f.scene.stuck {
		f.reads <- struct{}{} // the second never comes back, as a call into a driver that hangs
	}
	now := f.clock.Now()
	r := Reading{Time: now, Source: "fake", Driver: f.scene.driver, CUDA: f.scene.cuda, Links: slices.Clone(f.scene.links), Notes: slices.Clone(f.scene.notes)}
	for _, d := range f.scene.devices {
		r.Devices = append(r.Devices, cloneDevice(d))
	}
	for _, a := range f.scene.actors {
		a.play(&r, now.Sub(f.begun))
	}
	r.tidy()
	return r, nil
}

func cloneDevice(d Device) Device {
	d.Memory = cloneMemory(d.Memory)
	d.Instances = slices.Clone(d.Instances)
	for i := range d.Instances {
		d.Instances[i].Memory = cloneMemory(d.Instances[i].Memory)
	}
	return d
}

func cloneMemory(m *Memory) *Memory {
	if m == nil {
		return nil
	}
	clone := *m
	return &clone
}

// play adds what an actor holds at a moment, at most what is free.
func (a actor) play(r *Reading, t time.Duration) {
	d := &r.Devices[a.device]
	holders := []*Memory{d.Memory}
	if len(d.Instances) > 0 {
		holders = append(holders, d.Instances[a.instance].Memory)
	}
	bytes := a.load.at(t)
	for _, m := range holders {
		bytes = min(bytes, m.FreeBytes)
	}
	for _, m := range holders {
		m.UsedBytes += bytes
		m.FreeBytes -= bytes
	}
	if a.process.PID == 0 {
		return
	}
	p := a.process
	p.DeviceUUID = d.UUID
	if len(d.Instances) > 0 {
		gi, ci := d.Instances[a.instance].GPUInstance, d.Instances[a.instance].ComputeInstance
		p.GPUInstance, p.ComputeInstance = &gi, &ci
	}
	if !a.untold {
		p.UsedBytes = &bytes
	}
	r.Processes = append(r.Processes, p)
}

// program makes a process of a scene. user is the name and the uid.
func program(pid int, user string, uid int, command string, place Place) Process {
	name, _, _ := strings.Cut(command, " ")
	return Process{
		PID: pid, Use: useCompute, Name: name, Command: command, UID: &uid, User: user,
		NamespacePID: pid, Place: place,
	}
}
