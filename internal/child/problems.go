package child

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	maxProblems = 20 // that are shown, of all processes
	maxNamed    = 3  // processes that are named of those that have the same problem
)

// Problems returns what the companion could not do, a line each, and how many more there
// are. The ranks of a job tend to have the same ones: processes are told in one line.
func (s *Session) Problems() (lines []string, more int) {
	text, err := readSmall(filepath.Join(s.dir, "problems"))
	if err != nil {
		return nil, 0
	}
	var order []string
	who := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		process, problem, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok { // not what the companion writes: the disk was full in the middle of a line
			continue
		}
		if who[problem] == nil {
			order = append(order, problem)
		}
		who[problem] = append(who[problem], strings.TrimPrefix(process, "process "))
	}
	for _, problem := range order[:min(len(order), maxProblems)] {
		lines = append(lines, processes(who[problem])+": "+problem)
	}
	return lines, len(order) - len(lines)
}

// processes names some of many.
func processes(pids []string) string {
	if len(pids) == 1 {
		return "process " + pids[0]
	}
	named := "processes " + strings.Join(pids[:min(len(pids), maxNamed)], ", ")
	if n := len(pids) - maxNamed; n > 0 {
		named += fmt.Sprintf(" and %d more", n)
	}
	return named
}
