package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
				if p, err := readProcess(name); err == nil && Alive(p.PID) {
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
// answers from a thread of its own as soon as Python lets it run.
func (p Process) Ask(ctx context.Context) (Answer, error) {
	id := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	request := filepath.Join(p.folder, fmt.Sprintf("snap-%d.json", p.PID))
	if err := writeWhole(request, []byte(`{"id": "`+id+`"}`)); err != nil {
		return Answer{}, err
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		a, err := readAnswer(filepath.Join(p.folder, fmt.Sprintf("snapped-%d.json", p.PID)))
		switch {
		case err == nil && a.ID == id:
			return a, nil
		case !Alive(p.PID):
			return Answer{}, ErrEnded
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = os.Remove(request) // nobody waits for it any more
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Answer{}, ErrNoAnswer
			}
			return Answer{}, ctx.Err()
		}
	}
}

func readAnswer(name string) (Answer, error) {
	var a Answer
	text, err := readSmall(name)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// writeWhole writes a file under another name first, so that the companion never reads half
// of it.
func writeWhole(name string, data []byte) error {
	part := strings.TrimSuffix(name, ".json") + "." + strconv.Itoa(os.Getpid()) + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}
