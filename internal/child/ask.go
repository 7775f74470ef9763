package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is a process that uses CUDA and can be asked for a recording.
type Process struct {
	PID     int    `json:"pid"`
	Rank    *int   `json:"rank"` // nil where its launcher gave it none
	Program string `json:"program"`
	Started string `json:"started"` // see startedAt

	folder string
	owner  int
}

// Watched returns the processes that are watched now, of all runs of this user, by number.
func Watched(bases []string) []Process {
	var all []Process
	for _, base := range bases {
		for _, dir := range runFolders(base) {
			files, _ := filepath.Glob(filepath.Join(dir, "proc-*.json"))
			for _, name := range files {
				if p, err := readProcess(name); err == nil && p.alive() {
					all = append(all, p)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	return all
}

func readProcess(name string) (Process, error) {
	var p Process
	text, err := readSmall(name)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, err
	}
	if filepath.Base(name) != fmt.Sprintf("proc-%d.json", p.PID) {
		return p, fmt.Errorf("%s: is of another process", name)
	}
	p.folder = filepath.Dir(name)
	p.owner = ownerOf(p.folder)
	return p, nil
}

// alive tells whether the process is still there: not another one of the same number, and not
// one that has ended and waits for its parent to look.
func (p Process) alive() bool {
	if !Alive(p.PID) {
		return false
	}
	started, known := startedAt(p.PID)
	return !known || started != "" && (p.Started == "" || p.Started == started)
}

// Select returns the processes of one number: that process, or all of the run if it is
// the number of an ullage run.
func Select(all []Process, pid int) []Process {
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return p.PID != pid && p.owner != pid })
}

// Answer is what a process made of a request.
type Answer struct {
	ID        string `json:"id"`
	Recording string `json:"recording"` // path; "" where there is an error
	Error     string `json:"error"`     // why there is none
}

// Errors of Ask.
var (
	ErrNoAnswer = errors.New("no answer in time")
	ErrEnded    = errors.New("the process ended before it answered")
)

const askEvery = 50 * time.Millisecond // between two looks for the answer

// Ask has a process write a recording, and waits for word until ctx is done. The process
// answers from a thread of its own as soon as Python lets it run, one request after another.
func (p Process) Ask(ctx context.Context) (Answer, error) {
	id := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	request := filepath.Join(p.folder, fmt.Sprintf("snap-%d.json", p.PID))
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for asked := false; ; {
		if !asked {
			err := writeNew(request, []byte(`{"id": "`+id+`"}`))
			if err != nil && !errors.Is(err, fs.ErrExist) { // else another request is not answered yet
				return Answer{}, p.orEnded(err)
			}
			asked = err == nil
		}
		a, err := p.readAnswer()
		switch {
		case err == nil && a.ID == id:
			return a, nil
		case !p.alive():
			return Answer{}, ErrEnded
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if asked {
				_ = os.Remove(request) // nobody waits for it any more
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Answer{}, ErrNoAnswer
			}
			return Answer{}, ctx.Err()
		}
	}
}

// orEnded is ErrEnded if the process has ended, and its run's folder with it, or else err.
func (p Process) orEnded(err error) error {
	if !p.alive() {
		return ErrEnded
	}
	return err
}

// readAnswer reads the latest answer of a process. It names the recording within the run's
// folder for them, whose path may be none that JSON can carry.
func (p Process) readAnswer() (Answer, error) {
	var a Answer
	text, err := readSmall(filepath.Join(p.folder, fmt.Sprintf("snapped-%d.json", p.PID)))
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil || a.Recording == "" {
		return a, err
	}
	out, err := readSmall(filepath.Join(p.folder, outFile))
	a.Recording = filepath.Join(string(out), filepath.Base(a.Recording))
	return a, err
}

// writeNew writes a file that is not there yet, under another name first, so that the
// companion never reads half of it. The error is fs.ErrExist where it is there.
func writeNew(name string, data []byte) error {
	part := strings.TrimSuffix(name, ".json") + "." + strconv.Itoa(os.Getpid()) + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	defer os.Remove(part)
	err := os.Link(part, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(part, name) // a file system without links: of two requests at once, the later one is answered
}
