package ledger

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/lease"
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
	goesOn(t, path, filepath.Join(dir, "ballast"))
}

// goesOn fills the disk while the ledger is open: decisions fail and leave nothing behind, and when
// there is room again the same ledger takes new ones.
func goesOn(t *testing.T, path, ballast string) {
	t.Helper()
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fill, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	fill.Close()
	w := &workload{ledger: l, seed: 100, out: io.Discard}
	if err := w.run(t.Context(), 1, 400); err == nil {
		t.Fatal("400 decisions found room on a full disk")
	}
	before := snapshotOf(l)
	if err := w.run(t.Context(), 3, 5); err == nil {
		t.Error("decisions found room on a full disk")
	}
	same(t, before, l)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w.seed = 101
	if err := w.run(t.Context(), 3, 5); err != nil {
		t.Errorf("with room again: %v", err)
	}
	report, err := check(t.Context(), l.db)
	if err != nil || len(report.Faults) > 0 || report.Events <= before.Seq {
		t.Errorf("%v %+v, want more than %d events", err, report, before.Seq)
	}
}

func same(t *testing.T, want lease.Snapshot, l *Ledger) {
	t.Helper()
	if diff := cmp.Diff(want, snapshotOf(l)); diff != "" {
		t.Errorf("a failed decision left a trace (-before +after):\n%s", diff)
	}
}
