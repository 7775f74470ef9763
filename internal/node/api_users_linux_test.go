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
	"syscall"
	"testing"

	"github.com/ullage-dev/ullage/internal/client"
)

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
		o.PeerOf, o.Names, o.UID = PeerOf, SystemNames(o.Clock), -1
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
		answers := w.askAs(t, ids[0], ids[1], "GET /v1/agent", `POST /v1/leases {"memory_bytes":1073741824,"detached":true,"ttl_ms":60000}`,
			`POST /v1/leases {"memory_bytes":1073741824,"detached":true,"ttl_ms":60000,"user":"root"}`, "GET /v1/leases", "DELETE /v1/leases/1")
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

// asUser has a command run as a user, with no other groups.
func asUser(cmd *exec.Cmd, uid, gid int) {
	if uid != syscall.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}
