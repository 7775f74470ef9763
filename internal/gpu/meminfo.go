package gpu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// meminfo is a board whose GPU shares the processor's memory: a Jetson. Its driver has no
// NVML that tells of memory.
type meminfo struct {
	m     Machine
	name  string
	procs *procs
}

func openMeminfo(m Machine) (Probe, error) {
	name, err := boardName(m.Root)
	if err != nil {
		return nil, err
	}
	return &meminfo{m, name, newProcs(m)}, nil
}

// sharedNote says what a reading of such a board lacks.
const sharedNote = "the GPU shares the processor's memory: used is what all programs hold, and nothing tells what each holds of the GPU's"

// nvmapNote says so where a list of processes is there.
const nvmapNote = "the GPU shares the processor's memory: used is what all programs hold, and processes are listed with what they hold of the GPU's (/" + nvmapClients + ")"

// ErrNoBoard tells that meminfo is no probe for a machine, as it is for few.
var ErrNoBoard = errors.New("this is no board whose GPU shares the processor's memory")

// boardName recognises a Jetson by its device tree, which names the board.
func boardName(root fs.FS) (string, error) {
	raw, err := readSome(root, "proc/device-tree/model")
	if err != nil {
		return "", ErrNoBoard
	}
	model := strings.Trim(string(raw), "\x00\n ")
	if !strings.Contains(model, "NVIDIA") && !strings.Contains(model, "Jetson") {
		return "", fmt.Errorf("this board has no NVIDIA GPU: it is %.60q", model)
	}
	return model, nil
}

func (p *meminfo) Close() error { return nil }

func (p *meminfo) Read(context.Context) (Reading, error) {
	memory, err := unifiedMemory(p.m.Root)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{
		Time:   p.m.Clock.Now(),
		Source: "meminfo",
		Driver: tegraRelease(p.m.Root),
		Devices: []Device{{
			UUID:   "unified-0",
			Name:   p.name,
			Kind:   KindUnified,
			Memory: memory,
		}},
		Notes: []string{sharedNote},
	}
	if all, told := nvmapProcesses(p.m.Root, r.Devices[0].UUID); told {
		r.Processes, r.Notes = all, []string{nvmapNote}
		p.procs.describe(&r)
	}
	r.tidy()
	return r, nil
}

// unifiedMemory is the memory of the whole machine. Free is what the kernel could hand out,
// caches given up, which is what an allocation on the GPU can get.
func unifiedMemory(root fs.FS) (*Memory, error) {
	raw, err := readSome(root, "proc/meminfo")
	if err != nil {
		return nil, err
	}
	return parseMeminfo(raw)
}

// parseMeminfo reads lines as "MemTotal:       64349628 kB", where kB are of 1024 bytes.
func parseMeminfo(raw []byte) (*Memory, error) {
	found := map[string]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err == nil && n >= 0 && n < 1<<50 {
			found[key] = n << 10
		}
	}
	total, hasTotal := found["MemTotal"]
	free, hasFree := found["MemAvailable"]
	if !hasTotal || !hasFree || free > total {
		return nil, errors.New("/proc/meminfo: expected MemTotal, and MemAvailable of at most that")
	}
	return &Memory{TotalBytes: total, UsedBytes: total - free, FreeBytes: free}, nil
}

// tegraRelease reads the release of the board's software, as "R36.4.3", from a line as
// "# R36 (release), REVISION: 4.3, GCID: …".
func tegraRelease(root fs.FS) string {
	raw, err := readSome(root, "etc/nv_tegra_release")
	if err != nil {
		return ""
	}
	release, rest, _ := strings.Cut(strings.TrimPrefix(string(raw), "# "), " ")
	_, revision, ok := strings.Cut(rest, "REVISION: ")
	if !ok {
		return release
	}
	revision, _, _ = strings.Cut(revision, ",")
	return release + "." + revision
}
