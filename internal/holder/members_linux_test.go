package holder

import (
	"bufio"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMembersOutlive: a child of a holder that was seen is of the lease when the holder has
// ended and the child has another parent.
func TestMembersOutlive(t *testing.T) {
	m := openMachine(t)
	members := NewMembers(func(int) string { return "" })
	shell := exec.Command("sh", "-c", "sleep 600 & echo $!; read x")
	in, _ := shell.StdinPipe()
	out, _ := shell.StdoutPipe()
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	holds, err := Find(shell.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := Find(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Signal(child.ID, syscall.SIGKILL) })
	members.SetClaims([]Claim{{Lease: 1, Epoch: 1, Holder: holds.ID}})
	want := []ID{holds.ID, child.ID}
	slices.SortFunc(want, func(a, b ID) int { return a.PID - b.PID })
	members.Apply(scan(t, m))
	if got := members.Of(1); !slices.Equal(got, want) {
		t.Errorf("members %v, want %v", got, want)
	}
	_ = shell.Process.Kill()
	_ = shell.Wait()
	members.Apply(scan(t, m))
	if got := members.Of(1); !slices.Equal(got, []ID{child.ID}) {
		t.Errorf("members %v, want %v", got, child.ID)
	}
	if err := Signal(child.ID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return ended(child.PID) })
	members.Apply(scan(t, m))
	if got := members.Of(1); len(got) > 0 {
		t.Errorf("members %v, and all have ended", got)
	}
}
