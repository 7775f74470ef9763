package node

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// TestPermissions: users see and change their own, admins everything. Admins are root, the
// user of the agent, and the members of the admin group.
func TestPermissions(t *testing.T) {
	w := newWorld(t, nil)
	ann, bob := w.as(annUID), w.as(bobUID)
	admins := []*person{w.as(0), w.as(agentUID), w.as(opsUID)}
	mine := ann.lease(client.Request{MemoryBytes: units.GiB, TTLMS: 60_000})
	theirs := bob.lease(client.Request{MemoryBytes: units.GiB})

	path := fmt.Sprintf("/v1/leases/%d", mine.ID)
	for _, q := range []struct{ method, path string }{
		{"GET", path}, {"GET", path + "?wait=60000&from=granted"}, {"GET", path + "/explain"}, {"DELETE", path},
	} {
		bob.refused(q.method, q.path, nil, 403, "forbidden")
	}
	bob.refused("POST", path+"/extend", client.Extension{TTLMS: 1}, 403, "forbidden")
	for _, verb := range []string{"cordon", "uncordon", "drain"} {
		ann.refused("POST", "/v1/devices/GPU-0/"+verb, struct{}{}, 403, "forbidden")
	}
	if l, _ := w.book(mine.ID); l.State != "granted" || l.ExpiresMS != mine.Expires.UnixMilli() {
		t.Errorf("somebody else changed it: %+v", l)
	}
	for _, tt := range []struct {
		who  *person
		want []int64
	}{{ann, []int64{mine.ID}}, {bob, []int64{theirs.ID}}, {admins[0], []int64{1, 2}}, {admins[1], []int64{1, 2}}, {admins[2], []int64{1, 2}}} {
		var listed client.Leases
		tt.who.ask("GET", "/v1/leases?all=true", nil, 200, &listed)
		var state client.State
		tt.who.ask("GET", "/v1/state", nil, 200, &state)
		if got := idsOf(listed); !cmp.Equal(got, tt.want) || !cmp.Equal(idsOf(client.Leases{Leases: state.Leases}), tt.want) {
			t.Errorf("user %d sees %v, want %v", tt.who.uid, got, tt.want)
		}
	}
	for i, admin := range admins {
		admin.see(mine.ID)
		var d client.Device
		admin.ask("POST", "/v1/devices/GPU-1/cordon", struct{}{}, 200, &d)
		if !d.Cordoned || d.AvailableBytes != 0 {
			t.Errorf("admin %d cordoned: %+v", i, d)
		}
		admin.ask("POST", "/v1/devices/GPU-1/uncordon", struct{}{}, 200, &d)
		admin.refused("POST", "/v1/devices/GPU-9/drain", client.Drain{}, 404, "unknown")
		admin.refused("DELETE", "/v1/leases/2", nil, 403, "forbidden")
		admin.refused("POST", "/v1/leases/2/extend", client.Extension{TTLMS: 1}, 403, "forbidden")
		admin.refused("DELETE", "/v1/leases/2?user=ann", nil, 404, "unknown")
		if l, _ := w.book(2); i == 0 && l.State != "granted" {
			t.Errorf("an admin who did not say whose lease is meant has released one: it is %s", l.State)
		}
		admin.ask("DELETE", "/v1/leases/2?user=bob", nil, 200, nil)
	}
	var about client.About
	admins[2].ask("GET", "/v1/agent", nil, 200, &about)
	if want := (client.You{UID: opsUID, User: "ops", Admin: true}); about.You != want || about.Version == "" || !about.Ready {
		t.Errorf("%+v, want %+v", about, want)
	}
}

// TestDrainDevice: it takes nothing new, and the leases on it have an end.
func TestDrainDevice(t *testing.T) {
	w := newWorld(t, nil)
	l := w.as(annUID).lease(client.Request{MemoryBytes: units.GiB, Device: "GPU-0"})
	var d client.Device
	w.as(0).ask("POST", "/v1/devices/GPU-0/drain", client.Drain{GraceMS: 5000}, 200, &d)
	if have, _ := w.book(l.ID); !d.Cordoned || have.ExpiresMS != w.clock.NowMS()+5000 {
		t.Errorf("%+v, its lease %+v", d, have)
	}
	w.as(0).refused("POST", "/v1/devices/GPU-0/drain", client.Drain{GraceMS: -1}, 400, "invalid")
}

// TestStateHides: what other users run is not shown to who is no admin, what they hold is.
func TestStateHides(t *testing.T) {
	w := newWorld(t, nil)
	uid, used := annUID, int64(units.GiB)
	process := gpu.Process{PID: 7, DeviceUUID: "GPU-0", UID: &uid, User: "ann", UsedBytes: &used, Name: "python", Command: "python secret.py", Place: gpu.Place{SlurmJob: "1"}}
	v := *w.now()
	v.reading.Processes = []gpu.Process{process}
	v.jobs = []client.Job{{PID: 7, User: "ann", Name: "secret", Devices: []client.JobDevice{}}, {PID: 8, User: "bob", Devices: []client.JobDevice{}}}
	w.publish(&v)
	for _, tt := range []struct {
		uid     int
		command string
		jobs    int
	}{{annUID, process.Command, 1}, {bobUID, "", 1}, {opsUID, process.Command, 2}} {
		var s client.State
		w.as(tt.uid).ask("GET", "/v1/state", nil, 200, &s)
		if p := s.Reading.Processes[0]; p.Command != tt.command || *p.UsedBytes != used || p.User != "ann" || len(s.Jobs) != tt.jobs {
			t.Errorf("user %d sees %+v and %d jobs, want %q and %d", tt.uid, p, len(s.Jobs), tt.command, tt.jobs)
		}
	}
	if w.now().reading.Processes[0].Command == "" {
		t.Error("the view was changed")
	}
}

// TestNamesAway: who cannot be named is not taken for somebody else.
func TestNamesAway(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Names = away{} })
	w.as(annUID).refused("GET", "/v1/leases", nil, 503, "unready")
}

// away is a directory server that does not answer.
type away struct{}

func (away) User(int) (string, error)  { return "", errors.New("no answer") }
func (away) Group(int) (string, error) { return "", errors.New("no answer") }
