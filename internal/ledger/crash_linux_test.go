package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk: on a file system without room a decision fails, none before is lost, and when there is
// room again the next process goes on. Mounting one needs root; elsewhere TestFileLimit stands for it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Logf("no small file system (%v): failed writes are tested by a limit on the size of files alone", err)
		return
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path, acked := filepath.Join(dir, "ledger.db"), history{}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		v := startVictim(t, path, seed)
		v.failsToStore(t, acked)
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	if len(acked) == 0 {
		t.Error("nothing was acknowledged before the disk was full: it tests nothing")
	}
	survived(t, path, acked)
}
