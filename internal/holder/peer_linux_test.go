package holder

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// connected returns the server's side of a socket that this process connected, with the
// client's.
func connected(t *testing.T) (server, client *net.UnixConn) {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"}
	l, err := net.ListenUnix("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.DialUnix("unix", nil, address); err != nil {
		t.Fatal(err)
	}
	if server, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

func ownStart(t *testing.T) int64 {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	return gpu.StartTicks(string(stat))
}

func TestPeerOf(t *testing.T) {
	server, _ := connected(t)
	got, err := PeerOf(server)
	want := Peer{ID: ID{os.Getpid(), ownStart(t)}, UID: os.Geteuid(), GID: os.Getegid()}
	if err != nil || got != want {
		t.Errorf("PeerOf = %+v, %v, want %+v", got, err, want)
	}
}

// TestPeerByPID is the way of kernels without SO_PEERPIDFD: the process is found while its
// end of the socket is open, and nobody is taken for it afterwards.
func TestPeerByPID(t *testing.T) {
	server, client := connected(t)
	raw, err := server.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (err error) {
		ctl := raw.Control(func(fd uintptr) {
			var pidfd int
			if pidfd, err = peerByPID(int(fd), os.Getpid()); err == nil {
				unix.Close(pidfd)
			}
		})
		return errors.Join(ctl, err)
	}
	if err := ask(); err != nil {
		t.Errorf("the other end is open: %v", err)
	}
	client.Close()
	if err := ask(); !errors.Is(err, ErrGone) {
		t.Errorf("the other end is closed: %v", err)
	}
}

// TestPeerGone: a client that connected and was killed before anyone looked is gone, whoever
// has its PID by then.
func TestPeerGone(t *testing.T) {
	if path := os.Getenv("HOLDER_TEST_CONNECT"); path != "" {
		if _, err := net.Dial("unix", path); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"}
	l, err := net.ListenUnix("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeerGone$")
	cmd.Env = append(os.Environ(), "HOLDER_TEST_CONNECT="+address.Name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	want := Peer{UID: os.Geteuid(), GID: os.Getegid()}
	if peer, err := PeerOf(server); !errors.Is(err, ErrGone) || peer != want {
		t.Errorf("PeerOf = %+v, %v, want %+v", peer, err, want)
	}
}
