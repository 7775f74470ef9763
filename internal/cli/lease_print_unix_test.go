//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/term"
)

// leasesJSON are leases in every state: of one GPU and of several, with use that is known and
// that is not, with names that a terminal must not obey.
const leasesJSON = `{"leases":[
{"id":3,"state":"granted","user":"ann","name":"train\u001b[31m.py","memory_bytes":8589934592,"device_count":1,"grade":"self","shares":[{"device":"GPU-5d1f0000-0000-4000-8000-000000000000","bytes":8589934592,"used_bytes":4294967296}],"queued":"2026-11-30T08:00:00Z","expires":"2026-11-30T20:00:00Z"},
{"id":4,"state":"granted","user":"bob","memory_bytes":0,"device_count":2,"exclusive":true,"grade":"hw","shares":[{"device":"MIG-1","bytes":10737418240,"used_bytes":null},{"device":"MIG-2","bytes":21474836480,"used_bytes":0}],"queued":"2026-11-29T08:00:00Z"},
{"id":5,"state":"draining","user":"bob","name":"größe","memory_bytes":1073741824,"device_count":2,"grade":"watched","shares":[{"device":"GPU-a","bytes":1073741824,"used_bytes":1},{"device":"GPU-b","bytes":1073741824,"used_bytes":2}],"queued":"2026-11-30T09:00:00Z","cause":"exited"},
{"id":6,"state":"queued","user":"eve","memory_bytes":107374182400,"device_count":2,"grade":"watched","shares":[],"queued":"2026-11-30T11:59:00Z","position":12},
{"id":7,"state":"ended","user":"eve","memory_bytes":1048576,"device_count":1,"grade":"watched","shares":[],"queued":"2026-11-28T11:00:00Z","ended":"2026-11-28T12:00:00Z","cause":"not-now","ended_by":"eve"},
{"id":8,"state":"ended","user":"eve","memory_bytes":1073741824,"device_count":1,"grade":"watched","shares":[{"device":"GPU-b","bytes":1073741824,"used_bytes":null}],"queued":"2026-11-30T11:00:00Z","ended":"2026-11-30T11:30:00Z","cause":"released","ended_by":"root"}]}`

// TestLeaseOutput compares what the commands print of an agent's answers with golden files.
func TestLeaseOutput(t *testing.T) {
	const lease = `{"id":7,"state":%q,"user":"ann","memory_bytes":8589934592,"device_count":1,"position":2,"cause":"released","queued":"2026-11-30T11:56:56Z","expires":"2026-12-01T12:00:00Z","shares":[{"device":"GPU-a","bytes":8589934592,"used_bytes":null}]}`
	state := func(s string) string { return fmt.Sprintf(lease, s) }
	explain := func(s, reasons string) string { return fmt.Sprintf(`{"lease":%s,"reasons":%s}`, state(s), reasons) }
	const reasons = `[{"code":"quota-peak","text":"user ann holds what it may","until":"2026-11-30T13:00:00Z"},{"code":"memory","text":"3 MiB more have to be free","bytes":3145728}]`
	const devices = `{"devices":[
{"index":0,"uuid":"GPU-5d1f0000-0000-4000-8000-000000000000","model":"NVIDIA H200","capacity_bytes":150122528768,"granted_bytes":8589934592,"foreign_bytes":524288000,"available_bytes":115234308096,"reserves":[{"queue":"inference","bytes":25769803776}]},
{"index":1,"uuid":"MIG-1","model":"NVIDIA H100 MIG 1g.10gb","parent":"GPU-b","capacity_bytes":10737418240,"granted_bytes":0,"foreign_bytes":0,"available_bytes":0,"cordoned":true,"unseen":true},
{"uuid":"GPU-b","model":"NVIDIA H100","capacity_bytes":1,"granted_bytes":2,"foreign_bytes":0,"available_bytes":0,"split":true,"absent":true,"overfull":true}]}`
	const usage = `{"by":"project","since":"2026-11-01T00:00:00Z","until":"2026-11-30T12:00:00Z","usage":[{"name":"speech","leases":12,"gib_hours":1234.567,"gib_seconds":4444441.2},{"name":"vision","leases":1,"gib_hours":0.001,"gib_seconds":3.6}]}`
	var out bytes.Buffer
	for _, tt := range []struct {
		args []string
		body string
		more []string // bodies of what is asked after it
	}{
		{[]string{"lease", "list", "--all"}, leasesJSON, []string{devices}},
		{[]string{"lease", "list"}, `{"leases":[]}`, []string{devices}},
		{[]string{"lease", "list", "--all"}, `{"leases":[]}`, []string{devices}},
		{[]string{"lease", "list", "--json"}, `{"leases":[]}`, nil},
		{[]string{"lease", "devices"}, devices, nil},
		{[]string{"lease", "explain", "7"}, explain("queued", reasons), nil},
		{[]string{"lease", "explain", "7"}, explain("granted", "null"), nil},
		{[]string{"lease", "explain", "7"}, explain("draining", "null"), nil},
		{[]string{"lease", "explain", "7"}, explain("ended", "null"), nil},
		{[]string{"lease", "explain", "7", "--json"}, explain("ended", "null"), nil},
		{[]string{"lease", "extend", "7", "--ttl", "1d"}, state("granted"), nil},
		{[]string{"lease", "release", "7"}, state("draining"), nil},
		{[]string{"lease", "release", "7"}, state("ended"), nil},
		{[]string{"lease", "cordon", "GPU-b"}, devices, []string{`{"uuid":"GPU-b","cordoned":true}`}},
		{[]string{"lease", "cordon", "0"}, devices, []string{`{"uuid":"GPU-5d1f0000-0000-4000-8000-000000000000","cordoned":true}`}},
		{[]string{"lease", "drain", "GPU-b"}, devices, []string{`{"uuid":"GPU-b","cordoned":true,"split":true}`, devices, leasesJSON}},
		{[]string{"lease", "drain", "0"}, devices, []string{`{"uuid":"GPU-5d1f0000-0000-4000-8000-000000000000","cordoned":true}`, devices, leasesJSON}},
		{[]string{"lease", "drain", "0"}, devices, []string{`{"uuid":"GPU-c","cordoned":true}`, devices, leasesJSON}},
		{[]string{"lease", "request", "--memory", "8GiB", "--ttl", "1d"}, state("granted"), nil},
		{[]string{"usage", "--by", "project", "--since", "2026-11-01"}, usage, nil},
		{[]string{"usage"}, `{"by":"user","since":"2026-11-01T00:00:00Z","until":"2026-11-30T12:00:00Z","usage":[]}`, nil},
	} {
		a := serveAgent(t, answer{"", 200, tt.body, nil})
		for _, body := range tt.more {
			a.answers = append(a.answers, answer{"", 200, body, nil})
		}
		a.terminal = term.Terminal{UTF8: true}
		a.env["ULLAGE_SOCKET"], tt.args = "/s", append(tt.args, "--socket", a.env["ULLAGE_SOCKET"])
		code := a.run(t, tt.args...)
		shown := bytes.ReplaceAll(a.stdout.Bytes(), []byte(tt.args[len(tt.args)-1]), []byte("/s"))
		fmt.Fprintf(&out, "$ ullage %s\n%s", strings.Join(tt.args[:len(tt.args)-2], " "), shown)
		if code != 0 || a.stderr.Len() > 0 {
			t.Errorf("%q: exit code %d: %s", tt.args, code, a.stderr.String())
		}
	}
	golden(t, filepath.Join("testdata", "lease.txt"), out.Bytes())
}
