// Package settings is the configuration of the agent: a TOML file, the environment and flags,
// read into one typed value that has been checked as a whole. docs/agent.md describes the file.
//
// A later source wins: what is built in, the file, variables ULLAGE_AGENT_KEY, flags. A key of
// a table has its table before it: watch.over is ULLAGE_AGENT_WATCH_OVER. What cannot be is
// told with its line and column, all of it at once, for an administrator who mends one fault
// at a time restarts a service once for each.
package settings

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// Settings is what the administrator decides.
type Settings struct {
	Socket  string // path of the Unix socket
	State   string // folder of the ledger
	Metrics string // address to listen on for Prometheus; empty: none
	Probe   string // as gpu.Open takes it

	Interval          time.Duration // between readings of the GPUs
	AdminGroup        string        // whose members may do what root may; empty: none
	LogLevel          slog.Level
	ForeignWindow     time.Duration // how long peaks of processes without a lease are held
	DrainDeadline     time.Duration // after which a lease that drains is reported
	RestartGrace      time.Duration // that every lease has at least after a restart of the agent
	ContextBytes      int64         // what a process is expected to use outside its allocator, before it tells
	PerProcessMetrics bool

	Watch    Watch
	Policy   lease.Policy
	History  History
	Reserves []Reserve
	Projects []Project
}

// Watch is what happens to processes that use more than they should.
type Watch struct {
	Over    Action        // use above a lease: Warn, Stop or Tolerate
	Expired Action        // use after a lease's end: Warn or Stop
	Grace   time.Duration // between SIGTERM and SIGKILL
}

// History is what the ledger keeps of what is over.
type History struct {
	DecisionsMS int64 // who asked for what and got it or not, for so long
	LeasesMS    int64 // what leases held, which usage adds up, for so long
	Most        int64 // and of each no more than about so many rows
}

// Action is what the agent does.
type Action string

// The actions.
const (
	Warn     Action = "warn"     // say so, in the log and in metrics
	Stop     Action = "stop"     // end the processes
	Tolerate Action = "tolerate" // nothing while the device has room and nobody waits for it; then stop
)

// Reserve keeps a minimum for a queue: on one device, on those of a model, or on each.
type Reserve struct {
	Queue  string
	Device string // UUID
	Model  string // part of a model's name, in either case
	Bytes  int64  // on each device
}

// Project is a name that users may ask for leases under.
type Project struct {
	Name   string
	Users  []string // lease.Each is everybody
	Groups []string
}

// Default is what is in force where nothing else is said. Socket and State depend on who runs
// the agent, and are empty.
func Default() Settings {
	return Settings{
		Metrics:       "127.0.0.1:19400",
		Probe:         "auto",
		Interval:      time.Second,
		LogLevel:      slog.LevelInfo,
		ForeignWindow: 30 * time.Second,
		DrainDeadline: time.Minute,
		RestartGrace:  time.Minute,
		ContextBytes:  768 * units.MiB, // on an H200 with CUDA 13: 518 MiB for a context alone, 742 once PyTorch 2.11 and cuBLAS have loaded what a training step needs
		Watch:         Watch{Over: Warn, Expired: Stop, Grace: 30 * time.Second},
		Policy:        lease.Policy{AgeMS: (10 * time.Minute).Milliseconds(), KeepMS: day.Milliseconds(), KeepEach: 1000, PeriodMS: (30 * day).Milliseconds()},
		History:       History{DecisionsMS: (90 * day).Milliseconds(), LeasesMS: (730 * day).Milliseconds(), Most: 5_000_000},
	}
}

const day = 24 * time.Hour

// ReservesOf returns what is kept on a device, by queue. For each queue the row that names
// the device counts, else the first that names its model, else the one for all.
func (s *Settings) ReservesOf(uuid, model string) []lease.Reserve {
	best := map[string]Reserve{}
	for _, r := range s.Reserves {
		if !r.covers(uuid, model) {
			continue
		}
		if old, ok := best[r.Queue]; !ok || r.rank() > old.rank() {
			best[r.Queue] = r
		}
	}
	var all []lease.Reserve
	for queue, r := range best {
		all = append(all, lease.Reserve{Queue: queue, Bytes: r.Bytes})
	}
	slices.SortFunc(all, func(a, b lease.Reserve) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}

func (r *Reserve) covers(uuid, model string) bool {
	return (r.Device == "" || r.Device == uuid) && strings.Contains(strings.ToLower(model), strings.ToLower(r.Model))
}

// rank is how particular a row is about its devices.
func (r *Reserve) rank() int {
	switch {
	case r.Device != "":
		return 2
	case r.Model != "":
		return 1
	}
	return 0
}

// Member tells whether a user, who is in some groups, may ask under a project.
func (s *Settings) Member(project, user string, groups []string) bool {
	return slices.ContainsFunc(s.Projects, func(p Project) bool {
		return p.Name == project && (slices.Contains(p.Users, user) || slices.Contains(p.Users, lease.Each) ||
			slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(p.Groups, g) }))
	})
}

// Reload returns what is in force when next is read while the agent runs with s, and the keys
// of next that only a restart brings into force.
func (s *Settings) Reload(next Settings) (now Settings, later []string) {
	now = next
	for _, k := range []struct {
		name    string
		of      *string
		running string
	}{
		{"socket", &now.Socket, s.Socket},
		{"state", &now.State, s.State},
		{"metrics", &now.Metrics, s.Metrics},
		{"probe", &now.Probe, s.Probe},
	} {
		if *k.of != k.running {
			later = append(later, k.name)
			*k.of = k.running
		}
	}
	return now, later
}
