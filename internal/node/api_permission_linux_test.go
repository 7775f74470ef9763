package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		admin.ask("DELETE", "/v1/leases/2", nil, 200, nil)
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

// askVariable has a copy of the test ask the agent at a socket as whoever it runs as.
const askVariable = "NODE_TEST_ASK"

// TestRealUsers: with the kernel's word for who connects, and processes of other users. Only
// root can start these; anybody else sees that they are themselves, and TestPermissions has
// the rest with users that are made up.
func TestRealUsers(t *testing.T) {
	if socket := os.Getenv(askVariable); socket != "" {
		speak(t, socket)
		return
	}
	w := newWorld(t, func(o *Options) {
		o.PeerOf, o.Names, o.UID = PeerOf, SystemNames(), -1
	})
	for _, dir := range []string{w.dir, filepath.Dir(w.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	others := [][2]int{{os.Getuid(), os.Getgid()}}
	if os.Getuid() == 0 {
		others = append(others, [2]int{54321, 54321}, [2]int{54322, 54321})
	} else {
		t.Logf("user %d may start no processes of others: only its own are tried", os.Getuid())
	}
	var leases []int64
	for _, ids := range others {
		answers := w.askAs(t, ids[0], ids[1], "GET /v1/agent", `POST /v1/leases {"memory_bytes":1048576,"detached":true}`,
			`POST /v1/leases {"memory_bytes":1048576,"detached":true,"user":"root"}`, "GET /v1/leases", "DELETE /v1/leases/1")
		var about client.About
		var l client.Lease
		var listed client.Leases
		answers.read(t, 0, 200, &about)
		answers.read(t, 1, 201, &l)
		answers.read(t, 2, 400, nil)
		answers.read(t, 3, 200, &listed)
		leases = append(leases, l.ID)
		if about.You.UID != ids[0] || about.You.Admin != (ids[0] == 0) || l.User != about.You.User {
			t.Errorf("user %d is taken for %+v, the lease is %s's", ids[0], about.You, l.User)
		}
		want := []int64{l.ID}
		if about.You.Admin {
			want = leases
		}
		if got := idsOf(listed); !slices.Equal(got, want) {
			t.Errorf("user %d sees %v, want %v", ids[0], got, want)
		}
		deleted := http.StatusForbidden
		if about.You.Admin || l.ID == 1 {
			deleted = http.StatusOK
		}
		answers.read(t, 4, deleted, nil)
	}
}

// spoken are the answers to questions.
type spoken []struct {
	Status int
	Body   json.RawMessage
}

func (s spoken) read(t *testing.T, i, status int, out any) {
	t.Helper()
	if i >= len(s) || s[i].Status != status {
		t.Fatalf("answer %d is %s, want %d", i, s[min(i, len(s)-1)].Body, status)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(s[i].Body, out); err != nil {
		t.Fatal(err)
	}
}

// askAs has a process of a user ask, one question after the other.
func (w *world) askAs(t *testing.T, uid, gid int, questions ...string) (answers spoken) {
	t.Helper()
	cmd := exec.Command(copyOfTest(t), "-test.run=^TestRealUsers$")
	cmd.Env = append(os.Environ(), askVariable+"="+w.settings.Load().Socket)
	cmd.Dir = "/"
	for _, q := range questions {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s_%d=%s", askVariable, len(cmd.Env), q))
	}
	asUser(cmd, uid, gid)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("as user %d: %v\n%s%s", uid, err, out, stderr.Bytes())
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	if err := json.Unmarshal(line, &answers); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return answers
}

// copyOfTest puts the test's program where every user can read it.
func copyOfTest(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp("", "node-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(f.Name()) })
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// speak asks the questions of the environment and prints the answers as one line of JSON.
func speak(t *testing.T, socket string) {
	var answers spoken
	for _, entry := range os.Environ() {
		var method, path, body string
		if n, _ := fmt.Sscanf(entry, askVariable+"_%d=", new(int)); n != 1 {
			continue
		}
		_, question, _ := bytes.Cut([]byte(entry), []byte("="))
		fmt.Sscan(string(question), &method, &path, &body)
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequest(method, "http://agent"+path, bytes.NewReader([]byte(body)))
		if err := r.Write(c); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), r)
		if err != nil {
			t.Fatal(err)
		}
		var text json.RawMessage
		if err := json.NewDecoder(answer.Body).Decode(&text); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, struct {
			Status int
			Body   json.RawMessage
		}{answer.StatusCode, text})
		c.Close()
	}
	line, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}
