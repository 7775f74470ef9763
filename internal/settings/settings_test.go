package settings

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

const whole = `
socket = "/run/x/agent.sock"
state = "/var/lib/x"
metrics = ""
probe = "fake:h200x2"
interval = "500ms"
admin_group = "gpu-admins"
log_level = "debug"
context = "512MiB"
per_process_metrics = true

[watch]
over = "stop"
grace = "1m30s"

[scheduler]
period = "7d"

[[queue]]
name = "inference"
priority = 10

[[reserve]]
queue = "inference"
memory = "24GiB"
model = "h200"

[[quota]]
user = "*"
peak = "80GiB"

[[quota]]
project = "speech"
gib_hours = 5000

[[limit]]
group = "students"
memory = "20GiB"
gpus = 1
ttl = "8h"
waiting = 5

[[project]]
name = "speech"
users = ["ann"]
groups = ["speech-lab"]
`

func TestLoad(t *testing.T) {
	got, err := Load(Default(), Source{
		File: "agent.toml", Text: []byte(whole),
		Environ: []string{"HOME=/root", "ULLAGE_AGENT_INTERVAL=2s", "ULLAGE_AGENT_WATCH_EXPIRED=warn", "ULLAGE_AGENT_STATE=/env", "ULLAGE_AGENT_CONFIG=/x"},
		Flags:   map[string]string{"state": "/flag"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Socket, want.State, want.Metrics, want.Probe = "/run/x/agent.sock", "/flag", "", "fake:h200x2"
	want.Interval, want.AdminGroup, want.LogLevel = 2*time.Second, "gpu-admins", slog.LevelDebug
	want.ContextBytes, want.PerProcessMetrics = 512*units.MiB, true
	want.Watch = Watch{Over: Stop, Expired: Warn, Grace: 90 * time.Second}
	want.Policy.PeriodMS = (7 * day).Milliseconds()
	want.Policy.Queues = []lease.Queue{{Name: "inference", Priority: 10}}
	want.Policy.Quotas = []lease.Quota{
		{Scope: lease.User, Name: "*", PeakBytes: 80 * units.GiB},
		{Scope: lease.Project, Name: "speech", GiBHours: 5000},
	}
	want.Policy.Limits = []lease.Limit{{Scope: lease.Group, Name: "students", MemoryBytes: 20 * units.GiB, Devices: 1, TTLMS: 8 * 3_600_000, Waiting: 5}}
	want.Reserves = []Reserve{{Queue: "inference", Model: "h200", Bytes: 24 * units.GiB}}
	want.Projects = []Project{{Name: "speech", Users: []string{"ann"}, Groups: []string{"speech-lab"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFaults: all that is wrong is told at once, with its place, in the file's order.
func TestFaults(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"not TOML", "interval = \"1s\"\nprobe = fake\n", []string{`a.toml:2:9: `}},
		{"twice", "probe = \"auto\"\nprobe = \"auto\"\n", []string{`a.toml:2:1: `}},
		{"several", "intervall = \"1s\"\ncontext = 600\n  log_level = \"loud\"\n[watch]\nover = \"kill\"\nfoo = 1\n", []string{
			`a.toml:1:1: "intervall" is no setting here; expected one of socket, state,`,
			`a.toml:2:1: context: expected an amount of memory, as "24GiB" in quotes, found the number 600`,
			`a.toml:3:3: log_level: "loud": expected debug, info, warn or error`,
			`a.toml:5:1: over: "kill": expected one of warn, stop, tolerate`,
			`a.toml:6:1: "foo" is no setting here; expected one of over, expired, grace`,
		}},
		{"rows", "[[queue]]\nname = \"a\"\n[[queue]]\nname = \"a\"\n[[queue]]\nprio = 3\n", []string{
			`a.toml:3:3: there is a queue "a" already`,
			`a.toml:6:1: "prio" is no setting here; expected one of name, priority`,
		}},
		{"inline rows", `quota = [{user = "a", peak = "1GiB"}, {user = "b", peak = "1EB"}, 3]`, []string{
			`a.toml:1:52: peak: 888.18 PiB is out of bounds: expected 1.00 MiB to 16.00 PiB`,
			`a.toml:1:67: quota[2]: expected a table, found the number 3`,
		}},
		{"dotted", "watch.over = \"stop\"\nwatch.grace = \"2h\"\n", []string{`a.toml:2:7: grace: 2h is out of bounds: expected 0s to 1h`}},
		{"no such queue", "[[reserve]]\nqueue = \"x\"\nmemory = \"1GiB\"\n", []string{`a.toml:2:1: there is no [[queue]] with the name "x"`}},
		{"no such project", "[[quota]]\npeak = \"1GiB\"\nproject = \"x\"\n", []string{`a.toml:3:1: there is no [[project]] with the name "x"`}},
		{"whose", "[[limit]]\ngpus = 1\n[[quota]]\nuser=\"a\"\ngroup=\"b\"\npeak=\"1GiB\"\n", []string{
			`a.toml:1:3: expected a name for one of user, group and project; "*" is each`,
			`a.toml:3:3: expected a name for one of user, group and project; "*" is each`,
		}},
		{"a table for rows", "[queue]\nname = \"a\"\n", []string{`a.toml:1:2: queue: expected rows, each under [[queue]], found a table`}},
		{"rows for a table", "[[watch]]\nover = \"stop\"\n", []string{`a.toml:1:3: watch: expected a table, found a list`}},
		{"wide characters before", "project = [{name = \"größe\", user = [\"a\"]}]\n", []string{`a.toml:1:29: "user" is no setting here; expected one of name, users, groups`}},
		{"paths", "socket = \"agent.sock\"\nstate = \"\"\nmetrics = \"19400\"\nprobe = \"h200\"\n", []string{
			`a.toml:1:1: socket: "agent.sock" is not an absolute path`,
			`a.toml:2:1: state: "" is not an absolute path`,
			`a.toml:3:1: metrics: "19400" is not an address with a port, as "127.0.0.1:19400"; "" is none`,
			`a.toml:4:1: probe: `,
		}},
		{"control characters", "admin_group = \"a\\u001b[31m\"\n", []string{`a.toml:1:1: admin_group: "a\x1b[31m" has a control character, or is not UTF-8`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(Default(), Source{File: "a.toml", Text: []byte(tt.text)})
			var wrong *FaultsError
			if !errors.As(err, &wrong) {
				t.Fatalf("error %v, want faults", err)
			}
			ok := len(wrong.Faults) == len(tt.want)
			for i := 0; ok && i < len(tt.want); i++ {
				ok = strings.HasPrefix(wrong.Faults[i].String(), tt.want[i])
			}
			if !ok {
				t.Errorf("faults (-want +got):\n%s", cmp.Diff(tt.want, lines(wrong.Faults)))
			}
		})
	}
}

func lines(faults []Fault) (all []string) {
	for _, f := range faults {
		all = append(all, f.String())
	}
	return all
}

func TestFaultsOfEnvironmentAndFlags(t *testing.T) {
	_, err := Load(Default(), Source{Environ: []string{"ULLAGE_AGENT_INTERVALL=1s", "ULLAGE_AGENT_WATCH_GRACE=x"}, Flags: map[string]string{"log_level": "x"}})
	var wrong *FaultsError
	if !errors.As(err, &wrong) || len(wrong.Faults) != 3 || wrong.OfFlags {
		t.Fatalf("error %v, want three faults that are not of flags alone", err)
	}
	for i, place := range []string{"ULLAGE_AGENT_INTERVALL", "ULLAGE_AGENT_WATCH_GRACE", "--log-level"} {
		if wrong.Faults[i].Place != place {
			t.Errorf("fault %d is at %s, want %s", i, wrong.Faults[i].Place, place)
		}
	}
	_, err = Load(Default(), Source{Flags: map[string]string{"interval": "1ns"}})
	if !errors.As(err, &wrong) || !wrong.OfFlags || wrong.Error() != "--interval: 1ns is out of bounds: expected 100ms to 10s" {
		t.Errorf("error %v, want one of flags alone", err)
	}
}

func TestReservesOf(t *testing.T) {
	s := Settings{Reserves: []Reserve{
		{Queue: "a", Bytes: 1},
		{Queue: "a", Model: "h200", Bytes: 2},
		{Queue: "a", Model: "nvidia", Bytes: 3},
		{Queue: "a", Device: "GPU-1", Bytes: 4},
		{Queue: "b", Model: "A100", Bytes: 5},
	}}
	for _, tt := range []struct {
		uuid, model string
		want        []lease.Reserve
	}{
		{"GPU-1", "NVIDIA H200", []lease.Reserve{{Queue: "a", Bytes: 4}}},
		{"GPU-2", "NVIDIA H200", []lease.Reserve{{Queue: "a", Bytes: 2}}},
		{"GPU-3", "NVIDIA A100-SXM4-40GB", []lease.Reserve{{Queue: "a", Bytes: 3}, {Queue: "b", Bytes: 5}}},
		{"GPU-4", "other", []lease.Reserve{{Queue: "a", Bytes: 1}}},
	} {
		if diff := cmp.Diff(tt.want, s.ReservesOf(tt.uuid, tt.model)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tt.uuid, tt.model, diff)
		}
	}
}

func TestMember(t *testing.T) {
	s := Settings{Projects: []Project{{Name: "p", Users: []string{"ann"}, Groups: []string{"lab"}}, {Name: "open", Users: []string{"*"}}}}
	for _, tt := range []struct {
		project, user string
		groups        []string
		want          bool
	}{
		{"p", "ann", nil, true},
		{"p", "bob", []string{"x", "lab"}, true},
		{"p", "bob", []string{"x"}, false},
		{"open", "bob", nil, true},
		{"q", "ann", []string{"lab"}, false},
		{"", "ann", nil, false},
	} {
		if got := s.Member(tt.project, tt.user, tt.groups); got != tt.want {
			t.Errorf("Member(%q, %q, %q) = %v", tt.project, tt.user, tt.groups, got)
		}
	}
}

func TestReload(t *testing.T) {
	running := Default()
	running.Socket, running.State = "/run/a", "/var/a"
	next := running
	next.Socket, next.Metrics, next.Interval = "/run/b", "", 2*time.Second
	now, later := running.Reload(next)
	if diff := cmp.Diff([]string{"socket", "metrics"}, later); diff != "" {
		t.Errorf("keys for a restart (-want +got):\n%s", diff)
	}
	if now.Socket != "/run/a" || now.Metrics != running.Metrics || now.Interval != 2*time.Second {
		t.Errorf("in force: %+v", now)
	}
}

// TestExample: the file that is shipped says what the defaults are and has every key, and its
// examples can be taken as they are.
func TestExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "agent.toml"))
	if err != nil {
		t.Fatal(err)
	}
	want := withPaths(Default())
	want.Socket, want.State = "/run/ullage/agent.sock", "/var/lib/ullage"
	if got, err := Load(want, Source{File: "agent.toml", Text: text}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("as it is: %v\n%s", err, cmp.Diff(want, got))
	}
	examples := regexp.MustCompile(`(?m)^#([a-z\[])`).ReplaceAll(text, []byte("$1"))
	got, err := Load(Settings{}, Source{File: "agent.toml", Text: examples})
	if err != nil {
		t.Fatalf("with what is commented out: %v", err)
	}
	for _, table := range got.tables() {
		for _, k := range table.keys {
			if !regexp.MustCompile(`(?m)^` + k.name + ` = `).Match(examples) {
				t.Errorf("no line has %s", table.path(k))
			}
		}
	}
	got.Policy.Queues, got.Policy.Quotas, got.Policy.Limits, got.Reserves, got.Projects = nil, nil, nil, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is commented out is not the default (-default +file):\n%s", diff)
	}
}

