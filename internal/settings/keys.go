package settings

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/tomlfile"
	"github.com/ullage-dev/ullage/internal/units"
)

// key is a setting by its name in its table, and where its value goes.
type key struct {
	name string
	to   target
}

// Bounds. Those of requests are those of package lease.
const (
	minInterval = 100 * time.Millisecond // a reading takes some 20 ms a GPU of the driver's time
	maxInterval = 10 * time.Second
	maxBytes    = 1 << 44 // of one device
	maxTotal    = maxBytes << 10
	maxPriority = 1000
	maxCount    = 1 << 30
)

// tables are the keys outside rows, by table; "" is the top of the file.
func (s *Settings) tables() []table {
	return []table{
		{"", []key{
			{"socket", text(&s.Socket, checkSocket)},
			{"state", text(&s.State, checkPath)},
			{"metrics", text(&s.Metrics, checkAddress)},
			{"probe", text(&s.Probe, checkProbe)},
			{"interval", span(&s.Interval, minInterval, maxInterval)},
			{"admin_group", text(&s.AdminGroup, anyText)},
			{"log_level", level{&s.LogLevel}},
			{"foreign_window", span(&s.ForeignWindow, 0, time.Hour)},
			{"drain_deadline", span(&s.DrainDeadline, time.Second, day)},
			{"restart_grace", span(&s.RestartGrace, 0, day)},
			{"context", size(&s.ContextBytes, 0, maxBytes)},
			{"per_process_metrics", flag{&s.PerProcessMetrics}},
		}},
		{"watch", []key{
			{"over", choice(&s.Watch.Over, Warn, Stop, Tolerate)},
			{"expired", choice(&s.Watch.Expired, Stop, Warn)},
			{"grace", span(&s.Watch.Grace, 0, time.Hour)},
		}},
		{"scheduler", []key{
			{"age", spanMS(&s.Policy.AgeMS, time.Second, 365*day)},
			{"keep", spanMS(&s.Policy.KeepMS, time.Minute, 365*day)},
			{"keep_each", count(&s.Policy.KeepEach, 10, 100_000)},
			{"period", spanMS(&s.Policy.PeriodMS, time.Hour, 3650*day)},
		}},
		{"history", []key{
			{"decisions", spanMS(&s.History.DecisionsMS, day, 36500*day)},
			{"leases", spanMS(&s.History.LeasesMS, day, 36500*day)},
			{"most", count(&s.History.Most, 10_000, 1<<40)},
		}},
	}
}

// table is a named group of keys.
type table struct {
	name string
	keys []key
}

// path is the name of a key from the top of the file.
func (t *table) path(k key) string { return tomlfile.Join(t.name, k.name) }

// party is whom a row is about: one of three keys has a name.
type party struct{ user, group, project string }

func (p *party) keys() []key {
	return []key{{"user", text(&p.user, anyText)}, {"group", text(&p.group, anyText)}, {"project", text(&p.project, anyText)}}
}

// of returns the scope and name, or a fault.
func (p *party) of() (scope lease.Scope, name string, fault string) {
	n := 0
	for _, c := range []struct {
		scope lease.Scope
		name  string
	}{{lease.User, p.user}, {lease.Group, p.group}, {lease.Project, p.project}} {
		if c.name != "" {
			scope, name = c.scope, c.name
			n++
		}
	}
	if n != 1 {
		return "", "", `expected a name for one of user, group and project; "*" is each`
	}
	return scope, name, ""
}

func partyOf(scope lease.Scope, name string) party {
	switch scope {
	case lease.User:
		return party{user: name}
	case lease.Group:
		return party{group: name}
	}
	return party{project: name}
}

func queueKeys(q *lease.Queue) []key {
	return []key{{"name", text(&q.Name, anyText)}, {"priority", count(&q.Priority, -maxPriority, maxPriority)}}
}

func reserveKeys(r *Reserve) []key {
	return []key{
		{"queue", text(&r.Queue, anyText)},
		{"memory", size(&r.Bytes, units.MiB, maxBytes)},
		{"device", text(&r.Device, anyText)},
		{"model", text(&r.Model, anyText)},
	}
}

func quotaKeys(p *party, q *lease.Quota) []key {
	return append(p.keys(), key{"peak", size(&q.PeakBytes, units.MiB, maxTotal)}, key{"gib_hours", count(&q.GiBHours, 1, 1<<40)})
}

func limitKeys(p *party, l *lease.Limit) []key {
	return append(p.keys(),
		key{"memory", size(&l.MemoryBytes, units.MiB, maxBytes)},
		key{"gpus", count(&l.Devices, 1, 1024)},
		key{"ttl", spanMS(&l.TTLMS, time.Second, lease.LongestTTL)},
		key{"priority", count(&l.Priority, -maxPriority, maxPriority)},
		key{"waiting", count(&l.Waiting, 1, maxCount)},
		key{"leases", count(&l.Leases, 1, maxCount)})
}

func projectKeys(p *Project) []key {
	return []key{{"name", text(&p.Name, anyText)}, {"users", list{&p.Users}}, {"groups", list{&p.Groups}}}
}

// maxText is the longest text of a setting; leases take no longer ones.
const maxText = 1024

// anyText takes a line without control characters.
func anyText(s string) error {
	if len(s) > maxText {
		return fmt.Errorf("a text of %d bytes; at most %d are kept", len(s), maxText)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }); i >= 0 {
		return fmt.Errorf("%.40q has a control character, or is not UTF-8", s)
	}
	return nil
}

func checkPath(s string) error {
	if !path.IsAbs(s) {
		return fmt.Errorf("%.80q is not an absolute path", s)
	}
	return anyText(s)
}

// checkSocket: Linux keeps 108 bytes for the path of a socket, with the zero that ends it.
func checkSocket(s string) error {
	if len(s) > 107 {
		return fmt.Errorf("a path of %d bytes; that of a socket has at most 107", len(s))
	}
	return checkPath(s)
}

func checkAddress(s string) error {
	if s == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf(`%.80q is not an address with a port, as "127.0.0.1:19400"; "" is none`, s)
	}
	return anyText(s)
}

func checkProbe(s string) error {
	err := gpu.CheckSpec(s)
	if spec := new(gpu.SpecError); errors.As(err, &spec) {
		return fmt.Errorf("%w; %s", err, spec.Hint())
	}
	if err != nil {
		return err
	}
	return anyText(s)
}