// TestPrintedAndRead: what is printed reads back as the same.
func TestPrintedAndRead(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z"\\ü#= ]{1,8}x`)
	bytes := rapid.Map(rapid.Int64Range(1, 1<<20), func(n int64) int64 { return n * units.MiB })
	rapid.Check(t, func(t *rapid.T) {
		s := Default()
		s.Socket, s.State = "/"+name.Draw(t, "socket"), "/"+name.Draw(t, "state")
		s.AdminGroup = name.Draw(t, "admins")
		s.Interval = time.Duration(rapid.IntRange(100, 10_000).Draw(t, "interval")) * time.Millisecond
		s.ContextBytes = rapid.Int64Range(0, 1<<40).Draw(t, "context")
		s.PerProcessMetrics = rapid.Bool().Draw(t, "per process")
		s.LogLevel = rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}).Draw(t, "level")
		for _, q := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID[string]).Draw(t, "names") {
			s.Policy.Queues = append(s.Policy.Queues, lease.Queue{Name: q, Priority: rapid.IntRange(-1000, 1000).Draw(t, "priority")})
			s.Reserves = append(s.Reserves, Reserve{Queue: q, Model: name.Draw(t, "model"), Bytes: bytes.Draw(t, "reserve")})
			s.Projects = append(s.Projects, Project{Name: q, Users: []string{"*", name.Draw(t, "user")}})
			s.Policy.Quotas = append(s.Policy.Quotas, lease.Quota{Scope: lease.Project, Name: q, PeakBytes: bytes.Draw(t, "peak")})
			ttl := time.Duration(rapid.Int64Range(1, 10_000_000).Draw(t, "ttl")) * time.Second
			s.Policy.Limits = append(s.Policy.Limits, lease.Limit{Scope: lease.User, Name: q, TTLMS: ttl.Milliseconds(), Devices: rapid.IntRange(0, 9).Draw(t, "gpus")})
		}
		got, err := Load(Settings{}, Source{File: "a.toml", Text: []byte(s.TOML())})
		if err != nil {
			t.Fatalf("%v\n%s", err, s.TOML())
		}
		if diff := cmp.Diff(s, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// FuzzLoad: no text makes it panic, every fault has its place, and a policy that it lets
// through is one that leases take.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{whole, "", "a.b.c = {d = [[1], {e = 2}]}\n[a.x]\n", "[[quota]]\n[quota.user]\n", "\"\\u0071uota\" = [{}]\n", "[[limit]]\nuser=\"*\"\n[[limit]]\nuser=\"*\"\n", "limit = [[{user = 1}]]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Load(Default(), Source{File: "a.toml", Text: text})
		if wrong := new(FaultsError); errors.As(err, &wrong) {
			for _, fault := range wrong.Faults {
				if !strings.HasPrefix(fault.Place, "a.toml") || fault.Text == "" {
					t.Errorf("fault %q", fault)
				}
			}
			return
		}
		if _, err := lease.New().SetPolicy(0, lease.Agent, s.Policy); err != nil {
			t.Errorf("leases refuse the policy: %v", err)
		}
		s = withPaths(s)
		again, err := Load(Settings{}, Source{File: "b.toml", Text: []byte(s.TOML())})
		if err != nil {
			t.Fatalf("what is printed does not read back: %v\n%s", err, s.TOML())
		}
		if diff := cmp.Diff(s, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what is printed reads back as something else (-want +got):\n%s", diff)
		}
	})
}

// withPaths fills in what who runs the agent decides.
func withPaths(s Settings) Settings {
	if s.Socket == "" {
		s.Socket, s.State = "/run/a", "/var/a"
	}
	if s.State == "" {
		s.State = "/var/a"
	}
	return s
}
